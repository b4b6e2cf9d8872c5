"""Searches: nothing is computed twice, and order and number of workers change nothing."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.search import SpaceSearch
from target_arch.explore.space_file import parse_space
from target_arch.explore.store import Store
from tests.explore.in_process import InProcess, by_size
from tests.explore.spaces import ALONE, ZYNQ, space

EVERY = space(ZYNQ.replace('where = ["tcm <= sram"]\n', ""))


def test_the_order_of_answers_changes_nothing() -> None:
    made = [
        SpaceSearch(EVERY, InProcess(by_size, mixed), "p").whole(seed)
        for mixed, seed in ((1, 0), (5, 1), (12, 2))
    ]
    assert len(made[0].outcomes) == 12
    assert made[0].front
    assert all(list(each.outcomes.items()) == list(made[0].outcomes.items()) for each in made)
    assert len({each.front for each in made}) == 1


def test_a_run_goes_on_where_another_one_ended(tmp_path: Path) -> None:
    first = InProcess(by_size)
    interrupted = SpaceSearch(EVERY, first, "p", Store(tmp_path / "x"))

    def stop(done: int, every: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    interrupted.said = stop
    with pytest.raises(KeyboardInterrupt):
        interrupted.whole()
    second = InProcess(by_size)
    made = SpaceSearch(EVERY, second, "p", Store(tmp_path / "x"))
    assert made.whole() == SpaceSearch(EVERY, InProcess(by_size), "p").whole()
    assert (len(first.asked), len(second.asked), made.computed) == (5, 7, 7)
    third = InProcess(by_size)
    assert SpaceSearch(EVERY, third, "p", Store(tmp_path / "x")).whole() == made.exploration()
    assert (third.asked, third.checked) == ([], 0)


def test_another_program_has_other_outcomes(tmp_path: Path) -> None:
    for program in ("one", "other"):
        workers = InProcess(by_size)
        SpaceSearch(EVERY, workers, program, Store(tmp_path / "x")).whole()
        assert len(workers.asked) == 12


def test_points_of_one_content_are_computed_once() -> None:
    text = ZYNQ.replace('"copy[2].bandwidth", "copy[3].bandwidth"', '"memory.sram.cache_line"')
    text = text.replace('"100 MB/s", "400 MB/s"', "32, 64").replace('"target_arch.dsp_cpu.clock" = "bus"', "")
    same = space(text.replace('"32 KiB"', '"1 B"').replace('"128 KiB"', '"4 B"'))
    again = InProcess(by_size)
    made = SpaceSearch(same, again, "p").whole()
    assert len(again.asked) == len({task.chip.text for task in again.asked})
    assert set(made.outcomes) == set(same.points())


def test_points_with_which_processes_ended_are_tried_again(tmp_path: Path) -> None:
    ended = PointOutcome(status=Status.CRASHED, rule="process-ended", reason="3 processes ended")
    first = SpaceSearch(EVERY, InProcess(lambda _: ended), "p", Store(tmp_path / "x")).whole()
    assert list(first.outcomes.values()) == [ended] * 12
    again = SpaceSearch(EVERY, InProcess(by_size), "p", Store(tmp_path / "x")).whole()
    assert again.outcomes == SpaceSearch(EVERY, InProcess(by_size), "p").whole().outcomes


def test_a_tie_without_a_value_is_no_chip() -> None:
    made = SpaceSearch(
        space(ZYNQ.replace('= "bus"', '= "bus / (sram - sram)"')), InProcess(by_size), "p"
    ).whole()
    assert {(each.rule, str(each.status)) for each in made.outcomes.values()} == {("bad-formula", "no chip")}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "tcm <= sram",
            "tcm > 1000 * sram",
            "chips: error: `where` leaves out all 12 points [empty-space]\n"
            "hint: `tcm > 1000 * sram` alone leaves 0",
        ),
        (
            "tcm <= sram",
            'tcm > 3 * sram", "bus < 0.5 * tcm * 1000',
            "chips: error: `where` leaves out all 12 points [empty-space]\n"
            "hint: `tcm > 3 * sram` alone leaves 6, `bus < 0.5 * tcm * 1000` alone leaves 0",
        ),
        (
            "tcm <= sram",
            "tcm / (sram - sram) > 1",
            "chips: error: `tcm / (sram - sram) > 1` has no value here: division by zero [bad-formula]",
        ),
    ],
)
def test_what_cannot_be_searched(before: str, after: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        SpaceSearch(space(ZYNQ.replace(before, after)), InProcess(by_size), "p").whole()
    assert str(caught.value) == said


def test_a_space_without_its_only_point() -> None:
    one = space(f'where = "1 > 2"\n{ALONE}')
    with pytest.raises(DiagnosticError) as caught:
        SpaceSearch(one, InProcess(by_size), "p").whole()
    assert str(caught.value) == (
        "chips: error: `where` leaves out the only point [empty-space]\nhint: `1 > 2` alone leaves 0"
    )


def test_a_space_that_is_too_large() -> None:
    sizes = ", ".join(f'"{each} KiB"' for each in range(1, 301))
    text = ZYNQ.replace('"1 KiB", "64 KiB"', sizes).replace(
        '"128 KiB"\nfactor = 2', '"999 KiB"\nstep = "1 KiB"'
    )
    with pytest.raises(DiagnosticError) as caught:
        SpaceSearch(space(text), InProcess(by_size), "p").whole()
    assert str(caught.value) == (
        "chips: error: the space has 580,800 points, and at most 200,000 are evaluated one by one "
        "[large-space]\n"
        "hint: let fewer values vary"
    )


def test_points_of_equal_content_have_an_outcome_each(tmp_path: Path) -> None:
    """Two files of one model: half of the points is computed."""
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"the same")
    text = ZYNQ.replace('"digits_int8.onnx"', '["a.onnx", "b.onnx"]')
    made = parse_space(text, "chips.toml", tmp_path)
    for mixed in (1, 5):
        workers = InProcess(by_size, mixed)
        outcomes = SpaceSearch(made, workers, "p").whole().outcomes
        assert set(outcomes) == set(made.points())
        assert len(workers.asked) == len(outcomes) // 2
