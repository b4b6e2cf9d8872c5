"""Points that a bound shows to be dominated: the front is the same without them, and they are many."""

import pytest

from target_arch.explore.evaluate import Evaluator, PointTask
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.pruning import Pruning
from target_arch.explore.search import SpaceSearch
from target_arch.registry.plug_ins import PlugIns
from tests.explore.in_process import InProcess, fits
from tests.explore.spaces import ZYNQ, space

MANY = ZYNQ.replace('where = ["tcm <= sram"]', "").replace(
    '"1 KiB", "64 KiB"', '"8 KiB", "64 KiB", "128 KiB"'
)
MANY = MANY.replace('"128 KiB"\nfactor = 2', '"512 KiB"\nstep = "16 KiB"')


def latency(task: PointTask) -> float:
    """Faster with more TCM, up to a point."""
    words = task.chip.shown.replace(",", "").split()
    tcm, bus = int(words[words.index("tcm") + 2]), int(words[words.index("bus") + 2])
    return 1e-3 * (1 + 40 / min(tcm, 96)) * (1 + 50 / bus)


def bounded(task: PointTask) -> PointOutcome:
    """The latency, or that the point is dominated by a bound that is a tenth below."""
    if task.known is not None and task.known.dominates(0.9 * latency(task)):
        return PointOutcome(status=Status.DOMINATED, rule="dominated", bound=0.9 * latency(task))
    return fits(latency(task))


def test_the_front_is_the_same() -> None:
    whole = SpaceSearch(space(MANY), InProcess(bounded), "p").whole()
    for seed in (0, 1, 2):
        first, other = (
            SpaceSearch(space(MANY), InProcess(bounded, mixed), "p").whole(seed, prune=True)
            for mixed in (1, 7)
        )
        assert first.outcomes == other.outcomes
        assert first.front == whole.front
        assert {p: first.goals(p) for p in first.front} == {p: whole.goals(p) for p in whole.front}
        dominated = [p for p, outcome in first.outcomes.items() if outcome.status is Status.DOMINATED]
        assert len(dominated) > len(whole.outcomes) / 5
        assert not set(dominated) & set(whole.front)


def test_the_known_point() -> None:
    chips = space(MANY)
    made = SpaceSearch(chips, InProcess(bounded), "p").whole()
    pruning = Pruning.of(made)
    assert pruning is not None
    cheap, dear = (0, 0, 0), (30, 2, 0)
    known = pruning.better(dear)
    assert known is not None
    assert known.strictly
    assert known.latency == min(goals[0] for goals in made.good.values() if goals[1] <= 25)
    assert pruning.better(cheap) is None or not pruning.better(cheap).strictly  # type: ignore[union-attr]
    assert known.dominates(known.latency)
    assert not known.dominates(known.latency * 0.99)


def test_other_goals_need_a_compilation() -> None:
    for goals in (
        '["latency", "bytes.sram"]',
        '["price"]',
        '["bytes.sram"]',
        '["latency", "digits.latency"]',
    ):
        text = MANY.replace('["latency", "price"]', goals)
        assert Pruning.of(SpaceSearch(space(text), InProcess(bounded), "p").exploration()) is None


def test_nothing_that_is_dominated_is_stored() -> None:
    class Kept(dict[str, PointOutcome]):
        def add(self, key: str, outcome: PointOutcome) -> None:
            self[key] = outcome

    kept = Kept()
    made = SpaceSearch(space(MANY), InProcess(bounded), "p", kept).whole(prune=True)
    assert len(kept) < len(made.outcomes)
    assert all(outcome.fits for outcome in kept.values())


@pytest.mark.slow
def test_real_chips() -> None:
    """Of a microcontroller the memory beyond what is needed buys nothing."""
    text = MANY.replace("zynq_edge", "mcu_m7").replace("memory.dsp_tcm.size", "memory.sram.size")
    text = text.replace('"memory.sram.size"\nvalues', '"memory.flash.size"\nvalues')
    text = text.replace('"8 KiB", "64 KiB", "128 KiB"', '"1 MiB", "2 MiB"')
    text = text[: text.index("[vary.bus]")] + (
        '[formulas]\nprice = "0.01 * (memory.sram.size + memory.flash.size / 8) / 1024"\n'
    )
    evaluate = Evaluator(PlugIns.discover(()))
    whole = SpaceSearch(space(text), InProcess(evaluate), "p").whole()
    found = SpaceSearch(space(text), InProcess(evaluate), "p").whole(prune=True)
    assert found.front == whole.front
