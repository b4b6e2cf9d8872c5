"""The walk over a TFLite model, which has a converter for each operator.

All operators are tried, so that a refusal names every one that has no form (`readers/attempts.py`).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tflite
from attrs import define, field, frozen
from tvm import relax

from target_arch.backend.operators import Foreign, ModelFormat, no_libraries
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Quantization
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.attempts import Attempts, zeros
from target_arch.relax.readers.foreign import results_of
from target_arch.relax.readers.tflite_operators.checks import check
from target_arch.relax.readers.tflite_operators.custom.table import CUSTOM, unknown
from target_arch.relax.readers.tflite_operators.site import TFLiteOperator
from target_arch.relax.readers.tflite_operators.table import CONVERTERS
from target_arch.relax.readers.tflite_operators.walk.branches import check_alone
from target_arch.relax.readers.tflite_operators.walk.codes import CODES, builtin_code
from target_arch.relax.readers.tflite_operators.walk.early_ends import EarlyEnds
from target_arch.relax.readers.tflite_operators.walk.folding import folded
from target_arch.relax.readers.tflite_operators.walk.graphs import (
    TYPES,
    NamedGraph,
    file_shape,
    has_open_shape,
    own_name,
    quantization_of,
)
from target_arch.relax.readers.tflite_operators.walk.loops import Subprogram
from target_arch.relax.readers.tflite_operators.walk.subgraphs import Conditions, OpenedOperators, Subgraphs
from target_arch.relax.readers.tflite_operators.walk.tensor_values import TensorValues
from target_arch.relax.readers.tflite_operators.walk.variables import RESOURCES, Handle, Variables, handle
from target_arch.relax.readers.unsupported import Unsupported
from target_arch.relax.repeated.straight import Straight
from target_arch.relax.site import NotConverted, constant


@frozen(kw_only=True, eq=False)
class Translation:
    """A model as a Relax module, with the names of the layers, of the file's tensors, and the grids of its
    expressions."""

    module: Any
    authors: Mapping[Any, str]
    in_file: Mapping[Any, str]
    quantizations: Mapping[Any, Quantization]
    refused: tuple[Unsupported, ...]
    states: tuple[StatePair, ...]


_UNKNOWN = "not known here"


def operator_name(code: Any) -> str:
    """The name of an operator: its own, where it is a custom one."""
    number = builtin_code(code)
    if number == tflite.BuiltinOperator.CUSTOM:
        return str((code.CustomCode() or b"?").decode("utf-8", errors="replace"))
    return str(CODES.get(number, number))


Functions = Callable[[Any, Mapping[Any, Quantization], int], Straight]
"""A module, the grids of its expressions and the number of its results, as functions."""


@define(eq=False)
class _Walk:
    """The state of one translation."""

    model: Any
    graph: NamedGraph
    builder: Any
    variables: Variables
    functions: Functions = field(repr=False)
    """What makes functions of a subgraph."""
    foreign: Foreign = field(repr=False)
    attempts: Attempts = field(factory=Attempts)
    doubtful: set[int] = field(factory=set)
    """Tensors behind a refused operator whose shapes the file does not know: others may fail by these."""
    number: int = 0
    """Which subgraph it is."""
    around: "_Walk | None" = None
    """The walk over the graph that runs it."""
    inlined: OpenedOperators = field(factory=OpenedOperators)
    inner: list["_Walk"] = field(factory=list)
    """The walks over its subgraphs."""
    handles: dict[int, Handle] = field(factory=dict)
    """The tensors that stand for variables."""
    taken: Conditions = ()
    """The conditions on which the graph runs, and what they must be."""
    ends: EarlyEnds = field(init=False, repr=False)
    """Where it may end early."""
    values: TensorValues = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.ends = EarlyEnds(self.builder, self.variables)
        self.values = TensorValues(
            model=self.model,
            graph=self.graph,
            builder=self.builder,
            variables=self.variables,
            number=self.number,
        )

    def operator(self, operator: Any, stated: Any) -> None:
        """Convert an operator, or note that it has no form."""
        outputs = [int(operator.Outputs(index)) for index in range(operator.OutputsLength())]
        code = operator_name(stated)
        custom = builtin_code(stated) == tflite.BuiltinOperator.CUSTOM
        author = self.graph.Tensors(outputs[0]).author if outputs else ""
        self.attempts.tried(
            lambda: self._convert(operator, code, outputs, custom=custom),
            lambda reason: Unsupported(operator=code, place=own_name(author), reason=reason),
            lambda: self._stand_in(outputs),
        )

    def _convert(self, operator: Any, code: str, outputs: list[int], *, custom: bool) -> None:
        """Convert an operator. Raises NotConverted."""
        library = None
        if custom and code not in CUSTOM:
            library = self.foreign(ModelFormat.TFLITE, code)
            if library is None:
                raise NotConverted(unknown(code))
        passed = len(self.ends)
        self.ends.note(outputs, passed)
        doubtful = any(int(operator.Inputs(n)) in self.doubtful for n in range(operator.InputsLength()))
        if doubtful:
            self.doubtful.update(outputs)
        if passed:
            check_alone(self.model, self.graph, operator, code)
        try:
            if library is not None:
                results = results_of(library, self._site(operator, code, outputs))
            else:
                results = self._results(operator, code, outputs)
        except (NotConverted, DiagnosticError):
            raise
        except Exception:  # operators of Relax raise whatever they stumble over in a model
            if not doubtful:
                raise NotConverted("this form of it") from None
            self._stand_in(outputs)
            return
        for index, result in zip(outputs, results, strict=True):
            self._keep(index, result)

    def _resource(self, operator: Any, code: str, outputs: list[int]) -> list[Any]:
        """The outputs of an operator on resource variables."""
        if code == "CALL_ONCE":
            if self.around is not None:
                raise NotConverted("it is in a subgraph")
            self.variables.once(operator)
        elif code == "VAR_HANDLE":
            return [handle(operator)]
        elif code == "ASSIGN_VARIABLE":
            value = self.values.tensor(operator.Inputs(1))
            self.variables.assign(self._named(operator), value.expr, value.shape, value.dtype)
        else:
            out = self.values.tensor(outputs[0])
            return [self.variables.value(self._named(operator), out.shape, out.dtype)]
        return []

    def _named(self, operator: Any) -> str:
        """The variable that an operator reads or assigns. NotConverted where that is computed."""
        found = self.handles.get(operator.Inputs(0))
        if found is None:
            raise NotConverted("its variable is computed")
        return found.name

    def _results(self, operator: Any, code: str, outputs: list[int]) -> list[Any]:
        if code in RESOURCES:
            return self._resource(operator, code, outputs)
        if code in ("IF", "WHILE"):
            given = [self._given(int(operator.Inputs(n))) for n in range(operator.InputsLength())]
            subgraphs = self._subgraphs()
            return subgraphs.branched(operator, given) if code == "IF" else subgraphs.looped(operator, given)
        value = None if self.around is None else folded(self._site(operator, code, outputs))
        if value is not None:
            return [constant(value)]
        convert, site = CONVERTERS.get(code) or CUSTOM.get(code), self._site(operator, code, outputs)
        check(site)
        if convert is None:
            raise NotConverted(_UNKNOWN)
        made = convert(site)
        if made is None:
            return []
        made = self.builder.normalize(made) if not isinstance(made, list) else made
        if isinstance(made, list):
            return [self.builder.normalize(each) for each in made]
        return [made] if len(outputs) == 1 else [made[index] for index in range(len(outputs))]

    def _given(self, index: int) -> Any:
        """The input of a subgraph that a tensor is."""
        return self.handles[index] if index in self.handles else self.values.tensor(index).expr

    def _subgraphs(self) -> Subgraphs:
        return Subgraphs(
            model=self.model,
            builder=self.builder,
            variables=self.variables,
            taken=self.taken,
            outputs=self._inside,
            apart=self._apart,
        )

    def _inside(self, number: int, given: list[Any], taken: Conditions) -> list[Any]:
        """The outputs of a subgraph of these inputs. NotConverted where it is inside itself."""
        walk = self._over(number, self.builder, self.variables)
        walk.taken = taken
        walk.enter(given)
        return walk.run()

    def _apart(self, number: int, given: list[Any], wanted: list[int]) -> Subprogram:
        """A subgraph as a function of its inputs, but for those that are given; its results are the outputs
        of these numbers. NotConverted as `_inside`, and where it has operators without a form.
        """
        walk = self._over(number, relax.BlockBuilder(), Variables(model=self.model))
        known = len(self.attempts.failures)
        walk.enter(given)
        found = walk.function(lambda name: name, wanted)
        if len(self.attempts.failures) > known:
            raise NotConverted("an operator of its subgraphs has no form")
        return Subprogram(
            functions=self.functions(found.module, found.quantizations, len(wanted) + len(found.states)),
            results=len(wanted),
            variables=walk.variables,
        )

    def _over(self, number: int, builder: Any, variables: Variables) -> "_Walk":
        """The walk over a subgraph."""
        here: _Walk | None = self
        while here is not None:
            if here.number == number:
                raise NotConverted("a subgraph runs itself")
            here = here.around
        graph = NamedGraph(self.model, number)
        self.inlined.add(graph.OperatorsLength())
        walk = _Walk(
            model=self.model,
            graph=graph,
            builder=builder,
            variables=variables,
            functions=self.functions,
            foreign=self.foreign,
            attempts=self.attempts,
            number=number,
            around=self,
            inlined=self.inlined,
        )
        self.inner.append(walk)
        return walk

    def enter(self, given: list[Any]) -> None:
        """The values of inputs; None for one that has none yet."""
        for place, value in enumerate(given):
            index = self.graph.Inputs(place)
            if isinstance(value, Handle):
                self.handles[index] = value
            elif value is not None:
                self.values.keep(index, value)

    def function(self, layer: Callable[[str], str], wanted: Sequence[int]) -> Translation:
        """The graph as the function `main` of its inputs without values, with the outputs of these numbers;
        `layer` gives the layer that a tensor's name contains.
        """
        builder = self.builder
        with builder.function("main"):
            with builder.dataflow():
                parameters = self._parameters()
                outputs = self.run()
                results = [outputs[number] for number in wanted]
                states = tuple(self.variables.pairs(len(parameters), len(results)))
                results += self.variables.values
                result = builder.emit_output(results[0] if len(results) == 1 else relax.Tuple(results))
            builder.emit_func_output(result, [*parameters, *self.variables.parameters])
        tensors = list(self.tensors())
        grids = [(expr, quantization_of(tensor)) for expr, tensor in tensors]
        return Translation(
            module=builder.get(),
            authors={expr: layer(tensor.author) for expr, tensor in tensors},
            in_file={expr: tensor.author for expr, tensor in tensors},
            quantizations={expr: grid for expr, grid in grids if grid is not None},
            refused=tuple(self.attempts.failures),
            states=states,
        )

    def _parameters(self) -> list[Any]:
        """The parameters of the function, one for each input that has no value."""
        found = []
        for number in range(self.graph.InputsLength()):
            index = self.graph.Inputs(number)
            if index not in self.handles and index not in self.values.expressions:
                found.append(_parameter(self.graph.Tensors(index)))
                self.values.keep(index, found[-1])
        return found

    def run(self) -> list[Any]:
        """The outputs of the graph, after all of its operators."""
        for number in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(number)
            self.operator(operator, self.model.OperatorCodes(operator.OpcodeIndex()))
        outputs = [int(self.graph.Outputs(number)) for number in range(self.graph.OutputsLength())]
        values = [self.handles.get(index) or self.values.expression(index) for index in outputs]
        return self.ends.settle(outputs, values)

    def _end_unless(self, goes_on: Any) -> None:
        """Let runs end here where that is false."""
        if self.around is not None:
            raise NotConverted("it ends runs early in a subgraph")
        self.taken = (*self.taken, (self.ends.add(goes_on), True))

    def tensors(self) -> Iterator[tuple[Any, Any]]:
        """Expressions and the tensors of the file that they are, of its subgraphs first."""
        for walk in self.inner:
            yield from walk.tensors()
        for index, expression in self.values.expressions.items():
            yield expression, self.graph.Tensors(index)

    def _keep(self, index: int, result: Any) -> None:
        """The result as the tensor of the file that it is."""
        if isinstance(result, Handle):
            self.handles[index] = result
            return
        tensor = self.graph.Tensors(index)
        result = self.builder.normalize(result)
        shape, dtype = file_shape(tensor), TYPES[tensor.Type()]
        if dtype_of(result) != dtype:
            result = self.builder.normalize(relax.op.astype(result, dtype))
        if shape_of(result) != shape and not self._is_left_open(index, result):
            result = self.builder.normalize(relax.op.reshape(result, shape))
        self.values.keep(index, result)

    def _is_left_open(self, index: int, result: Any) -> bool:
        """Whether a converter did not know the shape of an output of the model: that of a custom operator."""
        outputs = [self.graph.Outputs(number) for number in range(self.graph.OutputsLength())]
        return (
            not file_shape(self.graph.Tensors(index))
            and index in outputs
            and math.prod(shape_of(result)) != 1
        )

    def _stand_in(self, outputs: list[int]) -> None:
        """Zeros for the outputs of an operator without a form."""
        for index in outputs:
            tensor = self.graph.Tensors(index)
            value = zeros(self.builder, file_shape(tensor), TYPES.get(tensor.Type(), "float32"))
            self.values.keep(index, value)
            if has_open_shape(tensor):
                self.doubtful.add(index)

    def _site(self, operator: Any, code: str, outputs: list[int]) -> TFLiteOperator:
        inputs = [int(operator.Inputs(index)) for index in range(operator.InputsLength())]
        return TFLiteOperator(
            operator=code,
            inputs=tuple(None if index < 0 else self.values.tensor(index) for index in inputs),
            outputs=tuple(self.values.tensor(index) for index in outputs),
            stored=operator,
            builder=self.builder,
            variable=lambda number, shape: self.values.variable(inputs[number], shape),
            update=lambda number, value: self.values.update(inputs[number], value),
            state=lambda *stated: self.values.own_state(outputs[0], *stated),
            leave=lambda name, value: self.values.leave(outputs[0], name, value),
            end_unless=self._end_unless,
            inner=self.around is not None,
        )


def translate(
    model: Any, layer: Callable[[str], str], functions: Functions, foreign: Foreign = no_libraries
) -> Translation:
    """The first subgraph as the function `main`; `layer` gives the layer that a tensor's name contains,
    `functions` those of a module, for loops; `foreign` the converters of custom operators.
    """
    graph = NamedGraph(model, 0)
    walk = _Walk(
        model=model,
        graph=graph,
        builder=relax.BlockBuilder(),
        variables=Variables(model=model),
        functions=functions,
        foreign=foreign,
    )
    return walk.function(layer, range(graph.OutputsLength()))


def _parameter(tensor: Any) -> Any:
    return relax.Var(tensor.author, relax.TensorType(file_shape(tensor), TYPES[tensor.Type()]))
