"""The choice of a division: by simulated runs of it, and never slower than undivided.

The first divisions tried divide everything that takes a share of the run in one way. From the best ones
(`STARTS`), operator by operator, the one that takes longest first, others are tried, and what makes the run
shorter stays. A change that was in vain is not tried at operators alike. Every try is a run of the whole
model; there are `TRIES` from a start, fewer for long models.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest

from attrs import define, field

from target_arch.plan.division import Cut, Division
from target_arch.soc.model import SoC
from target_arch.stages.division.shares import PIECES, Divisible, alike, cuts, line

TRIES = 64
"""The most divisions that are tried from one start."""
WORK = 6_000
"""The most operators in all divisions that are tried together."""
STARTS = 2
"""From how many divisions of everything in one way others are tried."""
LEAST = 0.004
"""The share of the run that an operator takes at least, if it is divided."""
GAIN = 0.001
"""The share of the run that a change must save."""

Run = Callable[[Division], float | None]
"""The seconds of a simulated run of a division; None where an instance does not take its share."""

_Change = tuple[object, ...]
"""What an operator is like, and its shares before and after."""


@define(eq=False, slots=False)
class DivisionSearch:
    """A search for the division with the shortest run, over the operators that are worth it."""

    soc: SoC
    able: Mapping[str, Divisible]
    run: Run
    undivided: float
    """The seconds of the run that a division has to beat; infinite where the model does not fit undivided."""
    least: float
    """The seconds that an operator takes at least, if it is divided and need not be."""
    tries: int
    """The most divisions that are tried from one start."""

    def __attrs_post_init__(self) -> None:
        able = self.able.values()
        worth = [each for each in able if each.most or each.seconds[each.instance] >= self.least]
        self.worth = sorted(worth, key=lambda each: -each.seconds[each.instance])
        """The operators that are divided, the one that takes longest first."""

    def search(self) -> list[Division]:
        """The divisions that are faster than the model undivided: in turn the fastest from each start, then
        the next ones.
        """
        first = self._descent(self.undivided, {}, self.tries)
        for division in self.alike():
            first.attempt(division)
        descents = [self._descent(*start, first.left) for start in reversed(first.steps[-STARTS:])] or [first]
        for descent in descents:
            while descent.left > 0 and self._improved(descent):
                pass
        turns = zip_longest(*(reversed(descent.steps) for descent in descents))
        return [step[1] for turn in turns for step in turn if step is not None]

    def _descent(self, seconds: float, division: Division, left: int) -> "_Descent":
        """A descent from a division, whose first step it is."""
        steps = [(seconds, division)] if division else []
        return _Descent(run=self.run, seconds=seconds, division=division, left=left, steps=steps)

    def _improved(self, descent: "_Descent") -> bool:
        """Whether a pass over the operators made the run shorter."""
        before, vain = descent.seconds, set[_Change]()
        for each in self.worth:
            for division in changed(descent.division, each, self.soc):
                change = _change(each, descent.division, division)
                if change not in vain and not descent.attempt(division):
                    vain.add(change)
        return descent.seconds < before * (1 - GAIN)

    def alike(self) -> Iterator[dict[str, Cut]]:
        """Divisions of all operators in one way."""
        for pieces in PIECES:
            yield self._of(partial(self._spread, pieces))
        yield self._of(lambda each: each.spread(each.able[:2]) if len(each.able) > 1 else each.pieces(2))
        for pieces in PIECES:
            yield self._of(partial(Divisible.pieces, count=pieces))
        yield self._of(lambda each: each.spread(each.able) if len(each.able) > 1 else each.pieces(4))
        if line(self.soc):
            short = [each for each in self.able.values() if _is_shorter(each)]
            yield self._of(lambda each: each.spread(each.able), short)

    def _spread(self, pieces: int, each: Divisible) -> Cut | None:
        """Among instances alike, or where there is one, in pieces."""
        group = [name for name in alike(self.soc, each.instance) if name in each.seconds]
        return each.spread(group, max(pieces // len(group), 1)) if len(group) > 1 else each.pieces(pieces)

    def _of(
        self, way: Callable[[Divisible], Cut | None], able: Sequence[Divisible] | None = None
    ) -> dict[str, Cut]:
        """These operators divided in one way; without any, those that are worth it."""
        found = {each.operator.id: way(each) for each in (self.worth if able is None else able)}
        return {id: cut for id, cut in found.items() if cut is not None}


def _is_shorter(each: Divisible) -> bool:
    """Whether shares take less than the whole by more than it takes to wake an instance: what reads rows of a
    divided operator is divided, too, however short it is, or would fetch them from another core's cache.
    """
    times = [each.seconds[name] for name in each.able]
    return len(times) > 1 and times[0] > 2 * len(times) * (times[-1] - times[0])


@define(kw_only=True)
class _Descent:
    """The fastest division so far, while `left` more may be tried. `steps` are the divisions that were faster
    than all before, each with the seconds of its run.
    """

    run: Run
    seconds: float
    division: Division
    left: int
    steps: list[tuple[float, Division]] = field(factory=list)

    def attempt(self, division: Division) -> bool:
        """Go on from this division, if it is faster; whether it is."""
        if self.left <= 0 or division == self.division:
            return False
        self.left -= 1
        seconds = self.run(division)
        if seconds is None or seconds >= self.seconds * (1 - GAIN):
            return False
        self.seconds, self.division = seconds, division
        self.steps.append((seconds, division))
        return True


def changed(division: Division, each: Divisible, soc: SoC) -> Iterator[Division]:
    """The division with other shares of one operator, and with it whole where it is divided."""
    id = each.operator.id
    for cut in cuts(each, soc):
        if division.get(id) != cut:
            yield {**division, id: cut}
    if id in division:
        yield {name: cut for name, cut in division.items() if name != id}


def _change(each: Divisible, before: Division, after: Division) -> _Change:
    """The change of an operator's shares, the same for all operators that are as long on every instance."""
    kind, seconds = each.operator.kind, tuple(sorted(each.seconds.items()))
    alike = (kind, each.axis, each.extent, each.unit, each.instance, seconds)
    cuts = (before.get(each.operator.id), after.get(each.operator.id))
    return (*alike, *(None if cut is None else (cut.axis, cut.shares) for cut in cuts))


def tries(operators: int) -> int:
    """How many divisions of a model with so many operators are tried."""
    return min(TRIES, WORK // max(operators, 1))
