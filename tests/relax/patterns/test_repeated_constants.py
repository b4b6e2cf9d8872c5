"""Matrices that the dimensions before them only repeat."""

import numpy as np

from target_arch.plan.model import Quantization
from target_arch.relax.patterns.constants import Constant

MATRIX = np.arange(6, dtype=np.int8).reshape(2, 3)
REPEATED = np.broadcast_to(MATRIX, (4, 5, 2, 3))


def grid(axis: int | None, extent: int = 1) -> Quantization:
    return Quantization(scale=(0.5,) * extent, zero_point=(0,) * extent, axis=axis)


def test_what_is_only_repeated_is_a_matrix() -> None:
    for given, axis in ((None, None), (grid(None), None), (grid(3, 3), 1), (grid(2, 2), 0)):
        found = Constant(values=REPEATED, quantization=given).matrix()
        assert found is not None
        assert np.array_equal(found.values, MATRIX)
        assert (found.quantization is None) == (given is None)
        assert found.quantization is None or found.quantization.axis == axis


def test_what_is_no_matrix() -> None:
    other = REPEATED.copy()
    other[3, 4, 1, 2] += 1
    assert Constant(values=other).matrix() is None
    assert Constant(values=MATRIX[0]).matrix() is None
    assert Constant(values=REPEATED, quantization=grid(1, 5)).matrix() is None
