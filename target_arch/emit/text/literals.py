"""Constants as C literals, exact to the bit on any machine that compiles them.

Integers are decimal (the most negative one as a difference, since C has no negative literals), floats are
hexadecimal. A tensor of float16 is written as its bit patterns, and so is one that holds an infinity or a
NaN: no literal of C99 carries a NaN's payload.
"""

import numpy as np
from attrs import frozen

from target_arch.emit.text.digits import decimal, hexadecimal
from target_arch.emit.text.listing import Listing
from target_arch.plan.model import C_TYPES, Tensor

_SUFFIXES = {"uint32": "u", "int64": "LL", "uint64": "uLL", "float32": "f"}
_LOWEST = {"int32": "(-2147483647-1)", "int64": "(-9223372036854775807LL-1)"}


@frozen(kw_only=True)
class Literals:
    """The elements of a tensor, in row-major order, and the C type they have."""

    c_type: str
    items: Listing


def c_type(dtype: str) -> str:
    """The C type of an element of that dtype, such as `int8_t`. KeyError where there is none."""
    return C_TYPES[dtype]


def literals(tensor: Tensor) -> Literals:
    """The literals of a constant tensor. ValueError where `data` is absent or has the wrong length."""
    if tensor.data is None or len(tensor.data) != tensor.bytes:
        held = "no data" if tensor.data is None else f"{len(tensor.data)} B"
        raise ValueError(f"constant `{tensor.name}` needs {tensor.bytes} B and holds {held}")
    dtype = "uint8" if tensor.dtype == "bool" else tensor.dtype
    values = np.frombuffer(tensor.data, dtype=np.dtype(dtype).newbyteorder("<"))
    if dtype.startswith("float"):
        return _floats(values, dtype)
    return Literals(c_type=c_type(dtype), items=_integers(values, dtype))


def integer_literal(value: int, dtype: str) -> str:
    """An integer of that dtype."""
    if dtype in _LOWEST and value == np.iinfo(dtype).min:
        return _LOWEST[dtype]
    return f"{value}{_SUFFIXES.get(dtype, '')}"


def float_literal(value: float) -> str:
    """A float32 in nine digits, which carry it; C++ before 2017 has no hexadecimal ones."""
    text = f"{value:.9g}"
    return f"{text}f" if set(text) & {".", "e"} else f"{text}.0f"


def _integers(values: np.ndarray, dtype: str) -> Listing:
    if dtype not in _LOWEST or not (values == np.iinfo(dtype).min).any():
        return decimal(values, _SUFFIXES.get(dtype, ""))
    return Listing.of(integer_literal(value, dtype) for value in values.tolist())


def _floats(values: np.ndarray, dtype: str) -> Literals:
    if values.itemsize == 2 or not np.isfinite(values).all():
        bits = values.view(f"<u{values.itemsize}").tolist()
        digits = values.itemsize * 2
        items = Listing.of(f"0x{word:0{digits}x}u" for word in bits)
        return Literals(c_type=f"uint{values.itemsize * 8}_t", items=items)
    return Literals(c_type=c_type(dtype), items=hexadecimal(values, _SUFFIXES.get(dtype, "")))
