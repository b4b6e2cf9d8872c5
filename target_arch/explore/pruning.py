"""Points that need no compilation: a better one is known, whatever their plans would be.

The goals but one are formulas, which are known at once, and that one is a latency, of which a lower bound
costs little. Tests: `tests/explore/test_pruning.py`.
"""

from collections.abc import Mapping

from attrs import frozen

from target_arch.explore.evaluate import KnownBetter
from target_arch.explore.exploration import Exploration
from target_arch.explore.front import Goals
from target_arch.explore.measures import LATENCY, measure
from target_arch.explore.space import Point


@frozen(kw_only=True)
class Pruning:
    """The front so far. `place` is the place of the latency among the goals, `models` are those that it is
    of.
    """

    made: Exploration
    front: Mapping[Point, Goals]
    place: int
    models: tuple[str, ...]

    @classmethod
    def of(cls, made: Exploration) -> "Pruning | None":
        """By these outcomes; None where another goal than one latency needs a compilation."""
        names = tuple(model.name for model in made.space.models)
        known = [(place, measure(name, names)) for place, name in enumerate(made.space.minimize)]
        compiled = [(place, each) for place, each in known if each is not None]
        if len(compiled) != 1 or compiled[0][1].what != LATENCY:
            return None
        place, latency = compiled[0]
        front = {point: made.good[point] for point in made.front}
        return cls(made=made, front=front, place=place, models=(latency.model,) if latency.model else names)

    def better(self, point: Point) -> KnownBetter | None:
        """The point of the front with the shortest runs of those that are as good in all formulas; None where
        there is none.
        """
        own = self._formulas(point)
        if own is None:
            return None
        options = []
        for other, goals in self.front.items():
            theirs = (*goals[: self.place], *goals[self.place + 1 :])
            if all(a <= b for a, b in zip(theirs, own, strict=True)):
                options.append((goals[self.place], theirs == own, self.made.space.number(other)))
        if not options:
            return None
        latency, equal, number = min(options)
        return KnownBetter(point=number, models=self.models, latency=latency, strictly=not equal)

    def _formulas(self, point: Point) -> Goals | None:
        names = self.made.space.minimize
        values = [self.made.value(point, name) for place, name in enumerate(names) if place != self.place]
        known = tuple(value for value in values if value is not None)
        return known if len(known) == len(values) else None
