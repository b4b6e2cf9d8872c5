"""The rows that an operator needs for a row of its output, alone or with the addition after it."""

from collections.abc import Mapping
from typing import Any

from target_arch.backends.plain_c.stripes.rowwise import rows_of
from target_arch.backends.plain_c.stripes.schedule import FusedOperators
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.regions.patches import ColumnWindow
from target_arch.plan.regions.stripes import RowWindow

ROW_TAPS: Mapping[str, int] = {OperatorKind.CONV2D: 1, OperatorKind.DEPTHWISE_CONV2D: 0}
"""The axis of the weights along the rows."""


def window_of(operator: Operator, model: Model) -> RowWindow | None:
    """The rows of its first input that an operator needs; None where its kind does not go over rows."""
    image = rows_of(model.tensors[operator.inputs[0]])
    if operator.kind is OperatorKind.DENSE:
        return RowWindow(tensor=image) if _row_by_row(operator, model) else None
    if operator.facts.elementwise:
        return RowWindow(tensor=image)
    along = _along(operator, model, 0)
    return (
        None if along is None else RowWindow(tensor=image, height=along[0], stride=along[1], before=along[2])
    )


def columns_of(operator: Operator, model: Model) -> ColumnWindow | None:
    """The columns of its first input that an operator from image to image needs; None for other operators."""
    image = operator.inputs[0]
    if operator.facts.elementwise:
        return ColumnWindow(tensor=image)
    along = _along(operator, model, 1)
    return (
        None
        if along is None
        else ColumnWindow(tensor=image, width=along[0], stride=along[1], before=along[2])
    )


def _along(operator: Operator, model: Model, axis: int) -> tuple[int, int, int] | None:
    """The size of a window, the step to the next, and the padding before the first, along rows or columns."""
    attributes: Any = operator.attributes
    if operator.kind in ROW_TAPS:
        taps = model.tensors[operator.constants[0]].shape[ROW_TAPS[operator.kind] + axis]
    elif operator.facts.structure is Structure.POOL:
        taps = attributes["kernel"][axis]
    else:
        return None
    size = (taps - 1) * attributes.get("dilation", (1, 1))[axis] + 1
    return size, attributes.get("strides", (1, 1))[axis], attributes.get("padding", (0, 0, 0, 0))[axis]


def _row_by_row(operator: Operator, model: Model) -> bool:
    """Whether each row of a dense layer's output comes from the row of its input with the same number."""
    x, out = (model.tensors[name] for name in (operator.inputs[0], operator.output))
    rows = (rows_of(tensor).rows for tensor in (x, out))
    return len(set(rows)) == 1 and x.shape[-1] == model.tensors[operator.constants[0]].shape[-1]


def unit_of(
    operator: Operator, window: RowWindow, after: Operator | None, other: Tensor | None, model: Model
) -> FusedOperators:
    """An operator's `window` and output, with the addition `after` it, whose other operand is `other`."""
    last = after or operator
    return FusedOperators(
        operators=tuple(each.id for each in (operator, after) if each is not None),
        reads=(window, *(RowWindow(tensor=rows_of(each)) for each in (other,) if each is not None)),
        image=rows_of(model.tensors[last.output]),
    )
