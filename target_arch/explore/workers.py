"""Processes of this computer that evaluate points, each with an `Evaluator` of its own.

A process that dies leaves its point to another one; a point with which too many processes died has crashed.
A process has a point only after it has read the models: what ends it before says nothing about a point.
Workers are programs of their own (`worker.py`) and talk through sockets: nothing of the caller is imported
or forked. Tests: `tests/explore/test_workers.py`.
"""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path as File
from typing import Generic, TypeVar

from attrs import define, field

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import PROCESS_ENDED, PointOutcome, Status

Id = TypeVar("Id")
_READ = PointOutcome(status=Status.FITS)
"""The answer of a worker that has read models."""
TRIES = 3
"""How many processes may end by themselves with a point before it counts as crashed."""
KILLS = 8
"""How many may be killed with it: who kills, such as a system without memory, may mean another one."""
_KILLERS = (-signal.SIGKILL, -signal.SIGTERM)
_ROOT = File(__file__).parents[2]


@define(eq=False)
class _Worker:
    """A process, the connection to it, and whether it has read the models."""

    process: "subprocess.Popen[bytes]"
    connection: Connection
    ready: bool = False

    @classmethod
    def start(cls, program: str, backend_dirs: tuple[File, ...], models: PointTask) -> "_Worker":
        """A process that begins to read the models of a task."""
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                program,
                str(theirs.fileno()),
                *map(str, backend_dirs),
            ],
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        worker = cls(process, Connection(ours.detach()))
        worker.ask("read", models)
        return worker

    def ask(self, what: str, task: PointTask) -> None:
        """Send a task; a worker that is dead does not answer."""
        with contextlib.suppress(OSError):
            self.connection.send((what, task))

    def answer(self) -> PointOutcome | None:
        """The worker's answer, None where it died. Raises DiagnosticError where it says that."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, DiagnosticError):
            raise answer
        return answer if isinstance(answer, PointOutcome) else _READ

    def stop(self) -> int:
        """End the process; how it ended, if that was before."""
        self.connection.close()
        self.process.kill()
        return self.process.wait()


@define(eq=False)
class _Losses:
    """How often processes ended with one thing: by themselves, or killed."""

    most: int = 1
    """With how many processes at once each is tried."""
    _killed: Counter[bool] = field(factory=Counter, init=False)

    def too_many(self, status: int) -> bool:
        """Whether one more that ended so is one too many."""
        killed = status in _KILLERS
        self._killed[killed] += 1
        return self._killed[killed] >= (KILLS * self.most if killed else TRIES)

    @property
    def count(self) -> int:
        """How many processes ended."""
        return self._killed.total()


@define(eq=False)
class LocalWorkers(Generic[Id]):
    """So many processes with the plug-ins of these folders, as long as the context is."""

    count: int
    backend_dirs: tuple[File, ...] = ()
    program: str = "target_arch.explore.worker"
    """The module that a worker runs."""
    _workers: dict[Connection, _Worker] = field(factory=dict, init=False)
    _models: PointTask | None = field(default=None, init=False)
    """A task whose models every worker reads first."""
    _starts: _Losses = field(init=False)
    """Processes that ended before they had read the models, since one had."""

    def __attrs_post_init__(self) -> None:
        self._starts = _Losses(self.count)

    def __enter__(self) -> "LocalWorkers[Id]":
        return self

    def __exit__(self, *raised: object) -> None:
        while self._workers:
            self._workers.popitem()[1].stop()

    @property
    def dashboard(self) -> str:
        """The address of a page about the workers: there is none."""
        return ""

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that run."""
        return tuple(worker.process.pid for worker in self._workers.values())

    def check(self, task: PointTask) -> None:
        """Read the models of a task. Raises DiagnosticError where one cannot be read, or ends every process
        that tries.
        """
        self._models = task
        for worker in self._workers.values():
            worker.ready = False
            worker.ask("read", task)
        self._fill()
        while not any(worker.ready for worker in self._workers.values()):
            for worker in self._talking():
                self._read(worker)

    def run(self, tasks: Iterable[tuple[Id, PointTask]]) -> Iterator[tuple[Id, PointOutcome]]:
        """The outcome of every task as it is known, by the task's id. Tasks are taken as workers are free;
        their models were checked. Raises DiagnosticError where no chip can help.
        """
        waiting, losses = iter(tasks), dict[Id, _Losses]()
        left = list(itertools.islice(waiting, 1))
        busy: dict[Connection, tuple[Id, PointTask]] = {}
        while left or busy:
            for worker in self._workers.values():
                if left and worker.ready and worker.connection not in busy:
                    busy[worker.connection] = left.pop()
                    worker.ask("point", busy[worker.connection][1])
                    left += itertools.islice(waiting, 0 if left else 1)
            for worker in self._talking():
                if worker.connection not in busy:
                    self._read(worker)
                    continue
                id, task = busy.pop(worker.connection)
                outcome = worker.answer()
                if outcome is None:
                    status, lost = self._replace(worker), losses.setdefault(id, _Losses())
                    if not lost.too_many(status):
                        left.append((id, task))
                        continue
                    outcome = _died(lost.count, status)
                yield id, outcome
            left += itertools.islice(waiting, 0 if left else 1)

    def _talking(self) -> list[_Worker]:
        """The workers that answer, or are dead; at least one."""
        return [self._workers[each] for each in wait([*self._workers]) if isinstance(each, Connection)]

    def _read(self, worker: _Worker) -> None:
        """A worker without a point has read the models, or is dead. Raises DiagnosticError where too many
        are.
        """
        if worker.answer() is not None:
            worker.ready, self._starts = True, _Losses(self.count)
            return
        status = self._replace(worker)
        if not worker.ready and self._starts.too_many(status):
            raise _crash(status)

    def _fill(self) -> None:
        while len(self._workers) < self.count:
            assert self._models is not None
            worker = _Worker.start(self.program, self.backend_dirs, self._models)
            self._workers[worker.connection] = worker

    def _replace(self, worker: _Worker) -> int:
        """Start a worker in place of one that died. Returns how that ended."""
        del self._workers[worker.connection]
        status = worker.stop()
        self._fill()
        return status


def _died(count: int, status: int) -> PointOutcome:
    said = f"{count} processes ended with this point, the last {_how(status)}"
    return PointOutcome(status=Status.CRASHED, rule=PROCESS_ENDED, reason=said)


def _crash(status: int) -> DiagnosticError:
    return refusal(
        "process-ended",
        "models",
        f"the process that reads them ended {_how(status)}",
        "the file of a model may be damaged",
    )


def _how(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with exit code {status}"
