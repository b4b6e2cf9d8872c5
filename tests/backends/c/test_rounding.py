"""Half to even becomes half up where no sum can tell: proven from multipliers, shifts and weights."""

from random import Random

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.kernels.scale import RequantizeConstants, prepared, single
from target_arch.plan.arithmetic import Requantization, Rounding, multiply_onnx


def requantization(multiplier: int, shift: int) -> Requantization:
    return Requantization(
        multipliers=(multiplier,), shifts=(shift,), rounding=Rounding.ONNX, input_offset=0, output_offset=0,
        activation_min=-128, activation_max=127,
    )  # fmt: skip


def of(scale: RequantizeConstants, total: int) -> int:
    """A sum as `s8_scale.h` scales it, without clamp."""
    product, right = total * scale.multipliers[0], scale.shifts[0]
    if scale.rounding is Rounding.TFLITE_SINGLE:
        return (product + (1 << (right - 1))) >> right
    return multiply_onnx(total, scale.multipliers[0], right)


@pytest.mark.parametrize("seed", range(40))
def test_results_are_those_of_half_to_even(seed: int) -> None:
    dice = Random(seed)
    multiplier = dice.getrandbits(dice.randint(1, 31)) << dice.randint(0, 6) & 0x7FFFFFFF
    r = requantization(multiplier, dice.randint(8, 60))
    products = dice.choice([1, 9, 576])
    scale = single(r, products, unsigned=False)
    most = products * 128 * 255
    sums = [dice.randint(-most, most) for _ in range(300)]
    halves = [number << dice.randint(0, most.bit_length()) for number in (1, -1, 3, -3, 5, -5) * 20]
    for total in [*sums, *(half for half in halves if abs(half) <= most)]:
        assert of(scale, total) == multiply_onnx(total, multiplier, r.shifts[0])


def test_a_sum_that_may_leave_a_half_keeps_half_to_even() -> None:
    """1.5 is 2, and so is 2.5: a factor of one half rounds every other odd sum down."""
    assert single(requantization(1 << 30, 31), 1, unsigned=False).rounding is Rounding.ONNX
    assert single(requantization(0x55555555, 40), 1, unsigned=False).rounding is Rounding.TFLITE_SINGLE


def test_multipliers_take_all_bits() -> None:
    """Fast forms need shifts that are far, whatever a file's scales are."""
    scale = single(requantization(0xC00001, 31), 9, unsigned=False)
    assert (scale.rounding, scale.multipliers[0], scale.shifts[0]) == (
        Rounding.TFLITE_SINGLE, 0xC00001 << 7, 38,
    )  # fmt: skip


def test_one_channel_that_may_tie_keeps_all_exact() -> None:
    r = evolve(requantization(0, 1), multipliers=(0xC00001, 1 << 23), shifts=(31, 31))
    rows = np.full((2, 4), 100, np.int8)
    both = prepared(r, rows, np.zeros(2, np.int32), -128, 0, False)
    assert both.scale.rounding is Rounding.ONNX
    one = prepared(evolve(r, multipliers=(0xC00001, 0xC00003)), rows, np.zeros(2, np.int32), -128, 0, False)
    assert one.scale.rounding is Rounding.TFLITE_SINGLE
