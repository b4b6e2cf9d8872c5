"""The rows that an operator needs for a row of its output, alone or with the addition after it."""

from target_arch.backends.plain_c.stripes.rowwise import rows_of
from target_arch.backends.plain_c.stripes.schedule import FusedOperators
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.operators.window import Window
from target_arch.plan.products import is_hybrid
from target_arch.plan.regions.patches import ColumnWindow
from target_arch.plan.regions.stripes import RowWindow
from target_arch.plan.windows import windows_of


def window_of(operator: Operator, model: Model) -> RowWindow | None:
    """The rows of its first input that an operator needs; None where it does not go over rows, or needs
    all of them first, for a grid.
    """
    if is_hybrid(operator, model):
        return None
    image = rows_of(model.tensors[operator.inputs[0]])
    if operator.kind is OperatorKind.DENSE:
        return RowWindow.equal(image) if _row_by_row(operator, model) else None
    if operator.facts.elementwise:
        return RowWindow.equal(image)
    windows = windows_of(operator, model)
    return None if windows is None else RowWindow(tensor=image, along=windows[0])


def columns_of(operator: Operator, model: Model) -> ColumnWindow | None:
    """The columns of its first input that an operator from image to image needs; None for other operators."""
    if is_hybrid(operator, model):
        return None
    image = operator.inputs[0]
    if operator.facts.elementwise:
        columns = model.tensors[image].shape[2]
        return ColumnWindow(tensor=image, along=Window(extent=columns, out=columns))
    windows = windows_of(operator, model)
    return None if windows is None else ColumnWindow(tensor=image, along=windows[1])


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
        reads=(window, *(RowWindow.equal(rows_of(each)) for each in (other,) if each is not None)),
        image=rows_of(model.tensors[last.output]),
    )
