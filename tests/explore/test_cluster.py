"""Workers of a Dask scheduler: the same outcomes, models by content, and what is wrong with a cluster."""

import os
import random
import signal
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.cluster import DaskWorkers, SentTask, evaluate, require_version
from target_arch.explore.content import content_key, program_digest
from target_arch.explore.evaluate import Evaluator
from target_arch.explore.search import SpaceSearch, point_task
from target_arch.explore.space_file import read_space
from target_arch.explore.store import Store
from target_arch.plan.goal import Goal
from target_arch.plan.objective import Objective
from target_arch.registry.plug_ins import PlugIns
from tests.explore.dask_processes import DaskProcesses
from tests.explore.spaces import space_file

distributed = pytest.importorskip(
    "distributed", reason="needs distributed: pip install 'target-arch[explore]'"
)


@pytest.mark.long
def test_a_cluster(tmp_path: Path) -> None:
    """Its outcomes are those of this process, also where the model is gone from this computer."""
    file = space_file(tmp_path)
    made = read_space(file)
    evaluated = Evaluator(PlugIns.discover(()))
    expected = {point: evaluated(point_task(made, point)) for point in made.points()}
    program = program_digest(())
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with DaskWorkers(cluster.scheduler_address, program) as workers:
            search = SpaceSearch(made, workers, program)
            assert search.whole().outcomes == expected
            assert search.computed == len(expected)
            damaged = tmp_path / "damaged.onnx"
            damaged.write_bytes(b"none")
            (tmp_path / "chips.toml").write_text(file.read_text().replace("digits_int8.onnx", damaged.name))
            with pytest.raises(DiagnosticError) as caught:
                SpaceSearch(read_space(file), workers, program).whole()
            assert damaged.name in str(caught.value)
        with pytest.raises(DiagnosticError) as caught:
            DaskWorkers(cluster.scheduler_address, "another")
        assert caught.value.diagnostics[0].rule == "other-program"
        assert "has another program than this computer" in str(caught.value)


def test_data_beside_a_model_goes_along(tmp_path: Path) -> None:
    """The outcome depends on it, too."""
    file = space_file(tmp_path)
    model = tmp_path / "digits_int8.onnx"
    whole = onnx.load(model)
    model.unlink()
    (tmp_path / "below").mkdir()
    onnx.save_model(whole, model, save_as_external_data=True, location="below/weights.bin", size_threshold=0)
    made, program = read_space(file), program_digest(())
    task = point_task(made, next(made.points()))
    threads = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(**threads, dashboard_address=None) as cluster,
        DaskWorkers(cluster.scheduler_address, program) as workers,
    ):
        workers.check(task)
        ((_, outcome),) = workers.run([("one", task)])
    assert outcome.fits
    assert outcome == Evaluator(PlugIns.discover(()))(task)
    key, data = content_key(task, program), tmp_path / "below" / "weights.bin"
    data.write_bytes(data.read_bytes() + b"\0")
    assert content_key(task, program) != key


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("target_arch.explore.cluster._TIMEOUT", 1)
    with pytest.raises(DiagnosticError) as caught:
        DaskWorkers("tcp://127.0.0.1:9", "p")
    assert str(caught.value) == (
        "tcp://127.0.0.1:9: error: no scheduler of Dask answers there [no-scheduler]\n"
        "hint: start one: `dask scheduler`, and `dask worker ADDRESS` on every computer"
    )


def test_a_scheduler_of_another_version() -> None:
    require_version("tcp://host:8786", "2026.8.0", "2026.8.0")
    with pytest.raises(DiagnosticError) as caught:
        require_version("tcp://host:8786", "2026.8.0", "2025.1.0")
    assert str(caught.value) == (
        "tcp://host:8786: error: the scheduler is Dask distributed 2025.1.0, this computer has 2026.8.0 "
        "[other-scheduler]\n"
        "hint: install the same version on every computer"
    )


def test_a_worker_that_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has another program, which those that were there at first had not."""
    here = SimpleNamespace(address="tcp://late:1", local_directory="/nowhere")
    monkeypatch.setattr("distributed.get_worker", lambda: here)
    sent = SentTask(
        program="another",
        upload="",
        text="",
        shown="",
        costs=("", ""),
        models={},
        mode="default",
        optimize=Goal.BALANCED,
        objective=Objective.LATENCY,
        known=None,
    )
    assert str(evaluate(sent)) == (
        "tcp://late:1: error: worker tcp://late:1 has another program than this computer [other-program]\n"
        "hint: install the same version of target_arch, of TVM and of all plug-ins on every computer"
    )


@pytest.mark.long
def test_a_scheduler_that_ends(tmp_path: Path) -> None:
    """What was known is kept; with another scheduler the search goes on."""
    made, program, store = read_space(space_file(tmp_path)), program_digest(()), Store(tmp_path / "x.jsonl")
    with DaskProcesses() as dask, DaskWorkers(dask.address, program) as workers:
        search = SpaceSearch(made, workers, program, store)
        search.said = lambda done, every: dask.end() if done == 1 else None
        with pytest.raises(DiagnosticError) as caught:
            search.whole()
        assert str(caught.value) == (
            f"{dask.address}: error: the scheduler does not answer any more [lost-scheduler]\n"
            "hint: start it again, and run again: what was known is in the store"
        )
    kept = len(store)
    assert kept >= 1
    with DaskProcesses() as dask, DaskWorkers(dask.address, program) as workers:
        search = SpaceSearch(made, workers, program, store)
        search.whole()
        assert search.computed == 4 - kept
    evaluated = Evaluator(PlugIns.discover(()))
    assert search.exploration().outcomes == {p: evaluated(point_task(made, p)) for p in made.points()}


@pytest.mark.long
def test_workers_that_are_killed(tmp_path: Path) -> None:
    """After every outcome all are, with the models that they had, or one of them by chance: the outcomes
    are still those of one process, and each is stored once.
    """
    made, program, store = read_space(space_file(tmp_path)), program_digest(()), Store(tmp_path / "x.jsonl")
    evaluated, dice = Evaluator(PlugIns.discover(())), random.Random(30)
    expected = {point: evaluated(point_task(made, point)) for point in made.points()}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        DaskWorkers(cluster.scheduler_address, program) as workers,
    ):

        def kill(done: int, every: int) -> None:
            running = sorted(nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None)
            for pid in running if done != 2 else [dice.choice(running)] * bool(running):
                os.kill(pid, signal.SIGKILL)

        search = SpaceSearch(made, workers, program, store)
        search.said = kill
        assert search.whole().outcomes == expected
    assert search.computed == len(store) == len(expected)
