"""softmax and erf in float32 in every form that runs here, against double precision."""

import ctypes
import math
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from target_arch.resources import runtime_c
from tests.backends.c.one import Array

FORMS = {"portable": ("-DTA_KERNELS_PORTABLE",), "avx2 where the processor has it": ()}
SOURCE = """#include "kernels/f32_functions.h"
void softmax(const float *x, int32_t rows, int32_t length, float beta, float *out)
{
    ta_f32_softmax(x, rows, length, beta, out);
}
void erf_of(const float *x, int32_t count, float *out)
{
    ta_f32_erf(x, count, out);
}
"""
EPSILON = float(np.finfo(np.float32).eps)
_TINY = 1e-44
"""Less than that is lost where results have fewer digits."""


@pytest.fixture(scope="module", params=FORMS)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("functions")
    source, built = folder / "functions.c", folder / "functions.so"
    source.write_text(SOURCE)
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", f"-I{runtime_c()}")
    command = (needs_tool("gcc"), *flags, *FORMS[request.param], str(source), "-o", str(built), "-lm")
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


def softmax(library: ctypes.CDLL, x: Array, beta: float = 1.0) -> Array:
    """The result, which takes the place of the values."""
    out = np.ascontiguousarray(x, np.float32).copy()
    place, (rows, length) = ctypes.c_void_p(out.ctypes.data), out.shape
    library.softmax(place, rows, length, ctypes.c_float(beta), place)
    return out


def erf(library: ctypes.CDLL, x: Array) -> Array:
    out = np.ascontiguousarray(x, np.float32).copy()
    place = ctypes.c_void_p(out.ctypes.data)
    library.erf_of(place, out.size, place)
    return out


def exact(x: Array, beta: float) -> Array:
    distances = (x.astype(np.float64) - x.max(axis=1, keepdims=True)) * beta
    powers: Array = np.exp(distances)
    return powers / powers.sum(axis=1, keepdims=True)


@given(
    x=arrays(
        np.float32, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=st.floats(-60, 60, width=32)
    ),
    beta=st.sampled_from([1.0, 0.5, 2.0]),
)
def test_softmax_is_that_of_double_precision(library: ctypes.CDLL, x: Array, beta: float) -> None:
    """The rounding of a distance before it is scaled is multiplied by the result's size, and in `steps`."""
    found, wanted = softmax(library, x, beta), exact(x, beta)
    steps = 4 + x.shape[1] + np.abs(x - x.max(axis=1, keepdims=True)) * beta
    assert (np.abs(found - wanted) <= steps * EPSILON * wanted + _TINY).all()


def test_what_is_not_a_number_makes_its_row_so(library: ctypes.CDLL) -> None:
    for length in (5, 16):
        x = np.zeros((3, length), np.float32)
        x[0, 2], x[1, 3] = np.nan, -np.inf
        found = softmax(library, x)
        assert np.isnan(found[0]).all()
        assert found[1, 3] == 0
        assert np.isclose(found[1].sum(), 1)
        assert (found[2] == np.float32(1 / length)).all()


def test_erf_is_that_of_double_precision(library: ctypes.CDLL) -> None:
    """Within four units in the last place, and of the same sign, also of zeros."""
    near = np.linspace(-6, 6, 4999, dtype=np.float32)
    small = np.float32(10.0) ** np.arange(-44, 0, dtype=np.float32)
    x = np.concatenate([near, small, -small, np.float32([0.0, -0.0, np.inf, -np.inf, 1e30])]).astype(
        np.float32
    )
    found = erf(library, x)
    wanted = np.array([math.erf(float(value)) for value in x])
    assert (np.abs(found - wanted) <= 4 * EPSILON * np.abs(wanted) + _TINY).all()
    assert (np.signbit(found) == np.signbit(x)).all()
    assert np.abs(found).max() == 1
    assert np.isnan(erf(library, np.full(9, np.nan, np.float32))).all()


@pytest.mark.parametrize("length", [18_710, 20_000])
def test_many_small_exponentials_do_not_vanish_beside_a_large_one(library: ctypes.CDLL, length: int) -> None:
    """As in the letters of a text recognizer: one by one, they would be rounded away."""
    x = np.random.default_rng(length).uniform(-6, -4, (1, length)).astype(np.float32)
    x[0, length // 3] = 11
    np.testing.assert_allclose(softmax(library, x), exact(x, 1.0), rtol=2e-6, atol=1e-7)
