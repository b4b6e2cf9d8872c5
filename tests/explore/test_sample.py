"""Searches by samples: the same points for the same seed, and nearly the whole front for a tenth of them."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.evaluate import PointTask
from target_arch.explore.front import hypervolume
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.sample import sampled
from target_arch.explore.search import SpaceSearch
from tests.explore.in_process import InProcess, fits
from tests.explore.spaces import ZYNQ, space

pytest.importorskip("optuna", reason="needs optuna: pip install 'target-arch[explore]'")

MANY = ZYNQ.replace('"128 KiB"\nfactor = 2', '"128 KiB"\nstep = "8 KiB"').replace(
    '"1 KiB", "64 KiB"', ", ".join(f'"{each} KiB"' for each in range(8, 136, 8))
)


def curved(task: PointTask) -> PointOutcome:
    """Faster with more TCM, up to a point, and with a bus for each of its bytes."""
    words = task.chip.shown.replace(",", "").split()
    tcm, bus = int(words[words.index("tcm") + 2]), int(words[words.index("bus") + 2])
    sram = int(words[words.index("sram") + 2])
    return fits(1e-3 * (1 + 40 / min(tcm, 96) + 20 / sram) * (1 + 50 / bus), sram=sram)


def test_the_number_of_workers_changes_nothing() -> None:
    one = sampled(SpaceSearch(space(MANY), InProcess(curved), "p"), 40, 3)
    other = sampled(SpaceSearch(space(MANY), InProcess(curved, 7), "p"), 40, 3)
    assert len(one.outcomes) == 40
    assert one.outcomes == other.outcomes
    assert sampled(SpaceSearch(space(MANY), InProcess(curved), "p"), 40, 4).outcomes != one.outcomes


def test_a_small_space_is_sampled_whole() -> None:
    made = sampled(SpaceSearch(space(), InProcess(curved), "p"), 100)
    assert set(made.outcomes) == set(space().points())


@pytest.mark.parametrize("where", ["tcm > 1000 * sram", "tcm / (sram - sram) > 1"])
def test_what_is_wrong_with_a_space_is_what_the_whole_says(where: str) -> None:
    searches = [SpaceSearch(space(MANY.replace("tcm <= sram", where)), InProcess(curved), "p") for _ in "ab"]
    with pytest.raises(DiagnosticError) as whole:
        searches[0].whole()
    with pytest.raises(DiagnosticError) as some:
        sampled(searches[1], 40)
    assert str(some.value) == str(whole.value)


def test_samples_find_nearly_the_whole_front() -> None:
    whole = SpaceSearch(space(MANY), InProcess(curved), "p").whole()
    reference = tuple(max(goals[n] for goals in whole.good.values()) * 1.1 for n in range(2))
    best = hypervolume(whole.good.values(), reference)
    count = len(whole.outcomes) // 10
    for seed in range(3):
        found = sampled(SpaceSearch(space(MANY), InProcess(curved), "p"), count, seed)
        assert hypervolume(found.good.values(), reference) >= 0.95 * best
