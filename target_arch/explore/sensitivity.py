"""The effect of one more step of each variation: a point against those that differ from it in one value.

Tests: `tests/explore/test_summary.py`.
"""

from collections.abc import Iterator

from target_arch.explore.exploration import Exploration
from target_arch.explore.outcome import Status
from target_arch.explore.space import Point


def sentences(made: Exploration, point: Point) -> Iterator[str]:
    """For each variation of the space one sentence about the value after that of the point, and one about the
    value before it: `tcm 64 KiB instead of 32 KiB: latency -12.0 %, price +4.0 %`.

    Neighbours that were not evaluated are left out.
    """
    for number, variation in enumerate(made.space.variations):
        here = point[number]
        for there in (here + 1, here - 1):
            other = (*point[:number], there, *point[number + 1 :])
            if 0 <= there < len(variation.settings) and other in made.outcomes:
                values = f"{variation.settings[there].shown} instead of {variation.settings[here].shown}"
                yield f"{variation.name} {values}: {_effect(made, point, other)}"


def _effect(made: Exploration, point: Point, other: Point) -> str:
    """The changes of what is minimized."""
    outcome = made.outcomes[other]
    if outcome.status is not Status.FITS:
        return str(outcome.status)
    changes = []
    for name in made.space.minimize:
        before, after = made.value(point, name), made.value(other, name)
        if before and after is not None and f"{abs(after / before - 1):.1%}" != "0.0%":
            changes.append(f"{name} {after / before - 1:+.1%}".replace("%", " %"))
    limits = ", ".join(breach.limit.measure for breach in made.breaches(other))
    said = ", ".join(changes) or "nothing"
    return f"{said}; misses {limits}" if limits else said
