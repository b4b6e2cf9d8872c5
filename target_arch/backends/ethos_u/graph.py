"""Operators of the plan as operators of TFLite, and why some have no such form."""

from collections.abc import Callable, Iterator, Mapping

from target_arch.backends.ethos_u import moves, tables, writers
from target_arch.backends.ethos_u.drawing import Drawing, Unwritable
from target_arch.backends.ethos_u.tflite_file import Subgraph
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import border
from target_arch.plan.products import beyond_plain

Writer = Callable[[Operator, Drawing], None]
WRITERS: Mapping[str, Writer] = {
    OperatorKind.CONV2D: writers.convolution,
    OperatorKind.DEPTHWISE_CONV2D: writers.convolution,
    OperatorKind.CONV2D_TRANSPOSE: writers.transposed,
    OperatorKind.DENSE: writers.dense,
    OperatorKind.ADD: writers.elementwise,
    OperatorKind.SUB: writers.elementwise,
    OperatorKind.MUL: writers.elementwise,
    OperatorKind.AVG_POOL2D: writers.pool,
    OperatorKind.MAX_POOL2D: writers.pool,
    OperatorKind.SOFTMAX: writers.softmax,
    OperatorKind.LOOKUP: tables.write_table,
    OperatorKind.RELU: tables.write_table,
    OperatorKind.REQUANTIZE: tables.write_table,
    OperatorKind.RESHAPE: moves.reshape,
    OperatorKind.CONCAT: moves.concat,
    OperatorKind.SLICE: moves.cut,
    OperatorKind.TRANSPOSE: moves.transpose,
}

_EIGHT_BITS = ("int8", "uint8")
_WIDE = "int16"
_WIDE_KINDS = (
    OperatorKind.CONV2D,
    OperatorKind.DEPTHWISE_CONV2D,
    OperatorKind.MUL,
    OperatorKind.MAX_POOL2D,
    OperatorKind.RESHAPE,
    OperatorKind.CONCAT,
    OperatorKind.SLICE,
    OperatorKind.TRANSPOSE,
)
"""Kinds that the unit computes of int16, too. Of sums of products those in 64 bits: these it scales as LiteRT
does, and sums of dense layers not.
"""


def graph_of(operators: tuple[Operator, ...], model: Model) -> Subgraph:
    """The operators as one TFLite graph, whose inputs and outputs are the tensors of their border.

    Raises Unwritable.
    """
    inputs, outputs = border(model, operators)
    drawing = Drawing(model)
    for name in inputs:
        drawing.tensor(name)
    for operator in operators:
        WRITERS[operator.kind](operator, drawing)
    return Subgraph(
        tensors=tuple(drawing.tensors.values()),
        inputs=inputs,
        outputs=outputs,
        nodes=tuple(drawing.nodes),
        tables=drawing.tables,
    )


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator has no form in TFLite, None where it has one."""
    if operator.kind not in WRITERS:
        kinds = ", ".join(sorted(WRITERS))
        return f"the unit computes {kinds}; this is {operator.kind}"
    exact = operator.facts.moves or operator.kind in tables.KINDS
    if not exact and operator.arithmetic != Arithmetic.TFLITE:
        return f"arithmetic is {operator.arithmetic}, Vela compiles TFLite's"
    unfit = next(_unfit(operator, model), None)
    if unfit is not None:
        return unfit
    try:
        graph_of((operator,), model)
    except Unwritable as reason:
        return str(reason)
    return None


def unjoinable(operators: tuple[Operator, ...], model: Model) -> str | None:
    """Why operators that have a form each have none together, None where they have one."""
    if not any(operator.kind in tables.KINDS for operator in operators):
        return None
    try:
        graph_of(operators, model)
    except Unwritable as reason:
        return str(reason)
    return None


def _unfit(operator: Operator, model: Model) -> Iterator[str]:
    """Why the tensors of an operator have no form in TFLite, nothing where they have one."""
    yield from _unfit_types(operator, model)
    for name in operator.constants:
        if model.tensors[name].data is None:
            yield f"`{name}` is computed at run time, the unit takes a constant"
    if operator.kind in tables.KINDS:
        reason = tables.unfit(operator, model)
        if reason is not None:
            yield reason
    if operator.facts.weighted:
        unsigned = model.tensors[operator.inputs[0]].dtype == "uint8"
        grouped = operator.kind is OperatorKind.CONV2D
        other = beyond_plain(operator, model, grouped=grouped, wide=True, offset=unsigned)
        if other is not None:
            yield f"{other}, the unit takes none"


def _unfit_types(operator: Operator, model: Model) -> Iterator[str]:
    """Why types or missing quantization have no form in TFLite, nothing where they have one."""
    first = model.tensors[operator.inputs[0]].dtype
    types = (*_EIGHT_BITS, _WIDE) if operator.kind in _WIDE_KINDS else _EIGHT_BITS
    if first not in types:
        yield f"`{operator.inputs[0]}` is {first}, the unit takes {', '.join(types)} there"
    for name, wanted in _wanted_types(operator, first).items():
        if model.tensors[name].dtype not in wanted:
            yield f"`{name}` is {model.tensors[name].dtype}, the unit takes {', '.join(wanted)} there"
    first_constants = () if operator.kind in tables.KINDS else operator.constants[:1]
    for name in (*operator.inputs, *first_constants, operator.output):
        if model.tensors[name].quantization is None:
            yield f"`{name}` has no quantization"


def _wanted_types(operator: Operator, first: str) -> Mapping[str, tuple[str, ...]]:
    """Activations have one type, weights are int8, and a bias has the type of the sums."""
    wanted: dict[str, tuple[str, ...]] = dict.fromkeys(
        (*operator.inputs, *operator.constants, operator.output), (first,)
    )
    if operator.facts.weighted:
        weight, bias = operator.constants[:2]
        wanted[weight] = ("int8",)
        wanted[bias] = ("int64",) if first == _WIDE else ("int32",)
    return wanted
