"""The oracle's requantizers and those that kernels take their parameters from: written twice, equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_arch.plan import arithmetic
from target_arch.run.exact.scaling import fixed_point, half_even, once_rounded, real32, twice_rounded

VALUES = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20)
SCALES = st.floats(2.0**-30, 1.875, width=32)


@given(SCALES)
def test_multipliers(scale: float) -> None:
    assert fixed_point(scale) == arithmetic.quantize_multiplier(scale)


@given(VALUES, SCALES)
def test_two_roundings(values: list[int], scale: float) -> None:
    encoded = fixed_point(scale)
    expected = [arithmetic.multiply_tflite(value, *encoded) for value in values]
    assert twice_rounded(np.array(values), *encoded).tolist() == expected


@given(VALUES, SCALES)
def test_one_rounding(values: list[int], scale: float) -> None:
    encoded = fixed_point(scale)
    expected = [arithmetic.multiply_tflite_single(value, *encoded) for value in values]
    assert once_rounded(np.array(values), *encoded).tolist() == expected


@given(VALUES, SCALES)
def test_half_to_even(values: list[int], scale: float) -> None:
    encoded = arithmetic.mantissa_and_shift(scale)
    expected = [arithmetic.multiply_onnx(value, *encoded) for value in values]
    assert half_even(np.array(values), scale).tolist() == expected


@pytest.mark.parametrize(("value", "rounded"), [(1, 0), (3, 2), (5, 2), (-1, 0), (-3, -2)])
def test_ties(value: int, rounded: int) -> None:
    assert half_even(np.array([value]), 0.5).tolist() == [rounded]


def test_scales_are_rounded_to_float32() -> None:
    product = np.float32(0.1) * np.float32(0.3)
    assert real32(0.1, 0.3, over=0.7) == float(np.float32(product) / np.float32(0.7))
