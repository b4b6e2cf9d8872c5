"""The axes along which an operator may be divided, and what a slice of its result needs of its operands."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from attrs import frozen

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import DEFINITION_NAME, LayoutRule, Structure
from target_arch.plan.operators.kinds import OperatorKind, facts_of
from target_arch.plan.operators.window import Window
from target_arch.plan.products import groups_of, has_narrow_weights
from target_arch.plan.windows import required_windows


@frozen(kw_only=True)
class DivisionAxis:
    """The division of an operator along an axis of its result.

    `windows` are those of its inputs that a slice needs a range of, by their place among the operands (inputs
    first, then constants), each with the window along its own `axes`; a slice needs all of the others.
    """

    axis: int
    extent: int
    windows: Mapping[int, Window]
    axes: Mapping[int, int]


def divisible_kinds() -> tuple[OperatorKind, ...]:
    """The kinds of which operators may have an axis."""
    return tuple(kind for kind in OperatorKind if _is_divisible(kind))


def _is_divisible(kind: OperatorKind) -> bool:
    """Whether slices of results may come from slices of operands, as far as the kind says."""
    facts = facts_of(kind)
    if facts.structure is not Structure.PRODUCTS or kind is OperatorKind.DENSE:
        return facts.structure in _OF_STRUCTURE or kind in (OperatorKind.CONCAT, OperatorKind.RESIZE)
    return facts.layout is LayoutRule.IMAGE and facts.kernel_axes is not None


def axis_of(operator: Operator, model: Model) -> DivisionAxis | None:
    """The axis of an operator: the outermost one with more than one place; None where slices of its result
    are not computed from slices of its operands.
    """
    shape = model.tensors[operator.output].shape
    axis = next((number for number, extent in enumerate(shape) if extent > 1), None)
    return None if axis is None else _along(operator, model, axis)


def channels_of(operator: Operator, model: Model) -> DivisionAxis | None:
    """The axis of its channels, where its weights are more bytes than all else that it reads and writes; None
    where that is `axis_of`. Slices read a part of the weights each, and have to be gathered.
    """
    if operator.facts.structure is not Structure.PRODUCTS:
        return None
    weights, *others = (model.tensors[name].bytes for name in (operator.constants[0], *operator.inputs))
    last = len(model.tensors[operator.output].shape) - 1
    if weights <= sum(others) + model.tensors[operator.output].bytes:
        return None
    first = axis_of(operator, model)
    return None if first is not None and first.axis == last else _along(operator, model, last)


def axis_along(operator: Operator, model: Model, axis: int) -> DivisionAxis | None:
    """The one of both that is this axis of the result."""
    found = axis_of(operator, model)
    if found is None or found.axis != axis:
        found = channels_of(operator, model)
    return found if found is not None and found.axis == axis else None


def _along(operator: Operator, model: Model, axis: int) -> DivisionAxis | None:
    names = (*operator.inputs, operator.output)
    if any(_has_scales(model.tensors[name], axis) for name in names):
        return None
    found = _windows(operator, model, axis)
    extent = model.tensors[operator.output].shape[axis]
    return None if found is None else DivisionAxis(axis=axis, extent=extent, **found)


def _has_scales(tensor: Tensor, axis: int) -> bool:
    """Whether places along the axis have scales of their own."""
    quantization = tensor.quantization
    return quantization is not None and quantization.axis == axis and len(quantization.scale) > 1


def _windows(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    found = _OF_STRUCTURE.get(operator.facts.structure)
    if operator.kind is OperatorKind.CONCAT:
        found = _joined
    elif operator.kind is OperatorKind.RESIZE:
        found = _resized
    return None if found is None else found(operator, model, axis)


def _image(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """A batch, rows or columns. A result of one place is not worth a division of its channels."""
    if axis == 3:
        return None
    if axis == 0:
        return _one(0, model.tensors[operator.inputs[0]].shape[0], 0)
    window = required_windows(operator, model)[axis - 1]
    return {"windows": {0: window}, "axes": {0: axis}}


def _joined(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """The same places of all operands, where these follow each other along another axis."""
    if axis == operator.attributes["axis"]:
        return None
    numbers = range(len(operator.inputs))
    extent = model.tensors[operator.output].shape[axis]
    return {
        "windows": dict.fromkeys(numbers, Window.equal(extent)),
        "axes": dict.fromkeys(numbers, axis),
    }


def _resized(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """Images of a batch, or rows or columns: those have tables of what they read of the whole image, the
    first half of the constants for rows.
    """
    if DEFINITION_NAME not in operator.attributes:
        return None
    extent = model.tensors[operator.output].shape[axis]
    if axis not in (1, 2):
        return _one(0, extent, axis)
    half = len(operator.constants) // 2
    first = len(operator.inputs) + (axis - 1) * half
    numbers = range(first, first + half)
    return {"windows": dict.fromkeys(numbers, Window.equal(extent)), "axes": dict.fromkeys(numbers, 0)}


def _products(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    if has_narrow_weights(operator, model):
        return None
    shape = model.tensors[operator.output].shape
    if operator.kind is OperatorKind.DENSE:
        return _channels(operator, model) if axis == len(shape) - 1 else _dense_rows(operator, model, axis)
    if operator.facts.layout is not LayoutRule.IMAGE or operator.facts.kernel_axes is None:
        return None
    if axis < len(shape) - 1:
        return _image(operator, model, axis)
    plain = operator.kind is OperatorKind.CONV2D and groups_of(operator, model) == 1
    return _channels(operator, model) if plain else None


def _dense_rows(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """Places of the input and of the result that are as many whole rows, which may be several dimensions of
    either: four heads of 32 are a row of 128.
    """
    x, out = (model.tensors[name].shape for name in (operator.inputs[0], operator.output))
    channels = model.tensors[operator.constants[0]].shape[0]
    whole = x[: axis + 1] == out[: axis + 1] and prod(out[axis + 1 :]) % channels == 0
    return _one(0, x[axis], axis) if whole else None


def _channels(operator: Operator, model: Model) -> dict[str, Any] | None:
    """Output channels: ranges of weights and bias, and the whole input."""
    count, first = model.tensors[operator.output].shape[-1], len(operator.inputs)
    if model.tensors[operator.constants[0]].shape[0] != count:
        return None
    numbers = range(first, first + len(operator.constants))
    return {
        "windows": {number: Window.equal(count) for number in numbers},
        "axes": dict.fromkeys(numbers, 0),
    }


def _matrices(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """Pairs of matrices, or rows of the first operand; an operand that repeats along the axis is whole."""
    shape = model.tensors[operator.output].shape
    if axis == len(shape) - 1 or operator.constants:
        return None
    windows, axes = {}, {}
    for number, name in enumerate(operator.inputs):
        own = model.tensors[name].shape
        place = axis + len(own) - len(shape)
        columns = number == 1 and axis == len(shape) - 2
        if not columns and place >= 0 and own[place] > 1:
            windows[number] = Window.equal(shape[axis])
            axes[number] = place
    return {"windows": windows, "axes": axes}


def _alike(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """Operands of the shape of the result; the second of two may repeat."""
    shape = model.tensors[operator.output].shape
    names = (*operator.inputs, *operator.constants)
    windows, axes = {}, {}
    for number, name in enumerate(names):
        own = model.tensors[name].shape
        if own == shape:
            windows[number] = Window.equal(shape[axis])
            axes[number] = axis
        elif number == 0 or not _repeats(operator, own, shape, axis):
            return None
    return {"windows": windows, "axes": axes}


def _repeats(operator: Operator, own: tuple[int, ...], shape: tuple[int, ...], axis: int) -> bool:
    """Whether every slice reads the whole of this operand."""
    if operator.facts.structure is not Structure.BROADCAST:
        return True
    if prod(own) == 1:
        return True
    return axis < len(shape) - 1 and prod(own) == own[-1] == shape[-1]


def _one(number: int, extent: int, axis: int) -> dict[str, Any]:
    return {"windows": {number: Window.equal(extent)}, "axes": {number: axis}}


def _rows(operator: Operator, model: Model, axis: int) -> dict[str, Any] | None:
    """Rows, which are along the last dimension, stay whole."""
    last = len(model.tensors[operator.output].shape) - 1
    return _alike(operator, model, axis) if axis < last else None


_Windows = Callable[[Operator, Model, int], dict[str, Any] | None]
_OF_STRUCTURE: Mapping[Structure, _Windows] = {
    Structure.PRODUCTS: _products,
    Structure.POOL: _image,
    Structure.MATRICES: _matrices,
    Structure.ELEMENTWISE: _alike,
    Structure.BROADCAST: _alike,
    Structure.ROWS: _rows,
}
