"""Windows over images, as Relax's calls state them: an image without an axis of rows has one row."""

from functools import reduce
from operator import or_
from typing import Any

from tvm.relax.dpl import is_op

from target_arch.relax.patterns.matcher import NCHW, NHWC

LAYOUTS = {NCHW: NCHW, NHWC: NHWC, "NCW": NCHW, "NWC": NHWC}
"""The layout of an image by the axes of the author's tensor."""


def one_of(names: tuple[str, ...], *operands: Any) -> Any:
    """A pattern for one of these operators: along two axes, or along one."""
    return reduce(or_, (is_op(f"relax.{name}")(*operands) for name in names))


def pair(numbers: Any) -> tuple[int, ...]:
    """(rows, columns) from Relax's two numbers, or the one along columns."""
    found = tuple(int(number) for number in numbers)
    return found if len(found) == 2 else (1, *found)


def sides(padding: Any, axes: str) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) from Relax's one, two or four numbers; no more than two without rows."""
    numbers = tuple(int(number) for number in padding)
    if "H" not in axes:
        return 0, numbers[0], 0, numbers[-1]
    if len(numbers) == 4:
        return numbers[0], numbers[1], numbers[2], numbers[3]
    top, left = (numbers * 2)[:2]
    return top, left, top, left
