"""Quantities with units: `"64 KiB"`, `"800 MB/s"`, `"2 us"`, `"667 MHz"`."""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

SIZE: Mapping[str, Fraction] = {
    "B": Fraction(1),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
}
BANDWIDTH: Mapping[str, Fraction] = {
    "B/s": Fraction(1),
    "kB/s": Fraction(10**3),
    "MB/s": Fraction(10**6),
    "GB/s": Fraction(10**9),
    "KiB/s": Fraction(2**10),
    "MiB/s": Fraction(2**20),
    "GiB/s": Fraction(2**30),
}
TIME: Mapping[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
}
FREQUENCY: Mapping[str, Fraction] = {
    "Hz": Fraction(1),
    "kHz": Fraction(10**3),
    "MHz": Fraction(10**6),
    "GHz": Fraction(10**9),
}

POWER: Mapping[str, Fraction] = {
    "nW": Fraction(1, 10**9),
    "uW": Fraction(1, 10**6),
    "mW": Fraction(1, 10**3),
    "W": Fraction(1),
}

BITS: Mapping[str, Fraction] = {
    f"{prefix}{unit}": Fraction(10**power, 8)
    for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9))
    for unit in ("bit/s", "bps", "b/s")
}
"""Bytes per second of units that data sheets have, and files do not: `Mb/s` is too near `MB/s`."""

PATTERN = r"^[+-]?[0-9]{1,15}(\.[0-9]{1,15})? *UNIT$"
"""How a quantity is written; UNIT stands for the alternatives."""

_NUMBER = re.compile(r"([+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?) *")


@lru_cache(maxsize=1024)
def split(text: str) -> tuple[Fraction, str] | None:
    """The number and the unit of a quantity, exactly; None where the text does not start with a number."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    return Fraction(found.group(1)), text[found.end() :].strip()


def written(value: float, units: Mapping[str, Fraction]) -> str:
    """The quantity for a reader: `800 MB/s`, `64 KiB`.

    A size is exact, in the largest unit that leaves an integer; others keep four digits in the largest
    decimal unit that leaves at least one.
    """
    exact = Fraction(str(value))
    if units is SIZE:
        fitting = [name for name, factor in units.items() if exact % factor == 0]
    else:
        fitting = [name for name, factor in units.items() if exact >= factor and "iB/" not in name]
    unit = fitting[-1] if fitting else next(iter(units))
    number = float(exact / units[unit])
    return f"{number:,.0f} {unit}" if number.is_integer() else f"{number:.4g} {unit}"
