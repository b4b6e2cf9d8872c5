"""Weights as they are stored in plans: int8, without a zero point where the values allow it."""

import numpy as np
from attrs import evolve

from target_arch.plan.model import Quantization
from target_arch.relax.patterns.constants import Constant

_LEAST, _MOST = -128, 127


def stored_weights(weights: Constant) -> Constant | None:
    """Weights of 8 bits as int8 of the same real values: those less their zero point, where all of these are
    within int8, so that every kernel takes them; else with a zero point. None where they are of another type,
    need several zero points, or are on a grid that is none of theirs.
    """
    grid, dtype = weights.quantization, weights.values.dtype
    if grid is None or dtype not in (np.int8, np.uint8):
        return None
    if dtype == np.int8 and not any(grid.zero_point):
        return weights
    if not _is_grid(weights, grid):
        return None
    centred = weights.values.astype(np.int16) - _zero_points(weights)
    if centred.min(initial=0) >= _LEAST and centred.max(initial=0) <= _MOST:
        none = evolve(grid, zero_point=(0,) * len(grid.zero_point))
        return evolve(weights, values=centred.astype(np.int8), quantization=none)
    if len(set(grid.zero_point)) > 1:
        return None
    shift = 0 if dtype == np.int8 else _LEAST
    moved = evolve(grid, zero_point=tuple(zero + shift for zero in grid.zero_point))
    return evolve(
        weights, values=(weights.values.astype(np.int16) + shift).astype(np.int8), quantization=moved
    )


def _is_grid(weights: Constant, grid: Quantization) -> bool:
    """Whether there is a zero point for each place of the axis, and each is a value of the type."""
    bounds = np.iinfo(weights.values.dtype)
    along = weights.values.shape[grid.axis or 0 :][:1]
    return len(grid.zero_point) in (1, *along) and all(
        bounds.min <= zero <= bounds.max for zero in grid.zero_point
    )


def _zero_points(weights: Constant) -> "np.ndarray[tuple[int, ...], np.dtype[np.int16]]":
    """The zero points in a shape that goes along their axis."""
    assert weights.quantization is not None
    zeros = np.array(weights.quantization.zero_point, np.int16)
    shape = [1] * weights.values.ndim
    shape[weights.quantization.axis or 0] = -1
    return zeros.reshape(shape if len(zeros) > 1 else [1] * weights.values.ndim)
