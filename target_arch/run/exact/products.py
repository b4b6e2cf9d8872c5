"""Fully connected layers, and how sums of products with weights become outputs."""

from collections.abc import Callable

import numpy as np

from target_arch.run.exact.scaling import Integers, fixed_point, half_even, once_rounded, real32
from target_arch.run.exact.setting import Array, NotDefined, Setting

Requantizer = Callable[[Integers, int, int], Integers]


def dense(setting: Setting) -> Array:
    """Rows times weights. LiteRT rounds once here."""
    weights = setting.operand(1).astype(np.float64)
    rows = setting.centred(0).reshape(-1, weights.shape[1]).astype(np.float64)
    return scaled_by_weights(setting, (rows @ weights.T).astype(np.int64), once_rounded)


def scaled_by_weights(setting: Setting, sums: Integers, requantizer: Requantizer) -> Array:
    """Sums of products, channels last, plus the bias, on the grid of the output."""
    weights, channels = setting.grids(1), sums.shape[-1]
    if any(weights.zero_point):
        raise NotDefined
    sums = sums + setting.operand(2).astype(np.int64)
    found = np.empty_like(sums)
    for channel in range(channels):
        scale = weights.scale[channel if len(weights.scale) > 1 else 0]
        found[..., channel] = _scaled(setting, sums[..., channel], scale, requantizer)
    return setting.stored(found)


def _scaled(setting: Setting, sums: Integers, weight: float, requantizer: Requantizer) -> Integers:
    (scale, _), (out, _) = setting.grid(0), setting.grid()
    if not setting.tflite:
        return half_even(sums, real32(scale, weight, over=out))
    if requantizer is once_rounded and len(setting.grids(1).scale) == 1:
        # The fully connected kernel multiplies its two scales as float32, then divides as double.
        return requantizer(sums, *fixed_point(real32(scale, weight, over=1.0) / out))
    return requantizer(sums, *fixed_point(scale * weight / out))
