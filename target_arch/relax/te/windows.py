"""Windows in TE: where the elements under a kernel are, and whether they are there."""

from collections.abc import Sequence
from typing import Any

from tvm import tirx

from target_arch.plan.operators.window import Window


def under(windows: Sequence[Window], places: Sequence[Any], taps: Sequence[Any]) -> tuple[Any, ...]:
    """The position, along each axis, of an element of the kernel at a place of the output."""
    return tuple(window.at(*at) for window, *at in zip(windows, places, taps, strict=True))


def all_inside(windows: Sequence[Window], positions: Sequence[Any]) -> Any:
    """The condition for positions to be in the image; None if it always holds."""
    tests = [test for window, at in zip(windows, positions, strict=True) for test in window.inside(at)]
    return tirx.all(*tests) if tests else None


def reaching(windows: Sequence[Window], places: Sequence[Any], taps: Sequence[Any]) -> tuple[Any, Any]:
    """The other way round: the positions of the windows that have a place under an element of the kernel, and
    the condition for there to be such ones.
    """
    spread = [
        place + window.before - tap * window.dilation
        for window, place, tap in zip(windows, places, taps, strict=True)
    ]
    found = tuple(tirx.floordiv(at, window.stride) for window, at in zip(windows, spread, strict=True))
    tests = [
        test
        for window, at, position in zip(windows, spread, found, strict=True)
        for test in (position >= 0, position < window.out, tirx.EQ(position * window.stride, at))
    ]
    return found, tirx.all(*tests)
