"""Ranges of inputs, as the user promises them.

A range is of the elements as a program writes them: stored integers where the input is quantized. Tests:
`tests/plan/test_input_range.py`.
"""

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.diagnostics import DiagnosticError, name_hint, refusal

Ends = tuple[float, float]
"""The lowest and the highest value, as the user writes them."""

NO_RANGES: Mapping[str, Ends] = MappingProxyType({})
ONLY_INPUT = ""
"""The name that stands for the input of a model with one."""


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
        with np.errstate(over="ignore"):
            first, last = (float(np.dtype(dtype).type(end)) for end in ends)
        if not (_finite(first) and _finite(last)):
            raise _refused(place, f"{what} cannot be from {low} to {high}", "its type has no such values")
        return cls(low=first, high=last)

    @classmethod
    def _of_integers(cls, what: str, dtype: str, ends: Ends, place: str) -> "InputRange":
        low, high = map(int, ends)
        least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if (low, high) != ends or not least <= low <= high <= greatest:
            hint = f"a range is of stored values: integers from {least} to {greatest}"
            raise _refused(place, f"{what} cannot be from {ends[0]} to {ends[1]}", hint)
        return cls(low=low, high=high)

    def all_of(self, dtype: str) -> bool:
        """Whether these are all values of an integer type."""
        kind = np.dtype(dtype)
        return kind.kind in "iu" and (self.low, self.high) == (np.iinfo(kind).min, np.iinfo(kind).max)

    def has(self, values: np.ndarray[Any, Any]) -> bool:
        """Whether every element of an array is in the range. NaN is in none."""
        return bool(((values >= self.low) & (values <= self.high)).all())

    def __str__(self) -> str:
        low, high = (f"{end:.9g}" if isinstance(end, float) else f"{end}" for end in (self.low, self.high))
        return f"{low} to {high}"


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
