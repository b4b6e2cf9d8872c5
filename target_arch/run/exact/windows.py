"""Operators on images: convolutions and pools. Tensors are NHWC."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.run.exact.products import scaled_by_weights
from target_arch.run.exact.scaling import (
    Integers,
    fixed_point,
    half_even,
    quotient_half_even,
    real32,
    twice_rounded,
)
from target_arch.run.exact.setting import Array, Setting


@frozen(kw_only=True)
class _Window:
    """Which rows and columns of an image an output element sees."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    out: tuple[int, int]

    def taps(self, image: Integers, fill: int) -> Iterator[tuple[int, int, Integers]]:
        """For each position in the kernel the elements [N,H,W,C] that the outputs see there."""
        top, left, bottom, right = self.padding
        spread = [(size - 1) * step for size, step in zip(self.kernel, self.dilation, strict=True)]
        needed = [
            (extent - 1) * stride + reach + 1
            for extent, stride, reach in zip(self.out, self.strides, spread, strict=True)
        ]
        below = max(bottom, needed[0] - top - image.shape[1])
        beside = max(right, needed[1] - left - image.shape[2])
        padded = np.pad(image, ((0, 0), (top, below), (left, beside), (0, 0)), constant_values=fill)
        for row in range(self.kernel[0]):
            for column in range(self.kernel[1]):
                y, x = row * self.dilation[0], column * self.dilation[1]
                rows = slice(y, y + (self.out[0] - 1) * self.strides[0] + 1, self.strides[0])
                columns = slice(x, x + (self.out[1] - 1) * self.strides[1] + 1, self.strides[1])
                yield row, column, padded[:, rows, columns, :]


def _window(setting: Setting, kernel: tuple[int, int], dilation: tuple[int, int]) -> _Window:
    shape = setting.out.shape
    return _Window(
        kernel=kernel,
        strides=setting.attribute("strides", (1, 1)),
        padding=setting.attribute("padding", (0, 0, 0, 0)),
        dilation=dilation,
        out=(shape[1], shape[2]),
    )


def conv2d(setting: Setting) -> Array:
    """Sums of products over a window and all channels."""
    weights = setting.operand(1).astype(np.float64)
    window = _window(setting, weights.shape[1:3], setting.attribute("dilation", (1, 1)))
    total = np.zeros(setting.out.shape)
    for row, column, seen in window.taps(setting.centred(0), 0):
        # Whole numbers below 2**53: exact in float64, whatever the order.
        total += seen.astype(np.float64) @ weights[:, row, column, :].T
    return scaled_by_weights(setting, total.astype(np.int64), twice_rounded)


def depthwise_conv2d(setting: Setting) -> Array:
    """Sums of products over a window, each output channel from one input channel."""
    weights = setting.operand(1).astype(np.int64)
    window = _window(setting, weights.shape[0:2], setting.attribute("dilation", (1, 1)))
    image = np.repeat(setting.centred(0), int(setting.attribute("depth_multiplier", 1)), axis=3)
    total = np.zeros(setting.out.shape, np.int64)
    for row, column, seen in window.taps(image, 0):
        total += seen * weights[row, column]
    return scaled_by_weights(setting, total, twice_rounded)


def max_pool2d(setting: Setting) -> Array:
    """The greatest stored value of each window, on another grid where the output has another."""
    window = _window(setting, setting.attribute("kernel"), (1, 1))
    greatest = _reduced(window, setting.operand(0).astype(np.int64), np.iinfo(np.int64).min, np.maximum)
    if setting.grids(0) == setting.grids():
        return setting.clamped(greatest)
    (scale, zero), (out, _) = setting.grid(0), setting.grid()
    return setting.stored(half_even(greatest - zero, real32(scale, over=out)))


def avg_pool2d(setting: Setting) -> Array:
    """The mean of each window, of the elements inside the image unless padding counts."""
    window = _window(setting, setting.attribute("kernel"), (1, 1))
    stored = setting.operand(0).astype(np.int64)
    ones = np.ones_like(stored)
    include = bool(setting.attribute("count_include_pad", False))
    count = _reduced(window, ones, int(include), np.add)
    if setting.tflite and "mean" not in setting.operator.relax_ops:
        total = _reduced(window, stored, 0, np.add)
        half = count // 2
        return setting.clamped(np.where(total > 0, (total + half) // count, -((half - total) // count)))
    total = _reduced(window, setting.centred(0), 0, np.add)
    (scale, _), (out, _) = setting.grid(0), setting.grid()
    if setting.tflite:
        return setting.stored(twice_rounded(total, *_divided(scale / out, int(count.flat[0]))))
    numerator, denominator = real32(scale, over=out).as_integer_ratio()
    return setting.stored(quotient_half_even(total * numerator, count * denominator))


def _divided(real: float, count: int) -> tuple[int, int]:
    """LiteRT's mean: as many left shifts of the multiplier as keep it in 64 bits, then a division."""
    multiplier, shift = fixed_point(real)
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def _reduced(window: _Window, image: Integers, fill: int, combine: Callable[..., Any]) -> Integers:
    found: Any = None
    for _, _, seen in window.taps(image, fill):
        found = seen.copy() if found is None else combine(found, seen)
    return np.asarray(found)
