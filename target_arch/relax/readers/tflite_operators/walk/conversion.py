"""The operators of one graph, each converted, or noted as one that has no form."""

from collections.abc import Sequence
from typing import Any

import tflite
from attrs import define, field

from target_arch.backend.operators import Foreign, ForeignConverter, ModelFormat
from target_arch.relax.readers.attempts import Attempts
from target_arch.relax.readers.foreign import results_of
from target_arch.relax.readers.frontend import FAILURES
from target_arch.relax.readers.tflite_operators.checks import check
from target_arch.relax.readers.tflite_operators.custom.table import CUSTOM, unknown
from target_arch.relax.readers.tflite_operators.site import ConstantsAlone, TFLiteOperator
from target_arch.relax.readers.tflite_operators.table import CONVERTERS
from target_arch.relax.readers.tflite_operators.walk.branches import check_alone
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code, operator_name
from target_arch.relax.readers.tflite_operators.walk.early_ends import EarlyEnds
from target_arch.relax.readers.tflite_operators.walk.folding import folded
from target_arch.relax.readers.tflite_operators.walk.graphs import own_name
from target_arch.relax.readers.tflite_operators.walk.subgraphs import Subgraphs
from target_arch.relax.readers.tflite_operators.walk.tensor_values import Count, TensorValues
from target_arch.relax.readers.tflite_operators.walk.variables import RESOURCES, Variables, handle
from target_arch.relax.readers.unsupported import Unsupported
from target_arch.relax.site import NotConverted, constant

_UNKNOWN = "not known here"


@define(kw_only=True, eq=False)
class Conversion:
    """The conversion of the operators of a graph, one after the other. Whole numbers that follow from
    constants are computed here: shapes, and conditions of loops in an `inner` graph, which an operator of
    another one runs. Where they cannot be, an operator that reads them has no form.
    """

    values: TensorValues
    variables: Variables
    ends: EarlyEnds
    subgraphs: Subgraphs
    foreign: Foreign = field(repr=False)
    attempts: Attempts
    inner: bool
    doubtful: set[int] = field(factory=set)
    """Tensors behind a refused operator: their shapes in the file may be wrong, and others fail by these."""

    def operator(self, operator: Any, stated: Any) -> None:
        """Convert an operator, or note that it has no form."""
        outputs = [int(operator.Outputs(index)) for index in range(operator.OutputsLength())]
        code = operator_name(stated)
        custom = builtin_code(stated) == tflite.BuiltinOperator.CUSTOM
        author = self.values.graph.Tensors(outputs[0]).author if outputs else ""
        self.attempts.tried(
            lambda: self._convert(operator, code, outputs, custom=custom),
            lambda reason: Unsupported(operator=code, place=own_name(author), reason=reason),
            lambda: self._stand_in(outputs),
        )

    def _convert(self, operator: Any, code: str, outputs: list[int], *, custom: bool) -> None:
        """Convert an operator. Raises NotConverted, or one of FAILURES for a form that Relax lacks."""
        self._pass_count(_operands(operator), code, outputs)
        library = self._library(code) if custom else None
        passed = len(self.ends)
        self.ends.note(outputs, passed)
        doubtful = not self.doubtful.isdisjoint(_operands(operator))
        if doubtful:
            self.doubtful.update(outputs)
        if passed:
            check_alone(self.values.model, self.values.graph, operator, code)
        try:
            results = self._results(operator, code, outputs, library)
            for index, result in zip(outputs, results, strict=True):
                self.values.result(index, result)
        except ConstantsAlone:
            if not all(map(self.values.may_stay_unread, outputs)):
                raise
            self.values.unread.update(outputs)
            return
        except NotConverted:
            raise
        except FAILURES:
            if not doubtful:
                raise
            self._stand_in(outputs)

    def _pass_count(self, operands: list[int], code: str, outputs: list[int]) -> None:
        """Let the result of an operator have the count of its operand. NotConverted for operators that could
        read what is behind it.
        """
        counts = self.values.counts
        counted = next((index for index in operands if index in counts), None)
        if counted is None:
            return
        if code != "CAST":
            name = own_name(self.values.graph.Tensors(counted).author)
            raise NotConverted(f"the size of its operand `{name}` depends on values")
        counts[outputs[0]] = counts[counted]

    def _library(self, code: str) -> ForeignConverter | None:
        """The converter of a custom operator, None for one of our own. NotConverted where nobody has one."""
        if code in CUSTOM:
            return None
        library = self.foreign(ModelFormat.TFLITE, code)
        if library is None:
            raise NotConverted(unknown(code))
        return library

    def _results(
        self, operator: Any, code: str, outputs: list[int], library: ForeignConverter | None
    ) -> Sequence[Any]:
        """The outputs of an operator."""
        if library is not None:
            return results_of(library, self._site(operator, code, outputs))
        if code in RESOURCES:
            return self._resource(operator, code, outputs)
        if code in ("IF", "WHILE"):
            given = [self._given(index) for index in _operands(operator)]
            run = self.subgraphs.branched if code == "IF" else self.subgraphs.looped
            return run(operator, given)
        site = self._site(operator, code, outputs)
        value = folded(site)
        return self._computed(site) if value is None else [constant(value)]

    def _given(self, index: int) -> Any:
        """The input of a subgraph that a tensor is."""
        handles = self.values.handles
        return handles[index] if index in handles else self.values.tensor(index).expr

    def _computed(self, site: TFLiteOperator) -> Sequence[Any]:
        """The outputs of an operator by its converter."""
        convert = CONVERTERS.get(site.operator) or CUSTOM.get(site.operator)
        check(site)
        if convert is None:
            raise NotConverted(_UNKNOWN)
        converted = convert(site)
        if converted is None:
            return []
        if isinstance(converted, list):
            return [site.builder.normalize(each) for each in converted]
        converted = site.builder.normalize(converted)
        several = len(site.outputs) > 1
        return [converted[index] for index in range(len(site.outputs))] if several else [converted]

    def _resource(self, operator: Any, code: str, outputs: list[int]) -> list[Any]:
        """The outputs of an operator on resource variables."""
        if code == "CALL_ONCE":
            if self.inner:
                raise NotConverted("it is in a subgraph")
            self.variables.once(operator)
        elif code == "VAR_HANDLE":
            return [handle(operator)]
        elif code == "ASSIGN_VARIABLE":
            value = self.values.tensor(operator.Inputs(1))
            name = self.values.named(operator.Inputs(0))
            self.variables.assign(name, value.expr, value.shape, value.dtype)
        else:
            out = self.values.tensor(outputs[0])
            return [self.variables.value(self.values.named(operator.Inputs(0)), out.shape, out.dtype)]
        return []

    def _stand_in(self, outputs: list[int]) -> None:
        """Zeros for the outputs of an operator without a form."""
        for index in outputs:
            self.values.stand_in(index)
            self.doubtful.add(index)

    def _end_unless(self, goes_on: Any) -> None:
        """Let runs end here where that is false."""
        if self.inner:
            raise NotConverted("it ends runs early in a subgraph")
        if self.values.counts:
            raise NotConverted("it ends runs early behind a tensor whose size depends on values")
        self.subgraphs.taken = (*self.subgraphs.taken, (self.ends.add(goes_on), True))

    def _count(self, index: int, value: Any) -> None:
        """Let a tensor have its largest size, with a count."""
        if self.inner or len(self.ends):
            said = "in a subgraph" if self.inner else "behind an operator that ends runs early"
            raise NotConverted(f"it is {said}, and the size of its result depends on values")
        self.values.counts[index] = Count(value)

    def _site(self, operator: Any, code: str, outputs: list[int]) -> TFLiteOperator:
        inputs, values, states = _operands(operator), self.values, self.values.states
        return TFLiteOperator(
            operator=code,
            inputs=tuple(None if index < 0 else values.tensor(index) for index in inputs),
            outputs=tuple(values.tensor(index) for index in outputs),
            stored=operator,
            builder=values.builder,
            variable=lambda number, shape: states.variable(inputs[number], shape),
            update=lambda number, value: states.update(inputs[number], value),
            state=lambda *stated: states.own_state(outputs[0], *stated),
            leave=lambda name, value: states.leave(outputs[0], name, value),
            end_unless=self._end_unless,
            counted=lambda number, value: self._count(outputs[number], value),
            inner=self.inner,
        )


def _operands(operator: Any) -> list[int]:
    """The tensors that an operator reads; below 0 for one that is left out."""
    return [int(operator.Inputs(number)) for number in range(operator.InputsLength())]
