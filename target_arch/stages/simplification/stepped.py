"""Weights beside float activations that are integers of 8 bits times a step: one byte each.

Files have them as integers with a scale for all, for each output channel, or for each block of a row, and
readers multiply, which rounds once. Here the integers and the steps are found again from the floats, whatever
format they came from: only where every product has the same bits. The definition of a sum of products
multiplies again where it uses a weight.

Tests: `tests/stages/simplification/test_stepped.py`.
"""

from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

Floats = NDArray[np.float32]
_LEAST, _MOST = -128, 127
_BLOCKS = (256, 128, 64, 32, 16)
_LOOKED_AT = 4
"""Groups that are looked at first: most models have none on a grid."""
_AT_ONCE = 1 << 20
_FEWEST = 256
"""Weights that pay for their steps."""


def with_stepped_weights(model: Model) -> Model:
    """The model with such weights of sums of products of floats in int8, and their steps behind the bias."""
    changed: dict[str, Operator] = {}
    tensors = dict(model.tensors)
    for operator, weights, steps in stepped_weights(model):
        tensors |= {weights.name: weights, steps.name: steps}
        constants = (weights.name, *operator.constants[1:], steps.name)
        changed[operator.id] = evolve(operator, constants=constants)
    if not changed:
        return model
    operators = tuple(changed.get(operator.id, operator) for operator in model.operators)
    read = {name for operator in operators for name in operator.constants}
    before = {operator.constants[0] for operator in model.operators if operator.id in changed}
    for name in before - read:
        del tensors[name]
    return evolve(model, tensors=tensors, operators=operators)


def stepped_weights(model: Model) -> Iterator[tuple[Operator, Tensor, Tensor]]:
    """Operators whose weights could be so, with these in int8 and their steps."""
    for operator in model.operators:
        if not operator.facts.weighted or operator.arithmetic is not Arithmetic.FLOAT:
            continue
        tensor = model.tensors[operator.constants[0]]
        if tensor.dtype != "float32" or tensor.bytes < 4 * _FEWEST or len(operator.constants) != 2:
            continue
        values = np.frombuffer(tensor.data or b"", "<f4").reshape(tensor.shape)
        grid = _grid(values, last=operator.kind is OperatorKind.DEPTHWISE_CONV2D)
        if grid is not None:
            yield operator, *_tensors(tensor, grid)


@frozen(kw_only=True, eq=False)
class _Grid:
    """Integers like the weights, and steps: in each dimension one for all, for each, or for each block."""

    integers: NDArray[np.int8]
    steps: Floats


def _tensors(tensor: Tensor, grid: _Grid) -> tuple[Tensor, Tensor]:
    steps = grid.steps.astype("<f4")
    return (
        evolve(tensor, name=f"{tensor.name}.integers", dtype="int8", data=grid.integers.tobytes()),
        Tensor(name=f"{tensor.name}.steps", shape=steps.shape, dtype="float32", data=steps.tobytes()),
    )


def _grid(values: Floats, *, last: bool) -> _Grid | None:
    """With one step for all weights, one for each output channel, or one for each block of a row; output
    channels are the first dimension, or the `last`.
    """
    rows = values.reshape(len(values), -1)
    if last:
        rows = np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)
    found = _of_groups(rows.reshape(1, -1)) or _of_groups(rows)
    if found is not None:
        integers, steps = found
        shape = [1] * values.ndim
        shape[-1 if last else 0] = len(steps)
        stored = integers.reshape(rows.shape)
        return _Grid(
            integers=(stored.T if last else stored).reshape(values.shape), steps=steps.reshape(shape)
        )
    for size in () if last else _BLOCKS:
        found = None if values.shape[-1] % size else _of_groups(values.reshape(-1, size))
        if found is not None:
            integers, steps = found
            outer = values.shape[:-1]
            return _Grid(integers=integers.reshape(values.shape), steps=steps.reshape(*outer, -1))
    return None


def _of_groups(groups: Floats) -> tuple[NDArray[np.int8], Floats] | None:
    """The integers and the step of each group of values; None where one has none."""
    if _steps_of(groups[:_LOOKED_AT, : _AT_ONCE // _LOOKED_AT]) is None:
        return None
    each = max(1, _AT_ONCE // groups.shape[1])
    integers, steps = [], []
    for first in range(0, len(groups), each):
        found = _steps_of(groups[first : first + each])
        if found is None:
            return None
        integers.append(found[0])
        steps.append(found[1])
    return np.concatenate(integers), np.concatenate(steps)


def _steps_of(groups: Floats) -> tuple[NDArray[np.int8], Floats] | None:
    """The same: the smallest magnitude of a group is some number of steps, the fewest that fit all others."""
    sizes = np.abs(groups)
    largest = sizes.max(axis=1)
    if not np.isfinite(largest).all():
        return None
    smallest = np.where(sizes > 0, sizes, np.inf).min(axis=1)
    steps = np.where(largest == 0, np.float32(1), np.float32(0))
    integers = np.zeros(groups.shape, np.int8)
    for count in range(1, 1 - _LEAST):
        left = np.flatnonzero(
            (steps == 0) & (count * largest.astype(np.float64) <= (0.5 - _LEAST) * smallest)
        )
        if not left.size:
            break
        fitting, stored, own = _fitted(groups[left], smallest[left] / count)
        steps[left[fitting]], integers[left[fitting]] = own, stored
    return None if (steps == 0).any() or not _same(integers, steps, groups).all() else (integers, steps)


def _fitted(groups: Floats, about: Floats) -> tuple[NDArray[np.bool_], NDArray[np.int8], Floats]:
    """Which groups are on a grid of about this step, and the integers and the steps of these. A step in
    float32 is near the largest value over its integer.
    """
    counted = np.rint(groups.astype(np.float64) / about[:, None])
    counted = np.where((counted >= _LEAST) & (counted <= _MOST), counted, 0).astype(np.int8)
    place = np.abs(groups).argmax(axis=1)[:, None]
    at = np.take_along_axis(counted, place, 1)[:, 0].astype(np.float64)
    value = np.take_along_axis(groups, place, 1)[:, 0].astype(np.float64)
    nearest = (value / np.where(at == 0, 1, at)).astype(np.float32)
    steps = np.zeros(len(groups), np.float32)
    for other in (nearest, np.nextafter(nearest, np.float32(0)), np.nextafter(nearest, np.float32(np.inf))):
        fits = (steps == 0) & _same(counted, other, groups)
        steps[fits] = other[fits]
    fitting = steps != 0
    return fitting, counted[fitting], steps[fitting]


def _same(integers: NDArray[np.int8], steps: Floats, groups: Floats) -> NDArray[np.bool_]:
    """Whether each group has the bits of its integers times its step."""
    made = integers.astype(np.float32) * steps[:, None]
    same: NDArray[np.bool_] = (made.view(np.uint32) == groups.view(np.uint32)).all(axis=1)
    return same
