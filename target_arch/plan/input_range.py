"""Ranges of inputs, as the user promises them.

A range is of the elements as a program writes them: stored integers where the input is quantized. Tests:
`tests/plan/test_input_range.py`.
"""

import struct
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from target_arch.diagnostics import DiagnosticError, name_hint, refusal

if TYPE_CHECKING:  # `check` reads no model, and starts without NumPy
    import numpy as np

Ends = tuple[float, float]
"""The lowest and the highest value, as the user writes them."""

NO_RANGES: Mapping[str, Ends] = MappingProxyType({})
ONLY_INPUT = ""
"""The name that stands for the input of a model with one."""

_FLOATS = {"float16": "e", "float32": "f", "float64": "d"}
"""The formats of `struct`."""


@frozen(kw_only=True)
class InputRange:
    """The least and the greatest value of an input's elements, both included."""

    low: float
    high: float

    @classmethod
    def of(cls, name: str, dtype: str, ends: Ends, place: str) -> "InputRange":
        """The range of an input of that type: integers, or the floats of it that are next to the ends.

        DiagnosticError where the type has no such values, and where there are none.
        """
        what, (low, high) = f"input `{name}`, which is {dtype},", ends
        if dtype == "bool" or not all(map(_finite, ends)):
            hint = "both ends are finite numbers, and the input has numbers, too"
            raise _refused(place, f"{what} cannot be from {low} to {high}", hint)
        if low > high:
            raise _refused(place, f"{what} cannot be from {low} to {high}", "name the lowest value first")
        if not dtype.startswith("float"):
            return cls._of_integers(what, dtype, ends, place)
        form = f"<2{_FLOATS[dtype]}"
        try:
            first, last = struct.unpack(form, struct.pack(form, *ends))
        except OverflowError:
            hint = "its type has no such values"
            raise _refused(place, f"{what} cannot be from {low} to {high}", hint) from None
        return cls(low=first, high=last)

    @classmethod
    def _of_integers(cls, what: str, dtype: str, ends: Ends, place: str) -> "InputRange":
        low, high = map(int, ends)
        least, greatest = limits(dtype)
        if (low, high) != ends or not least <= low <= high <= greatest:
            hint = f"a range is of stored values: integers from {least} to {greatest}"
            raise _refused(place, f"{what} cannot be from {ends[0]} to {ends[1]}", hint)
        return cls(low=low, high=high)

    def all_of(self, dtype: str) -> bool:
        """Whether these are all values of an integer type."""
        return not dtype.startswith("float") and (self.low, self.high) == limits(dtype)

    def has(self, values: "np.ndarray[Any, Any]") -> bool:
        """Whether every element of an array is in the range. NaN is in none."""
        return bool(((values >= self.low) & (values <= self.high)).all())

    def __str__(self) -> str:
        low, high = (f"{end:.9g}" if isinstance(end, float) else f"{end}" for end in (self.low, self.high))
        return f"{low} to {high}"


def limits(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type, such as `uint8`."""
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def named(ranges: Mapping[str, Ends], names: Sequence[str], place: str) -> dict[str, Ends]:
    """The ranges by the names of inputs, of which `names` are all. DiagnosticError for a name that there is
    not, for two ranges of one input, and where a name is left out though there are several inputs.
    """
    found: dict[str, Ends] = {}
    for asked, ends in ranges.items():
        name = names[0] if asked == ONLY_INPUT and len(names) == 1 else asked
        if name == ONLY_INPUT and name not in names:
            raise _refused(place, f"there are {len(names)} inputs, and a range names none", "name the input")
        if name not in names:
            raise _refused(place, f"there is no input `{name}`", name_hint(name, names, "inputs are"))
        if name in found:
            raise _refused(place, f"input `{name}` is to have two ranges", "name one of them")
        found[name] = ends
    return found


def _finite(end: float) -> bool:
    """Whether it is a number that a double can hold."""
    return -sys.float_info.max <= end <= sys.float_info.max


def _refused(place: str, message: str, hint: Any) -> DiagnosticError:
    return refusal("wrong-range", place, message, hint)
