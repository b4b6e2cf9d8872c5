"""Operators on images: convolutions and pools. Tensors are NHWC."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.run.exact.case import Array, OperatorCase
from target_arch.run.exact.products import scaled_by_weights, weights_of
from target_arch.run.exact.scaling import (
    Integers,
    fixed_point,
    half_even,
    quotient_half_even,
    real32,
    twice_rounded,
)


@frozen(kw_only=True)
class SeenWindow:
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


def _window(case: OperatorCase, kernel: tuple[int, int], dilation: tuple[int, int]) -> SeenWindow:
    shape = case.out.shape
    return SeenWindow(
        kernel=kernel,
        strides=case.attribute("strides", (1, 1)),
        padding=case.attribute("padding", (0, 0, 0, 0)),
        dilation=dilation,
        out=(shape[1], shape[2]),
    )


def conv2d(case: OperatorCase) -> Array:
    """Sums of products over a window and all channels of a group."""
    weights, image = weights_of(case).astype(np.float64), case.centred(0)
    window = _window(case, weights.shape[1:3], case.attribute("dilation", (1, 1)))
    groups = image.shape[3] // weights.shape[3]
    found = []
    for values, own in zip(np.split(image, groups, 3), np.split(weights, groups, 0), strict=True):
        total = np.zeros((*case.out.shape[:3], len(own)))
        for row, column, seen in window.taps(values, 0):
            # Whole numbers below 2**53: exact in float64, whatever the order.
            total += seen.astype(np.float64) @ own[:, row, column, :].T
        found.append(total)
    return scaled_by_weights(case, np.concatenate(found, axis=3).astype(np.int64), twice_rounded)


def conv2d_transpose(case: OperatorCase) -> Array:
    """Every element of the image, times the kernel, added to a window of the output."""
    weights, image = weights_of(case), case.centred(0)
    strides, dilation = case.attribute("strides"), case.attribute("dilation")
    top, left, *_ = case.attribute("padding")
    batch, height, width, channels = case.out.shape
    sums = np.zeros((batch, height, width, channels), np.int64)
    for row, column in np.ndindex(*weights.shape[1:3]):
        terms = image @ weights[:, row, column, :].T
        for y, x in np.ndindex(*image.shape[1:3]):
            i, j = y * strides[0] + row * dilation[0] - top, x * strides[1] + column * dilation[1] - left
            if 0 <= i < height and 0 <= j < width:
                sums[:, i, j] += terms[:, y, x]
    return scaled_by_weights(case, sums, twice_rounded)


def depthwise_conv2d(case: OperatorCase) -> Array:
    """Sums of products over a window, each output channel from one input channel."""
    weights = weights_of(case)
    window = _window(case, weights.shape[0:2], case.attribute("dilation", (1, 1)))
    image = np.repeat(case.centred(0), int(case.attribute("depth_multiplier", 1)), axis=3)
    total = np.zeros(case.out.shape, np.int64)
    for row, column, seen in window.taps(image, 0):
        total += seen * weights[row, column]
    return scaled_by_weights(case, total, twice_rounded)


def max_pool2d(case: OperatorCase) -> Array:
    """The greatest stored value of each window, on another grid where the output has another."""
    window = _window(case, case.attribute("kernel"), (1, 1))
    greatest = _reduced(window, case.operand(0).astype(np.int64), np.iinfo(np.int64).min, np.maximum)
    if case.grids(0) == case.grids():
        return case.clamped(greatest)
    (scale, zero), (out, _) = case.grid(0), case.grid()
    return case.stored(half_even(greatest - zero, real32(scale, over=out)))


def avg_pool2d(case: OperatorCase) -> Array:
    """The mean of each window, of the elements inside the image unless padding counts."""
    window = _window(case, case.attribute("kernel"), (1, 1))
    stored = case.operand(0).astype(np.int64)
    ones = np.ones_like(stored)
    include = bool(case.attribute("count_include_pad", False))
    count = _reduced(window, ones, int(include), np.add)
    if case.tflite and not case.attribute("count_in_multiplier", False):
        total = _reduced(window, stored, 0, np.add)
        half = count // 2
        return case.clamped(np.where(total > 0, (total + half) // count, -((half - total) // count)))
    total = _reduced(window, case.centred(0), 0, np.add)
    (scale, _), (out, _) = case.grid(0), case.grid()
    if case.tflite:
        return case.stored(twice_rounded(total, *_divided(scale / out, int(count.flat[0]))))
    numerator, denominator = real32(scale, over=out).as_integer_ratio()
    return case.stored(quotient_half_even(total * numerator, count * denominator))


def _divided(real: float, count: int) -> tuple[int, int]:
    """LiteRT's mean: as many left shifts of the multiplier as keep it in 64 bits, then a division."""
    multiplier, shift = fixed_point(real)
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def _reduced(window: SeenWindow, image: Integers, fill: int, combine: Callable[..., Any]) -> Integers:
    found: Any = None
    for _, _, seen in window.taps(image, fill):
        found = seen.copy() if found is None else combine(found, seen)
    return np.asarray(found)
