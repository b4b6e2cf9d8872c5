"""The walk over a TFLite model, which has a converter for each operator.

All operators are tried, so that a refusal names every one that has no form (`readers/attempts.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen
from tvm import relax

from target_arch.backend.operators import Foreign, no_libraries
from target_arch.plan.model import Quantization
from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.attempts import Attempts
from target_arch.relax.readers.source import BoundedOutput
from target_arch.relax.readers.tflite_operators.walk.conversion import Conversion
from target_arch.relax.readers.tflite_operators.walk.early_ends import EarlyEnds
from target_arch.relax.readers.tflite_operators.walk.graphs import NamedGraph, quantization_of
from target_arch.relax.readers.tflite_operators.walk.loops import Subprogram
from target_arch.relax.readers.tflite_operators.walk.subgraphs import Conditions, OpenedOperators, Subgraphs
from target_arch.relax.readers.tflite_operators.walk.tensor_states import TensorStates
from target_arch.relax.readers.tflite_operators.walk.tensor_values import Count, TensorValues
from target_arch.relax.readers.tflite_operators.walk.variables import Handle, Variables
from target_arch.relax.readers.unsupported import Unsupported
from target_arch.relax.repeated.straight import Straight
from target_arch.relax.site import NotConverted


@frozen(kw_only=True, eq=False)
class Translation:
    """A model as a Relax module, with the names of the layers, of the file's tensors, and the grids of its
    expressions. The counts of `bounded` outputs follow the file's outputs, states follow these.
    """

    module: Any
    authors: Mapping[Any, str]
    in_file: Mapping[Any, str]
    quantizations: Mapping[Any, Quantization]
    refused: tuple[Unsupported, ...]
    states: tuple[StatePair, ...]
    bounded: tuple[BoundedOutput, ...]


Functions = Callable[[Any, Mapping[Any, Quantization], int], Straight]
"""A module, the grids of its expressions and the number of its results, as functions."""


@frozen(kw_only=True, eq=False)
class _Program:
    """The facts about a file that hold for all of its graphs; `functions` makes functions of a subgraph."""

    model: Any
    functions: Functions = field(repr=False)
    foreign: Foreign = field(repr=False)
    attempts: Attempts = field(factory=Attempts)
    opened: OpenedOperators = field(factory=OpenedOperators)


@define(kw_only=True, eq=False)
class _Walk:
    """The walk over one graph, operator by operator; `around` is that over the graph which runs it, on the
    conditions `taken`.
    """

    program: _Program
    number: int
    builder: Any
    variables: Variables
    around: "_Walk | None" = None
    taken: Conditions = ()
    inner: list["_Walk"] = field(factory=list)
    """The walks over its subgraphs."""
    values: TensorValues = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        graph = NamedGraph(self.program.model, self.number)
        states = TensorStates(graph=graph, builder=self.builder, variables=self.variables, number=self.number)
        self.values = TensorValues(model=self.program.model, graph=graph, builder=self.builder, states=states)

    def enter(self, given: list[Any]) -> None:
        """The values of inputs; None for one that has none yet."""
        for place, value in enumerate(given):
            index = self.values.graph.Inputs(place)
            if isinstance(value, Handle):
                self.values.handles[index] = value
            elif value is not None:
                self.values.keep(index, value)

    def run(self) -> list[Any]:
        """The outputs of the graph, after all of its operators."""
        ends = EarlyEnds(self.builder, self.variables)
        conversion = Conversion(
            values=self.values,
            variables=self.variables,
            ends=ends,
            subgraphs=self._subgraphs(),
            foreign=self.program.foreign,
            attempts=self.program.attempts,
            inner=self.around is not None,
        )
        graph = self.values.graph
        for number in range(graph.OperatorsLength()):
            operator = graph.Operators(number)
            conversion.operator(operator, self.program.model.OperatorCodes(operator.OpcodeIndex()))
        outputs = self.values.outputs
        return ends.settle(outputs, [self.values.output(index) for index in outputs])

    def function(self, layer: Callable[[str], str], wanted: Sequence[int]) -> Translation:
        """The graph as the function `main` of its inputs without values, with the outputs of these numbers;
        `layer` gives the layer that a tensor's name contains.
        """
        builder = self.builder
        with builder.function("main"):
            with builder.dataflow():
                parameters = self.values.parameters()
                outputs = self.run()
                bounded, counts = self._counts(wanted)
                results = [*(outputs[number] for number in wanted), *counts]
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
            refused=tuple(self.program.attempts.failures),
            states=states,
            bounded=bounded,
        )

    def _counts(self, wanted: Sequence[int]) -> tuple[tuple[BoundedOutput, ...], list[Any]]:
        """The outputs of bounded size among these, and their counts, each once."""
        outputs, counts = self.values.outputs, dict[Count, int]()
        found = []
        for place, number in enumerate(wanted):
            count = self.values.counts.get(outputs[number])
            if count is not None:
                counts.setdefault(count, len(wanted) + len(counts))
                found.append(BoundedOutput(output=place, axis=0, count=counts[count]))
        return tuple(found), [count.value for count in counts]

    def tensors(self) -> Iterator[tuple[Any, Any]]:
        """Expressions and the tensors of the file that they are, of its subgraphs first."""
        for walk in self.inner:
            yield from walk.tensors()
        for index, expression in self.values.expressions.items():
            yield expression, self.values.graph.Tensors(index)

    def _subgraphs(self) -> Subgraphs:
        return Subgraphs(
            model=self.program.model,
            builder=self.builder,
            variables=self.variables,
            taken=self.taken,
            outputs=self._inside,
            apart=self._apart,
        )

    def _inside(self, number: int, given: list[Any], taken: Conditions) -> list[Any]:
        """The outputs of a subgraph of these inputs. NotConverted where it is inside itself."""
        walk = self._over(number, self.builder, self.variables, taken)
        walk.enter(given)
        return walk.run()

    def _apart(self, number: int, given: list[Any], wanted: list[int]) -> Subprogram:
        """A subgraph as a function of its inputs, but for those that are given; its results are the outputs
        of these numbers. NotConverted as `_inside`, and where it has operators without a form.
        """
        walk = self._over(number, relax.BlockBuilder(), Variables(model=self.program.model), ())
        known = len(self.program.attempts.failures)
        walk.enter(given)
        main = walk.function(lambda name: name, wanted)
        if len(self.program.attempts.failures) > known:
            raise NotConverted("an operator of its subgraphs has no form")
        results = len(wanted) + len(main.states)
        return Subprogram(
            functions=self.program.functions(main.module, main.quantizations, results),
            results=len(wanted),
            variables=walk.variables,
        )

    def _over(self, number: int, builder: Any, variables: Variables, taken: Conditions) -> "_Walk":
        """The walk over a subgraph."""
        here: _Walk | None = self
        while here is not None:
            if here.number == number:
                raise NotConverted("a subgraph runs itself")
            here = here.around
        walk = _Walk(
            program=self.program,
            number=number,
            builder=builder,
            variables=variables,
            around=self,
            taken=taken,
        )
        self.program.opened.add(walk.values.graph.OperatorsLength())
        self.inner.append(walk)
        return walk


def translate(
    model: Any, layer: Callable[[str], str], functions: Functions, foreign: Foreign = no_libraries
) -> Translation:
    """The first subgraph as the function `main`; `layer` gives the layer that a tensor's name contains,
    `functions` those of a module, for loops; `foreign` the converters of custom operators.
    """
    walk = _Walk(
        program=_Program(model=model, functions=functions, foreign=foreign),
        number=0,
        builder=relax.BlockBuilder(),
        variables=Variables(model=model),
    )
    return walk.function(layer, range(walk.values.graph.OutputsLength()))
