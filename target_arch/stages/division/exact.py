"""The division with the shortest run to expect, proved over all divisions that the search chooses from.

Every operator that is worth it is whole, or divided in one of the ways of `shares.cuts`. Divisions are gone
through operator by operator, the one that takes longest first. Those with the same first choices are left out
together where no run of them can be shorter than the shortest so far: no instance has less to do than its
shares of the costs of whole operators, all together have no less than that, and on a path of data no operator
takes less than its shortest slice.

Times are whole picoseconds, rounded down. Tests: `tests/stages/division/test_exact.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod

from attrs import frozen

from target_arch.plan.division import UNDIVIDED, Cut, Division, DivisionProof
from target_arch.plan.model import Operator
from target_arch.soc.model import SoC
from target_arch.stages.division.search import Run
from target_arch.stages.division.shares import Divisible, cuts
from target_arch.stages.paths.routes import PICO

MOST = 20_000
"""The most divisions that are gone through."""
_ROUNDING = 1_000
"""Picoseconds by which no run is called shorter: more than is rounded in a model of so few divisions."""


@frozen(kw_only=True)
class _Way:
    """An operator whole, or in one of its cuts: what each instance spends on it at least, and its shortest
    slice.
    """

    cut: Cut | None
    loads: Mapping[str, int]
    shortest: int


class ExactDivision:
    """The search, over ways to divide the operators that are `worth` it, of the `able` ones in the `order` of
    the model. The shortest known run takes `seconds`, with the division `best`.
    """

    def __init__(
        self,
        soc: SoC,
        order: Sequence[Operator],
        able: Mapping[str, Divisible],
        worth: Sequence[Divisible],
        run: Run,
    ) -> None:
        self._run, self._order = run, order
        self._ways = [(each.operator.id, tuple(_ways(each, soc))) for each in worth]
        self._loads = dict.fromkeys((each.name for each in soc.instances), 0)
        self._shortest = {id: min(way.shortest for way in ways) for id, ways in self._ways}
        for id in able.keys() - self._shortest.keys():
            self._shortest[id] = _pico(able[id].seconds[able[id].instance])
            self._loads[able[id].instance] += self._shortest[id]
        least = [min(sum(way.loads.values()) for way in ways) for _, ways in self._ways]
        self._left = [sum(least[number:]) for number in range(len(least) + 1)]
        self._asked = 0
        self.seconds, self.best = inf, UNDIVIDED

    @property
    def divisions(self) -> int:
        """How many there are; where no operator has to be divided, the model undivided is one of them."""
        return prod(len(ways) for _, ways in self._ways)

    def proof(self, seconds: float, best: Division) -> DivisionProof:
        """The proof about the shortest run, after another search found one of so many seconds."""
        self.seconds, self.best, self._asked = seconds, best, 0
        proven = self.divisions <= MOST
        if proven:
            self._from(0, {})
        return DivisionProof(
            divisions=self.divisions, proven=proven, asked=self._asked, run=self.seconds, most=MOST
        )

    def _from(self, number: int, division: Division) -> None:
        """All divisions that have these choices of the first operators."""
        if self._bound(number) >= self.seconds * PICO - _ROUNDING:
            return
        if number == len(self._ways):
            self._ask(division)
            return
        id, ways = self._ways[number]
        before = self._shortest[id]
        for way in ways:
            self._spend(way, 1)
            self._shortest[id] = way.shortest
            self._from(number + 1, division if way.cut is None else {**division, id: way.cut})
            self._spend(way, -1)
        self._shortest[id] = before

    def _ask(self, division: Division) -> None:
        self._asked += 1
        seconds = self._run(division)
        if seconds is not None and seconds < self.seconds:
            self.seconds, self.best = seconds, division

    def _spend(self, way: _Way, sign: int) -> None:
        for name, time in way.loads.items():
            self._loads[name] += sign * time

    def _bound(self, number: int) -> int:
        """The picoseconds that no run takes less than, with these choices of the first operators."""
        busy = self._loads.values()
        together = (sum(busy) + self._left[number]) // len(busy)
        return max(*busy, together, self._longest_path())

    def _longest_path(self) -> int:
        ends: dict[str, int] = {}
        for each in self._order:
            before = max((ends.get(name, 0) for name in each.inputs), default=0)
            ends[each.output] = before + self._shortest.get(each.id, 0)
        return max(ends.values(), default=0)


def _ways(each: Divisible, soc: SoC) -> Iterator[_Way]:
    """The operator whole, where an instance has room for that, then its cuts."""
    if not each.most:
        whole = _pico(each.seconds[each.instance])
        yield _Way(cut=None, loads={each.instance: whole}, shortest=whole)
    for cut in cuts(each, soc):
        loads: dict[str, int] = {}
        extent = each.along(cut.axis).extent
        spent = [_pico(each.seconds[one.instance] * len(one.places) / extent) for one in cut.shares]
        for share, time in zip(cut.shares, spent, strict=True):
            loads[share.instance] = loads.get(share.instance, 0) + time
        yield _Way(cut=cut, loads=loads, shortest=min(spent))


def _pico(seconds: float) -> int:
    """Whole picoseconds, no more than a step that is rounded takes."""
    return max(int(seconds * PICO) - 1, 0)
