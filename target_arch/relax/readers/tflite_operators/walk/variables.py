"""Variables of a TFLite model: tensors that keep their values from run to run, and resource variables.

Each becomes an input of the program, the value that a run finds, and an output, the value it leaves.
"""

from collections.abc import Callable, Iterator
from typing import Any

import tflite
from attrs import define, field, frozen
from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code
from target_arch.relax.site import NotConverted

RESOURCES = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")


@frozen
class Handle:
    """The value of a tensor that stands for a variable, by its name."""

    name: str


def handle(operator: Any) -> Handle:
    """The output of a VAR_HANDLE."""
    stored = _options(operator, "VarHandleOptions").SharedName() or b""
    return Handle(str(stored.decode("utf-8", errors="replace")))


@define(eq=False)
class _Variable:
    """A variable: the program's parameter for it, and its value after the operators so far."""

    parameter: Any
    value: Any


@define(eq=False)
class Variables:
    """The variables of a model by name, in the order in which its operators name them first."""

    model: Any
    _known: dict[str, _Variable] = field(factory=dict)
    _initial: dict[str, bytes] = field(factory=dict)

    def value(
        self, name: str, shape: tuple[int, ...], dtype: str, author: str = "", initial: bytes | None = None
    ) -> Any:
        """The value of a variable at this place; `author` is its name for people, `initial` its bytes before
        the first run (None: zeros).
        """
        if name not in self._known:
            if initial is not None:
                self._initial[name] = initial
            parameter = relax.Var(author or name, relax.TensorType(shape, dtype))
            self._known[name] = _Variable(parameter=parameter, value=parameter)
        return self._known[name].value

    def assign(self, name: str, value: Any, shape: tuple[int, ...], dtype: str) -> None:
        """The value of a variable from here on. NotConverted where others were of another form."""
        self.value(name, shape, dtype)
        kept = self._known[name].parameter
        if (shape_of(kept), dtype_of(kept)) != (shape, dtype):
            raise NotConverted("a variable gets values of another shape or type")
        self._known[name].value = value

    def join(self, others: "Variables") -> None:
        """The variables that a subgraph apart names, too."""
        for name, each in others.named.items():
            initial = others._initial.get(name)
            self.value(name, shape_of(each), dtype_of(each), str(each.name), initial)

    def now(self) -> dict[str, Any]:
        """The values of all variables at this place, by their names."""
        return {name: each.value for name, each in self._known.items()}

    def go_back(self, values: dict[str, Any]) -> None:
        """The values that variables had at an earlier place; those named first since then have their own."""
        for name, each in self._known.items():
            each.value = values.get(name, each.parameter)

    def select(self, values: dict[str, Any], chosen: Callable[[Any, Any], Any]) -> None:
        """`chosen` of `values`, which another course of operators left, and of the values of this one, where
        they differ.
        """
        for name, each in self._known.items():
            other = values.get(name, each.parameter)
            if not other.same_as(each.value):
                each.value = chosen(other, each.value)

    def once(self, operator: Any) -> None:
        """CALL_ONCE: the initial values that the subgraph assigns. NotConverted for all but constants."""
        graph = self.model.Subgraphs(_options(operator, "CallOnceOptions").InitSubgraphIndex())
        handles: dict[int, str] = {}
        for number in range(graph.OperatorsLength()):
            each = graph.Operators(number)
            code = self.model.OperatorCodes(each.OpcodeIndex())
            kind = builtin_code(code)
            if kind == tflite.BuiltinOperator.VAR_HANDLE:
                handles[each.Outputs(0)] = handle(each).name
            elif kind == tflite.BuiltinOperator.ASSIGN_VARIABLE:
                buffer = self.model.Buffers(graph.Tensors(each.Inputs(1)).Buffer())
                if not buffer.DataLength():
                    raise NotConverted("an initial value is computed")
                self._initial[handles[each.Inputs(0)]] = buffer.DataAsNumpy().tobytes()
            else:
                raise NotConverted("an initial value is computed")

    @property
    def named(self) -> dict[str, Any]:
        """The inputs of the program that are variables, by the names of these."""
        return {name: each.parameter for name, each in self._known.items()}

    @property
    def parameters(self) -> list[Any]:
        """The inputs of the program that are variables."""
        return [each.parameter for each in self._known.values()]

    @property
    def values(self) -> list[Any]:
        """The outputs of the program that are variables."""
        return [each.value for each in self._known.values()]

    def pairs(self, inputs: int, outputs: int) -> Iterator[StatePair]:
        """The states, where the program has so many inputs and outputs besides."""
        for number, name in enumerate(self._known):
            yield StatePair(input=inputs + number, output=outputs + number, initial=self._initial.get(name))


def _options(operator: Any, name: str) -> Any:
    stored = operator.BuiltinOptions()
    if stored is None:
        raise NotConverted("its options are missing")
    found = getattr(tflite, name)()
    found.Init(stored.Bytes, stored.Pos)
    return found
