"""The oracle: the output that an operator must have, bit for bit."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import IncompleteTableError, OperatorKind, facts_of
from target_arch.run.exact import elements, products, rows, tables, windows
from target_arch.run.exact.case import Array, NotDefined, OperatorCase

Oracle = Callable[[OperatorCase], Array]


def checked(definitions: Mapping[OperatorKind, Oracle]) -> Mapping[str, Oracle]:
    """The definitions by kind. IncompleteTableError where they are not those of the kinds with an oracle."""
    wrong = [kind for kind in OperatorKind if kind.facts.oracle != (kind in definitions)]
    if wrong:
        faults = (f"`{kind}` has {'an' if kind in definitions else 'no'} oracle" for kind in wrong)
        raise IncompleteTableError("; ".join(faults))
    return MappingProxyType({str(kind): define for kind, define in definitions.items()})


DEFINITIONS = checked(
    {
        OperatorKind.CONV2D: windows.conv2d,
        OperatorKind.DEPTHWISE_CONV2D: windows.depthwise_conv2d,
        OperatorKind.CONV2D_TRANSPOSE: windows.conv2d_transpose,
        OperatorKind.DENSE: products.dense,
        OperatorKind.MATMUL: products.matmul,
        OperatorKind.ADD: elements.add,
        OperatorKind.SUB: elements.sub,
        OperatorKind.MUL: elements.mul,
        OperatorKind.AVG_POOL2D: windows.avg_pool2d,
        OperatorKind.MAX_POOL2D: windows.max_pool2d,
        OperatorKind.SOFTMAX: rows.softmax,
        OperatorKind.RELU: elements.requantize,
        OperatorKind.LOOKUP: tables.lookup,
        OperatorKind.REQUANTIZE: elements.requantize,
        OperatorKind.QUANTIZE: elements.quantize,
        OperatorKind.DEQUANTIZE: elements.dequantize,
        OperatorKind.RESHAPE: elements.reshape,
        OperatorKind.TRANSPOSE: elements.transpose,
        OperatorKind.SLICE: elements.sliced,
        OperatorKind.CONCAT: elements.concat,
        OperatorKind.TILE: elements.repeated,
        OperatorKind.STORE: elements.reshape,
    }
)


def exact(operator: Operator, model: Model, values: Mapping[str, Array]) -> Array | None:
    """The output of an operator for these values of its activations (arrays by tensor name, in the shapes of
    the plan), in the shape of the plan; None where the oracle has no definition of it: floats, and kinds that
    are not in the table.
    """
    define = DEFINITIONS.get(operator.kind)
    if define is None or (operator.arithmetic is Arithmetic.FLOAT and not facts_of(operator.kind).moves):
        return None
    try:
        return define(OperatorCase(operator=operator, model=model, values=values))
    except NotDefined:
        return None


def exact_outputs(model: Model, frame: Sequence[Array]) -> tuple[Array, ...] | None:
    """The outputs of a model without states for these inputs, all of it in exact arithmetic; None where the
    oracle lacks one of its operators.
    """
    if model.states:
        return None
    shaped = zip(model.inputs, frame, strict=True)
    values: dict[str, Array] = {name: value.reshape(model.tensors[name].shape) for name, value in shaped}
    for operator in model.operators:
        found = exact(operator, model, values)
        if found is None:
            return None
        values[operator.output] = found
    return tuple(np.ascontiguousarray(values[name]) for name in model.outputs)
