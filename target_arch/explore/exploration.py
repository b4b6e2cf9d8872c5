"""The result of an exploration: the outcomes of points, judged by what the space asks for.

Tests: `tests/explore/test_summary.py`.
"""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.explore.formula import FormulaError
from target_arch.explore.front import Goals, front
from target_arch.explore.measures import measure
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.space import Limit, Point, Space


@frozen(kw_only=True)
class Breach:
    """A limit that a point does not keep, with the value there."""

    limit: Limit
    value: float | None

    @property
    def excess(self) -> float:
        """How much more than the limit, as a part of it; infinite where nobody knows the value."""
        if self.value is None or not self.limit.most:
            return float("inf")
        return self.value / self.limit.most - 1


@frozen(kw_only=True, slots=False)
class Exploration:
    """Outcomes of points of a space, in the order of the space."""

    space: Space = field(repr=False)
    outcomes: Mapping[Point, PointOutcome] = field(repr=False)

    def value(self, point: Point, name: str) -> float | None:
        """A measure or formula at a point; None where nobody knows it."""
        known = measure(name, [model.name for model in self.space.models])
        if known is not None:
            outcome = self.outcomes[point]
            return known.of(outcome) if outcome.fits else None
        try:
            return float(self.space.formulas[name].value(self.space.names(point)))
        except (FormulaError, ValueError):
            return None

    def goals(self, point: Point) -> Goals | None:
        """The values of all that is minimized, at a point; None where one is not known."""
        values = [self.value(point, name) for name in self.space.minimize]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(values) else None

    def least(self, point: Point) -> Goals | None:
        """The values that the goals of a dominated point are not below; None of any other."""
        bound = self.outcomes[point].bound
        values = [bound if self._measured(name) else self.value(point, name) for name in self.space.minimize]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(values) else None

    def _measured(self, name: str) -> bool:
        return measure(name, [model.name for model in self.space.models]) is not None

    def breaches(self, point: Point) -> tuple[Breach, ...]:
        """The limits that a point does not keep."""
        values = ((limit, self.value(point, limit.measure)) for limit in self.space.limits)
        return tuple(
            Breach(limit=limit, value=value) for limit, value in values if value is None or value > limit.most
        )

    @cached_property
    def fitting(self) -> tuple[Point, ...]:
        """The points whose models fit."""
        return tuple(point for point, outcome in self.outcomes.items() if outcome.fits)

    @cached_property
    def good(self) -> Mapping[Point, Goals]:
        """The points that fit and keep the limits, with their goals."""
        found = ((point, self.goals(point)) for point in self.fitting if not self.breaches(point))
        return {point: goals for point, goals in found if goals is not None}

    @cached_property
    def front(self) -> tuple[Point, ...]:
        """The good points that no other dominates, by their goals."""
        return front(self.good)
