"""The choice of a division: by simulated runs of it, and never slower than undivided.

The first divisions tried divide everything that takes a share of the run in one way. From the best of them,
operator by operator, the one that takes longest first, others are tried, and what makes the run shorter
stays. Every try is a run of the whole model; there are `TRIES` of them, fewer for long models.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import define, field

from target_arch.plan.division import Cut, Division
from target_arch.soc.model import SoC
from target_arch.stages.division.shares import PIECES, Divisible, alike, cuts

TRIES = 64
"""The most divisions that are tried."""
WORK = 6_000
"""The most operators in all divisions that are tried together."""
LEAST = 0.004
"""The share of the run that an operator takes at least, if it is divided."""
GAIN = 0.001
"""The share of the run that a change must save."""

Run = Callable[[Division], float | None]
"""The seconds of a simulated run of a division; None where an instance does not take its share."""


@define(eq=False, slots=False)
class DivisionSearch:
    """A search for the division with the shortest run. `ranked` are the divisions that are faster than the
    model undivided, the fastest first.
    """

    soc: SoC
    able: Mapping[str, Divisible]
    run: Run
    undivided: float
    left: int
    best: float = field(init=False)
    division: dict[str, Cut] = field(init=False, factory=dict)
    ranked: list[tuple[float, dict[str, Cut]]] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self.best = self.undivided
        floor = self.undivided * LEAST
        worth = [each for each in self.able.values() if each.seconds[each.instance] >= floor]
        self._worth = sorted(worth, key=lambda each: -each.seconds[each.instance])

    def search(self) -> None:
        """Try divisions until none is left."""
        for division in self._alike():
            self._try(division)
        while self.left > 0 and self._improved():
            pass

    def _improved(self) -> bool:
        """Whether a pass over the operators made the run shorter."""
        before = self.best
        for each in self._worth:
            for division in self._changed(each):
                self._try(division)
        return self.best < before * (1 - GAIN)

    def _try(self, division: dict[str, Cut]) -> None:
        if self.left <= 0 or division == self.division:
            return
        self.left -= 1
        seconds = self.run(division)
        if seconds is not None and seconds < self.best * (1 - GAIN):
            self.best, self.division = seconds, division
            self.ranked.insert(0, (seconds, division))

    def _alike(self) -> Iterator[dict[str, Cut]]:
        """Divisions of all operators in one way."""
        for pieces in PIECES:
            yield self._of(partial(self._spread, pieces))
        yield self._of(lambda each: each.spread(each.able[:2]) if len(each.able) > 1 else each.pieces(2))
        for pieces in PIECES:
            yield self._of(partial(Divisible.pieces, count=pieces))
        yield self._of(lambda each: each.spread(each.able) if len(each.able) > 1 else each.pieces(4))

    def _spread(self, pieces: int, each: Divisible) -> Cut | None:
        """Among instances alike, or where there is one, in pieces."""
        group = [name for name in alike(self.soc, each.instance) if name in each.seconds]
        return each.spread(group, max(pieces // len(group), 1)) if len(group) > 1 else each.pieces(pieces)

    def _of(self, way: Callable[[Divisible], Cut | None]) -> dict[str, Cut]:
        found = {each.operator.id: way(each) for each in self._worth}
        return {id: cut for id, cut in found.items() if cut is not None}

    def _changed(self, each: Divisible) -> Iterator[dict[str, Cut]]:
        """The best division so far with other shares of one operator."""
        id = each.operator.id
        for cut in cuts(each, self.soc):
            if self.division.get(id) != cut:
                yield {**self.division, id: cut}
        if id in self.division:
            yield {name: cut for name, cut in self.division.items() if name != id}


def tries(operators: int) -> int:
    """How many divisions of a model with so many operators are tried."""
    return min(TRIES, WORK // max(operators, 1))
