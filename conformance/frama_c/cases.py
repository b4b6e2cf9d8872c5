"""Cases that Eva is told to look at one by one, where it keeps what belongs together apart.

Each is a case of all, or the annotation that says so is proved with the rest: nothing is taken for granted.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

GREATEST = """static void greatest_at(int8_t *x, int rows, int count, int greatest, int at)
{
    for (int row = 0; row < rows; ++row, x += count) {
        for (int k = 0; k < count; ++k) { x[k] = (int8_t)Frama_C_interval(-128, greatest); }
        x[at] = (int8_t)greatest;
    }
}
"""
"""Rows of any values, of which the one in that place is the greatest."""
_SQUARES = re.compile(r"^ *total = total \+ \(\(int32_t\)(?P<of>x0\[[^]]*\]) \+ (?P<zero>\d+)\) \*.*;$", re.M)
_PAIRS = re.compile(r"^ *const int64_t pairs = .*;$", re.M)


def greatest_in_each_place(count: int, rows: int, called: str) -> Iterator[str]:
    """Calls of a softmax, which looks its table up at the greatest value of a row less each of them. Eva does
    not see that this is not below 0, unless it knows which one is the greatest: each place and value, of all
    rows at once, as a row's results depend on that row alone. One after the other and not in loops, of which
    Eva would keep all turns until the last.
    """
    for greatest in range(-128, 128):
        for at in range(count):
            yield f"    greatest_at(p0, {rows}, {count}, {greatest}, {at}); {called}"


def numbers(name: str, count: int) -> str:
    """Every number of an array of floats. Those that are none are left out where floats become integers: Eva
    25 believes that a comparison with one of them may be true, and so that it passes any clamp.
    """
    return (
        f"    for (int k = 0; k < {count}; ++k)"
        f" {{ const float v = {name}[k]; {name}[k] = v == v ? v : 0.0f; }}"
    )


def with_bands(text: str) -> str:
    """Kernels in which a sum of squares has bands, each of which is shifted by another number: Eva sees the
    square of a number that is negative or not, and the sums of each band, and so that a product with what is
    left fits 64 bits.
    """
    text = _SQUARES.sub(_with_signs, text)
    return _PAIRS.sub(_with_ends, text)


def _with_signs(found: re.Match[str]) -> str:
    split = f"{found['of']} < -{found['zero']} || {found['of']} >= -{found['zero']}"
    return f"/*@ slevel 1000; */\n/*@ assert {split}; */\n{found[0]}\n/*@ slevel merge; */\n;"


def _with_ends(found: re.Match[str]) -> str:
    ends = re.findall(r"\((\d+) <= total\)", found[0])
    bands = [f"{low} <= total < {high}" for low, high in pairwise(ends)]
    split = " || ".join((f"total < {ends[0]}", *bands, f"{ends[-1]} <= total"))
    return f"/*@ slevel 1000; */\n/*@ assert {split}; */\n{found[0]}"
