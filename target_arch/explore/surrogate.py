"""Points that are expected to be good, by those that were evaluated: regression by Gaussian processes
(Rasmussen and Williams, 2006, chapter 2) over the places of values.

Formulas are known without an evaluation; measures are regressed, as logarithms, and so is whether a point is
good.

Tests: `tests/explore/test_surrogate.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from target_arch.explore.exploration import Exploration
from target_arch.explore.front import Goals, front, hypervolume
from target_arch.explore.measures import measure
from target_arch.explore.outcome import Status
from target_arch.explore.space import Point, Space

Floats = NDArray[np.float64]

MOST = 400
"""The most points that a regression is made from: the front, and others evenly."""
_WEIGHED = 48
"""The most points whose volumes are compared."""
_LENGTHS = (0.3, 0.6, 1.2, 2.4)
"""Distances over which values are alike, of which the likeliest is taken; a variation is one long."""
_NOISE = 1e-4
_WORSE = 1.1
"""How much worse than all points the corner is from which volumes are counted, as a factor."""
_LEAST = 1e-30
"""What a value of zero counts as."""
_DIGITS = 6
"""Digits of an expected value: the last ones depend on the machine."""


def promising(made: Exploration, able: Sequence[Point], count: int) -> list[Point]:
    """At most so many of these points, those first by which the front may gain the most volume: each value is
    the expected one less its deviation, and points that are chosen count as if that were so.
    """
    known, likely = dict(made.good), _likely(made, able)
    if not likely:
        return []
    hoped = _hoped(made, likely)
    expected = {point: hoped[point] for point in _evenly(front(hoped), _WEIGHED)}
    worst = tuple(max(column) * _WORSE for column in zip(*known.values(), *expected.values(), strict=True))
    chosen: list[Point] = []
    kept = [known[point] for point in _evenly(made.front, _WEIGHED)]
    while expected and len(chosen) < count:
        gains = {point: hypervolume([*kept, goals], worst) for point, goals in expected.items()}
        best = max(gains, key=lambda point: gains[point])
        chosen.append(best)
        kept.append(expected.pop(best))
    return chosen


def _hoped(made: Exploration, points: Sequence[Point]) -> dict[Point, Goals]:
    """The goals of points: formulas, and the expected measures less their deviation."""
    space = made.space
    columns = [_column(made, name, place, points) for place, name in enumerate(space.minimize)]
    rows = zip(points, zip(*columns, strict=True), strict=True)
    return {point: tuple(goals) for point, goals in rows if None not in goals}


def _column(made: Exploration, name: str, place: int, points: Sequence[Point]) -> list[float | None]:
    space = made.space
    if measure(name, [model.name for model in space.models]) is None:
        return [made.value(point, name) for point in points]
    given = _observed(made, place)
    mean, deviation = _regressed(space, given, points)
    return [float(f"{value:.{_DIGITS}g}") for value in np.exp(mean - deviation)]


def _observed(made: Exploration, place: int) -> dict[Point, float]:
    """The logarithms of a goal at good points."""
    used = _used(made, list(made.good))
    return {point: math.log(max(made.good[point][place], _LEAST)) for point in used}


def _likely(made: Exploration, points: Sequence[Point]) -> list[Point]:
    """The points that are expected to be good."""
    if not made.good:
        return []
    known = [point for point, outcome in made.outcomes.items() if outcome.status is not Status.DOMINATED]
    if len(known) == len(made.good) or not points:
        return [*points]
    given = {point: float(point in made.good) for point in _used(made, known)}
    mean, _ = _regressed(made.space, given, points)
    return [point for point, expected in zip(points, mean, strict=True) if expected >= 0.5]


def _used(made: Exploration, points: Sequence[Point]) -> list[Point]:
    """The points of the front, and others evenly."""
    best = set(made.front)
    return [*made.front, *_evenly([point for point in points if point not in best], MOST)][:MOST]


def _evenly(points: Sequence[Point], most: int) -> list[Point]:
    """The points, or so many of them evenly."""
    count = len(points)
    return [points[number * count // most] for number in range(most)] if count > most else [*points]


def _regressed(space: Space, given: Mapping[Point, float], points: Sequence[Point]) -> tuple[Floats, Floats]:
    """The expected values of points, and their deviations."""
    there, wanted = _places(space, given), _places(space, points)
    values = np.array(list(given.values()))
    middle, scale = float(values.mean()), float(values.std()) or 1.0
    values = (values - middle) / scale
    apart, across = _distances(there, there), _distances(wanted, there)
    best = max((_Fit.of(apart, values, length) for length in _LENGTHS), key=lambda fit: fit.likelihood)
    mean, deviation = best.at(across)
    return mean * scale + middle, deviation * scale


@frozen(eq=False)
class _Fit:
    """A regression with one length: the factor of the covariances, and the weights of the points."""

    length: float
    factor: Floats
    weights: Floats
    likelihood: float

    @classmethod
    def of(cls, apart: Floats, values: Floats, length: float) -> "_Fit":
        alike = _alike(apart, length) + _NOISE * np.eye(len(values))
        factor = np.linalg.cholesky(alike).astype(np.float64)
        weights = np.linalg.solve(factor.T, np.linalg.solve(factor, values)).astype(np.float64)
        likelihood = -0.5 * float(values @ weights) - float(np.log(np.diag(factor)).sum())
        return cls(length, factor, weights, likelihood)

    def at(self, across: Floats) -> tuple[Floats, Floats]:
        """The expected values, and their deviations."""
        alike = _alike(across, self.length)
        explained = np.linalg.solve(self.factor, alike.T)
        left = np.maximum(0.0, 1.0 - (explained**2).sum(axis=0))
        return alike @ self.weights, np.sqrt(left)


def _alike(distances: Floats, length: float) -> Floats:
    """The covariances at these distances: Matern's, of once differentiable functions."""
    scaled = np.sqrt(3) * distances / length
    found: Floats = (1 + scaled) * np.exp(-scaled)
    return found


def _distances(one: Floats, other: Floats) -> Floats:
    squares = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    found: Floats = np.sqrt(squares)
    return found


def _places(space: Space, points: Iterable[Point]) -> Floats:
    """Points in a cube: the place of an ordered value among its kind, and an axis for every other one."""
    axes: list[list[float]] = []
    columns = list(zip(*points, strict=True))
    for variation, column in zip(space.variations, columns, strict=True):
        count = len(variation.settings)
        if any(isinstance(each.number, str) for each in variation.settings):
            axes += [[float(value == other) for value in column] for other in range(count)]
        else:
            axes.append([value / max(1, count - 1) for value in column])
    return np.array(axes).T
