"""Fully connected layers, and how sums of products with weights become outputs."""

from collections.abc import Callable

import numpy as np

from target_arch.run.exact.case import Array, NotDefined, OperatorCase
from target_arch.run.exact.scaling import (
    Integers,
    fixed_point,
    half_even,
    once_rounded,
    real32,
    twice_rounded,
    wide_rounded,
)

Requantizer = Callable[[Integers, int, int], Integers]


def dense(case: OperatorCase) -> Array:
    """Rows times weights. LiteRT rounds once here."""
    weights = weights_of(case).astype(np.float64)
    rows = case.centred(0).reshape(-1, weights.shape[1]).astype(np.float64)
    return scaled_by_weights(case, (rows @ weights.T).astype(np.int64), once_rounded)


def weights_of(case: OperatorCase) -> Integers:
    """The stored weights less their zero point. NotDefined where they have several."""
    zeros = set(case.grids(1).zero_point)
    if len(zeros) > 1:
        raise NotDefined
    return case.operand(1).astype(np.int64) - zeros.pop()


def matmul(case: OperatorCase) -> Array:
    """Matrices times matrices."""
    (first, _), (second, _), (out, _) = case.grid(0), case.grid(1), case.grid()
    sums = case.centred(0).astype(np.float64) @ case.centred(1).astype(np.float64)
    if case.tflite:
        return case.stored(twice_rounded(sums.astype(np.int64), *fixed_point(first * second / out)))
    return case.stored(half_even(sums.astype(np.int64), real32(first, second, over=out)))


def scaled_by_weights(case: OperatorCase, sums: Integers, requantizer: Requantizer) -> Array:
    """Sums of products, channels last, plus the bias, on the grid of the output."""
    weights, channels = case.grids(1), sums.shape[-1]
    if requantizer is twice_rounded and case.tensor(2).dtype == "int64":
        requantizer = wide_rounded
    sums = sums + case.operand(2).astype(np.int64)
    found = np.empty_like(sums)
    for channel in range(channels):
        scale = weights.scale[channel if len(weights.scale) > 1 else 0]
        found[..., channel] = _scaled(case, sums[..., channel], scale, requantizer)
    return case.stored(found)


def _scaled(case: OperatorCase, sums: Integers, weight: float, requantizer: Requantizer) -> Integers:
    (scale, _), (out, _) = case.grid(0), case.grid()
    if not case.tflite:
        return half_even(sums, real32(scale, weight, over=out))
    if case.tensor(0).dtype == "uint8" and requantizer is twice_rounded and len(case.grids(1).scale) == 1:
        # Convolutions of uint8 multiply the two scales as float32, then divide as double.
        return requantizer(sums, *fixed_point(real32(scale, weight, over=1.0) / out))
    return requantizer(sums, *fixed_point(scale * weight / out))
