"""Searches by samples: the same points for the same seed, and nearly the whole front for a tenth of them."""

import pytest

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


def test_samples_find_nearly_the_whole_front() -> None:
    whole = SpaceSearch(space(MANY), InProcess(curved), "p").whole()
    reference = tuple(max(goals[n] for goals in whole.good.values()) * 1.1 for n in range(2))
    best = hypervolume(whole.good.values(), reference)
    count = len(whole.outcomes) // 4
    found = sampled(SpaceSearch(space(MANY), InProcess(curved), "p"), count)
    assert hypervolume(found.good.values(), reference) >= 0.95 * best
