"""Worker processes: any number gives the same outcomes, and one that dies costs nothing."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.evaluate import Evaluator
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.process import FORKS
from target_arch.explore.search import SpaceSearch, point_task
from target_arch.explore.workers import LocalWorkers
from target_arch.registry.plug_ins import PlugIns
from tests.explore.spaces import ZYNQ, space

SPACE = space()


@pytest.mark.slow
def test_workers_that_are_killed_lose_no_point() -> None:
    """Whatever is killed when: the outcomes are those of one process."""
    evaluate = Evaluator(PlugIns.discover(()))
    expected = {point: evaluate(point_task(SPACE, point)) for point in SPACE.points()}
    with LocalWorkers[str](2) as workers:
        search = SpaceSearch(SPACE, workers, "p")

        def kill(done: int, every: int) -> None:
            os.kill(workers.processes[done % 2], signal.SIGKILL)

        search.said = kill
        assert search.whole().outcomes == expected
    assert search.computed == len(expected)


@pytest.mark.slow
def test_a_worker_comes_without_pytorch() -> None:
    """Which takes as long as everything else that it imports."""
    with LocalWorkers[str](1) as workers:
        workers.check(point_task(SPACE, next(iter(SPACE.points()))))
        (worker,) = workers.processes
        mapped = Path(f"/proc/{worker}/maps").read_text()
    assert "libtvm" in mapped
    assert "libtorch" not in mapped


KILLED = "tests.explore.killed_worker"
ANY: Any = PointOutcome(status=Status.REFUSED, reason="any")
"""A task that a worker of this program answers with itself."""


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PointOutcome]:
    """The outcome of a point, where so many processes end as they read models, and then with the point."""

    def made(reading: int, computing: int, by: signal.Signals = signal.SIGKILL) -> PointOutcome:
        ends = {"ASKED": tmp_path, "read": reading, "point": computing, "SIGNAL": by.value}
        for name, value in ends.items():
            monkeypatch.setenv(name, str(value))
        with LocalWorkers[str](1, program=KILLED) as workers:
            workers.check(ANY)
            ((_, made),) = workers.run([("a", ANY)])
            return made

    return made


def test_kills_say_little_about_a_point(outcome: Callable[..., PointOutcome]) -> None:
    """Who kills may mean another process, and one that has read no model has no point yet."""
    assert outcome(7, 0) == outcome(0, 7) == ANY


@pytest.mark.parametrize(("by", "most"), [(signal.SIGKILL, 8), (signal.SIGSEGV, 3)])
def test_a_point_with_which_processes_end(
    outcome: Callable[..., PointOutcome], by: signal.Signals, most: int
) -> None:
    assert outcome(0, 99, by) == PointOutcome(
        status=Status.CRASHED,
        rule="process-ended",
        reason=f"{most} processes ended with this point, the last by signal {by.value}",
    )


def _parents(processes: tuple[int, ...]) -> set[int]:
    stats = (Path(f"/proc/{each}/stat").read_text() for each in processes)
    return {int(stat.rpartition(")")[2].split()[1]) for stat in stats}


FORKED = pytest.mark.skipif(not FORKS, reason="processes are not forked here")


@FORKED
def test_models_are_read_once_for_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from the process that has read them; where that is dead, programs take their place,
    and the points are computed.
    """
    for name, value in {"ASKED": str(tmp_path), "read": "0", "point": "0", "SIGNAL": "9"}.items():
        monkeypatch.setenv(name, value)
    with LocalWorkers[str](2, program=KILLED) as workers:
        workers.check(ANY)
        origin, *forked = workers.every_process
        assert _parents(workers.processes) == {origin}
        assert (tmp_path / "read").read_text() == "."
        for process in (origin, forked[0]):
            os.kill(process, signal.SIGKILL)
        assert dict(workers.run([("a", ANY), ("b", ANY), ("c", ANY)])) == dict.fromkeys("abc", ANY)
        left = {*forked, *workers.processes}
    end = time.monotonic() + 10  # who is killed is not gone at once, and is nobody's child here
    while left := {each for each in left if Path(f"/proc/{each}/exe").exists()}:
        assert time.monotonic() < end, left
        time.sleep(0.01)


@FORKED
def test_a_process_with_threads_is_not_forked() -> None:
    """The one that has read the models is then a worker itself."""
    with LocalWorkers[str](2, program="tests.explore.threaded_worker") as workers:
        workers.check(ANY)
        assert _parents(workers.every_process) == {os.getpid()}
        assert len(workers.every_process) == 2
        assert dict(workers.run([("a", ANY), ("b", ANY)])) == {"a": ANY, "b": ANY}


def test_without_forks_every_worker_reads_the_models(
    outcome: Callable[..., PointOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("target_arch.explore.workers.FORKS", False)
    assert outcome(1, 1) == ANY


DYING = "tests.explore.dying_worker"


@pytest.mark.long
def test_a_point_that_kills_is_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))
    text = ZYNQ.replace('where = ["tcm <= sram"]\n', "").replace('"64 KiB"]', '"2 KiB"]')
    with LocalWorkers[str](2, program=DYING) as workers:
        made = SpaceSearch(space(text), workers, "p").whole().outcomes
    crashed = [point for point, outcome in made.items() if outcome.status is Status.CRASHED]
    assert [point[0] for point in crashed] == [1, 1, 1, 1]
    assert made[crashed[0]] == PointOutcome(
        status=Status.CRASHED,
        rule="process-ended",
        reason="8 processes ended with this point, the last by signal 9",
    )
    assert len(made) == 12


@pytest.mark.long
def test_a_process_that_ends_with_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))
    monkeypatch.setenv("READ", "1")
    with LocalWorkers[str](1, program=DYING) as workers, pytest.raises(DiagnosticError) as caught:
        workers.check(point_task(SPACE, (1, 1, 0)))
    assert str(caught.value) == (
        "models: error: the process that reads them ended by signal 9 [process-ended]\n"
        "hint: the file of a model may be damaged"
    )
