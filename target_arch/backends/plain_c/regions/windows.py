"""The lines that an operator needs for a line of its output, alone or with the addition after it."""

from target_arch.backends.plain_c.regions.linewise import FusedOperators, line_axis, lines_of
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.operators.window import Window
from target_arch.plan.products import has_narrow_weights
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import LineWindow
from target_arch.plan.windows import windows_of

_ALONG = {Axis.ROWS: 0, Axis.COLUMNS: 1}
"""The place of an axis in windows over an image."""


def window_of(operator: Operator, model: Model, axis: Axis = Axis.ROWS) -> LineWindow | None:
    """The rows or columns of its first input that an operator needs; None where it does not go over them, or
    needs all of them first, for a grid.
    """
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if has_narrow_weights(operator, model) or any(line_axis(each, axis) is None for each in tensors):
        return None
    image = lines_of(tensors[0], axis)
    if operator.kind is OperatorKind.DENSE:
        return LineWindow.equal(image) if _line_by_line(operator, model, axis) else None
    if operator.facts.elementwise:
        return LineWindow.equal(image)
    windows = windows_of(operator, model)
    if windows is None or (axis is Axis.COLUMNS and operator.facts.weighted and windows[0].kernel != 1):
        return None
    return LineWindow(tensor=image, along=windows[_ALONG[axis]])


def across_of(operator: Operator, model: Model) -> Window | None:
    """The columns of its first input that an operator from image to image needs; None for other operators."""
    if has_narrow_weights(operator, model):
        return None
    if operator.facts.elementwise:
        return Window.equal(model.tensors[operator.inputs[0]].shape[2])
    windows = windows_of(operator, model)
    return None if windows is None else windows[_ALONG[Axis.COLUMNS]]


def _line_by_line(operator: Operator, model: Model, axis: Axis) -> bool:
    """Whether each line of a dense layer's output comes from the line of its input with the same number."""
    x, out = (model.tensors[name] for name in (operator.inputs[0], operator.output))
    lines = (lines_of(tensor, axis).lines for tensor in (x, out))
    return len(set(lines)) == 1 and x.shape[-1] == model.tensors[operator.constants[0]].shape[-1]


def unit_of(
    operator: Operator,
    window: LineWindow,
    after: Operator | None,
    other: Tensor | None,
    model: Model,
    axis: Axis,
) -> FusedOperators:
    """An operator's `window` and output, with the addition `after` it, whose other operand is `other`."""
    last = after or operator
    return FusedOperators(
        operators=tuple(each.id for each in (operator, after) if each is not None),
        reads=(window, *(LineWindow.equal(lines_of(each, axis)) for each in (other,) if each is not None)),
        image=lines_of(model.tensors[last.output], axis),
    )


def channels_unit(
    operator: Operator,
    after: Operator | None,
    other: Tensor | None,
    model: Model,
    *,
    whole: bool = False,
    accumulates: bool = False,
) -> FusedOperators | None:
    """An operator that makes channels from `whole` pixels or from the same channels, or accumulates those
    that it takes in, with the addition `after` it, whose other operand is `other`. None without channels.
    """
    tensors = [model.tensors[operator.inputs[0]], model.tensors[(after or operator).output]]
    if any(line_axis(each, Axis.CHANNELS) is None for each in (*tensors, *([other] if other else []))):
        return None
    read, image = (lines_of(each, Axis.CHANNELS) for each in tensors)
    plain = accumulates or not whole
    along = Window.equal(read.lines) if plain else Window.all(read.lines, image.lines)
    windows = [LineWindow(tensor=read, along=along)]
    if other is not None:
        added = lines_of(other, Axis.CHANNELS)
        windows.append(LineWindow(tensor=added, along=Window.all(added.lines, read.lines)))
    return FusedOperators(
        operators=tuple(each.id for each in (operator, after) if each is not None),
        reads=tuple(windows),
        image=image,
        accumulates=accumulates,
    )
