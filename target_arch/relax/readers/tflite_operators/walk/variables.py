"""Variables of a TFLite model: tensors that keep their values from run to run, and resource variables.

Each becomes an input of the program, the value that a run finds, and an output, the value it leaves.
"""

from collections.abc import Iterator
from typing import Any

import tflite
from attrs import define, field
from tvm import relax

from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.tflite_operators.site import Unreadable
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code

RESOURCES = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")


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
    _handles: dict[int, str] = field(factory=dict)
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
        """The value of a variable from here on."""
        self.value(name, shape, dtype)
        self._known[name].value = value

    def handle(self, operator: Any, tensor: int) -> None:
        """VAR_HANDLE: the tensor stands for the variable that its options name."""
        self._handles[tensor] = _shared_name(operator)

    def named(self, tensor: int) -> str:
        """The variable that a handle stands for. Unreadable for another tensor."""
        if tensor not in self._handles:
            raise Unreadable("its variable is computed")
        return self._handles[tensor]

    def once(self, operator: Any) -> None:
        """CALL_ONCE: the initial values that the subgraph assigns. Unreadable for anything but constants."""
        graph = self.model.Subgraphs(_options(operator, "CallOnceOptions").InitSubgraphIndex())
        handles: dict[int, str] = {}
        for number in range(graph.OperatorsLength()):
            each = graph.Operators(number)
            code = self.model.OperatorCodes(each.OpcodeIndex())
            kind = builtin_code(code)
            if kind == tflite.BuiltinOperator.VAR_HANDLE:
                handles[each.Outputs(0)] = _shared_name(each)
            elif kind == tflite.BuiltinOperator.ASSIGN_VARIABLE:
                buffer = self.model.Buffers(graph.Tensors(each.Inputs(1)).Buffer())
                if not buffer.DataLength():
                    raise Unreadable("an initial value is computed")
                self._initial[handles[each.Inputs(0)]] = buffer.DataAsNumpy().tobytes()
            else:
                raise Unreadable("an initial value is computed")

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


def _shared_name(operator: Any) -> str:
    stored = _options(operator, "VarHandleOptions").SharedName() or b""
    return str(stored.decode("utf-8", errors="replace"))


def _options(operator: Any, name: str) -> Any:
    stored = operator.BuiltinOptions()
    if stored is None:
        raise Unreadable("its options are missing")
    found = getattr(tflite, name)()
    found.Init(stored.Bytes, stored.Pos)
    return found
