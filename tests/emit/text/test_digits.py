"""Numbers as text are those of Python, whatever the type and the bits."""

import numpy as np
import pytest

from target_arch.emit.text.digits import decimal, hexadecimal

FLOATS = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def plain(value: float) -> str:
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}f, "


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype: str) -> None:
    rng, bits = np.random.default_rng(0), np.dtype(FLOATS[dtype])
    values = rng.integers(0, np.iinfo(bits).max, 20_000, dtype=bits, endpoint=True).view(dtype)
    subnormal, info = np.arange(300, dtype=bits).view(dtype), np.finfo(dtype)
    edges = np.array([info.max, info.tiny, info.smallest_subnormal, 1.0, 1.5, 16.0], dtype=dtype)
    values = np.concatenate([values[np.isfinite(values)], subnormal, -subnormal, edges, -edges])
    made = hexadecimal(values, "f")
    assert made.text == "".join(map(plain, values.tolist()))
    assert len(made) == len(values)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    values = rng.integers(info.min, info.max, 20_000, dtype=dtype, endpoint=True)
    values = np.concatenate([values, np.array([0, 1, 9, 10, 99, 100, info.min, info.max], dtype=dtype)])
    assert decimal(values, "u").text == "".join(f"{value}u, " for value in values.tolist())


def test_nothing() -> None:
    assert not len(hexadecimal(np.zeros(0, dtype=np.float32), "f"))
    assert decimal(np.zeros(0, dtype=np.int8), "").text == ""
