"""softmax and functions in float32 in every form that runs here, against double precision."""

import ctypes
import math
import subprocess
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from target_arch.backends.plain_c.kernels.real_functions import FUNCTIONS
from target_arch.resources import runtime_c
from tests.backends.c.one import Array

FORMS = {"portable": ("-DTA_KERNELS_PORTABLE",), "avx2 where the processor has it": ()}
SOURCE = """#include "kernels/f32_functions.h"
void softmax(const float *x, int32_t rows, int32_t length, float beta, float *out)
{
    ta_f32_softmax(x, rows, length, beta, out);
}
"""
MAP = """void {name}_of(const float *x, int32_t count, float *out)
{{
    ta_f32_map(TA_F32_{upper}, x, count, out);
}}
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
    maps = (MAP.format(name=name, upper=name.upper()) for name in FUNCTIONS)
    source.write_text(SOURCE + "".join(maps))
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


def mapped(library: ctypes.CDLL, name: str, x: Array) -> Array:
    """A function of the values, whose results take their place."""
    out = np.ascontiguousarray(x, np.float32).copy()
    place = ctypes.c_void_p(out.ctypes.data)
    getattr(library, f"{name}_of")(place, out.size, place)
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
    found = mapped(library, "erf", x)
    wanted = np.array([math.erf(float(value)) for value in x])
    assert (np.abs(found - wanted) <= 4 * EPSILON * np.abs(wanted) + _TINY).all()
    assert (np.signbit(found) == np.signbit(x)).all()
    assert np.abs(found).max() == 1
    assert np.isnan(mapped(library, "erf", np.full(9, np.nan, np.float32))).all()


@pytest.mark.parametrize("length", [18_710, 20_000])
def test_many_small_exponentials_do_not_vanish_beside_a_large_one(library: ctypes.CDLL, length: int) -> None:
    """As in the letters of a text recognizer: one by one, they would be rounded away."""
    x = np.random.default_rng(length).uniform(-6, -4, (1, length)).astype(np.float32)
    x[0, length // 3] = 11
    np.testing.assert_allclose(softmax(library, x), exact(x, 1.0), rtol=2e-6, atol=1e-7)


def _sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


def _gelu_tanh(x: Array) -> Array:
    result: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)))
    return result


EXACT: Mapping[str, Callable[[Array], Array]] = {
    "erf": np.vectorize(math.erf),
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * (0.5 + 0.5 * np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": _gelu_tanh,
}
_LEAST_SIGMOID = 2e-38
"""An exponential that has no number makes a smaller one 0; a silu is at most 90 times that."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_double_precision(library: ctypes.CDLL, name: str) -> None:
    """Within six units in the last place, of those that subtract also of their operand's; 1,003 values fill
    no vectors.
    """
    rng = np.random.default_rng(4)
    wide, small = rng.uniform(-87, 87, 501), rng.normal(0, 1, 251) * 10.0 ** rng.integers(-30, 1, 251)
    x = np.concatenate([wide, small, rng.uniform(-2, 2, 251)]).astype(np.float32)
    x = np.abs(x) + np.float32(1e-42) if name == "log" else x
    found, wanted = mapped(library, name, x), EXACT[name](x.astype(np.float64))
    sizes = np.abs(wanted) + (np.abs(x) if name.startswith("gelu") else 0)
    assert (np.abs(found - wanted) <= 6 * EPSILON * sizes + 90 * _LEAST_SIGMOID).all()


@pytest.mark.parametrize("count", [8, 1])
@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("exp", 1000, np.inf),
        ("exp", -1000, 0),
        ("exp", -np.inf, 0),
        ("log", 0, -np.inf),
        ("log", -1, np.nan),
        ("log", np.inf, np.inf),
        ("log", 1, 0),
        ("tanh", 1000, 1),
        ("tanh", -np.inf, -1),
        ("sigmoid", 1000, 1),
        ("sigmoid", -1000, 0),
        ("silu", 1000, 1000),
        ("gelu", 1000, 1000),
        ("gelu_tanh", 50, 50),
        *((name, np.nan, np.nan) for name in FUNCTIONS),
    ],
)
def test_functions_at_their_ends(
    library: ctypes.CDLL, name: str, at: float, value: float, count: int
) -> None:
    np.testing.assert_array_equal(mapped(library, name, np.full(count, at)), np.float32([value] * count))
