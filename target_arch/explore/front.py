"""Pareto fronts: the points that no other is at least as good as in everything and better in something.

Tests: `tests/explore/test_front.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Goals = tuple[float, ...]
"""Values that are minimized."""


def dominates(one: Goals, other: Goals) -> bool:
    """Whether the first is nowhere worse and somewhere better."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def front(points: Mapping[T, Goals]) -> tuple[T, ...]:
    """The points that none dominates, by their goals; of points with equal goals, all, in the given order."""
    kept: list[tuple[T, Goals]] = []
    for point, goals in sorted(points.items(), key=lambda item: item[1]):
        if not any(dominates(other, goals) for _, other in kept):
            kept.append((point, goals))
    return tuple(point for point, _ in kept)


def hypervolume(goals: Iterable[Goals], reference: Goals) -> float:
    """The volume that points dominate below a reference that is worse than all of them (Zitzler and Thiele,
    1998), by slices along the last goal.
    """
    inside = sorted({each for each in goals if all(a < b for a, b in zip(each, reference, strict=True))})
    return _volume(inside, reference)


def _volume(goals: Sequence[Goals], reference: Goals) -> float:
    if not goals:
        return 0.0
    if len(reference) == 1:
        return reference[0] - min(each[0] for each in goals)
    cuts = sorted({each[-1] for each in goals})
    total = 0.0
    for low, high in zip(cuts, (*cuts[1:], reference[-1]), strict=True):
        below = [each[:-1] for each in goals if each[-1] <= low]
        total += (high - low) * _volume(below, reference[:-1])
    return total
