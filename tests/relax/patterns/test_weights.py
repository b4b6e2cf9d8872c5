"""Weights of 8 bits on grids that are none of theirs."""

import numpy as np
import pytest

from target_arch.plan.model import Quantization
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.weights import stored_weights


def weights(zero_point: tuple[int, ...], axis: int | None = None) -> Constant:
    grid = Quantization(scale=(0.5,) * len(zero_point), zero_point=zero_point, axis=axis)
    return Constant(values=np.arange(6, dtype=np.uint8).reshape(2, 3), quantization=grid)


@pytest.mark.parametrize(
    ("zero_point", "axis"), [((2**40,), None), ((-1,), None), ((1, 1), 1), ((1, 1, 1, 1), 0), ((1, 1), 2)]
)
def test_no_zero_points_of_the_values(zero_point: tuple[int, ...], axis: int | None) -> None:
    assert stored_weights(weights(zero_point, axis)) is None


@pytest.mark.parametrize(("zero_point", "axis"), [((3,), None), ((0, 3), 0), ((0, 3, 4), 1)])
def test_the_real_values_stay(zero_point: tuple[int, ...], axis: int | None) -> None:
    before = weights(zero_point, axis)
    after = stored_weights(before)
    assert after is not None
    assert np.array_equal(after.real, before.real)
