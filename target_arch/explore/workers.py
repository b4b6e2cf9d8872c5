"""Processes of this computer that evaluate points, each with an `Evaluator` of its own.

A process that dies leaves its point to another one; a point with which three processes died has crashed.
Workers are programs of their own (`worker.py`) and talk through sockets: nothing of the caller is imported
or forked. Tests: `tests/explore/test_workers.py`.
"""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
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
"""How many processes may die with a point before it counts as crashed."""
_ROOT = File(__file__).parents[2]


@define(eq=False)
class _Worker:
    """A process, and the connection to it."""

    process: "subprocess.Popen[bytes]"
    connection: Connection
    before: int = 0
    """How the process ended in whose place it is."""

    @classmethod
    def start(cls, program: str, backend_dirs: tuple[File, ...]) -> "_Worker":
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
        return cls(process, Connection(ours.detach()))

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

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


@define(eq=False)
class LocalWorkers(Generic[Id]):
    """So many processes with the plug-ins of these folders, as long as the context is."""

    count: int
    backend_dirs: tuple[File, ...] = ()
    program: str = "target_arch.explore.worker"
    """The module that a worker runs."""
    _workers: list[_Worker] = field(factory=list, init=False)

    def __enter__(self) -> "LocalWorkers[Id]":
        return self

    def __exit__(self, *raised: object) -> None:
        while self._workers:
            self._workers.pop().stop()

    @property
    def dashboard(self) -> str:
        """The address of a page about the workers: there is none."""
        return ""

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that run."""
        return tuple(worker.process.pid for worker in self._workers)

    def check(self, task: PointTask) -> None:
        """Read the models of a task. Raises DiagnosticError where one cannot be read, or ends every process
        that tries.
        """
        self._fill(1)
        worker = self._workers[0]
        for _ in range(TRIES):
            worker.ask("read", task)
            if worker.answer() is not None:
                return
            worker = self._replaced(worker)
        raise _crash(worker.before)

    def run(self, tasks: Iterable[tuple[Id, PointTask]]) -> Iterator[tuple[Id, PointOutcome]]:
        """The outcome of every task as it is known, by the task's id. Tasks are taken as workers are free.
        Raises DiagnosticError where no chip can help.
        """
        waiting, deaths = iter(tasks), dict[Id, int]()
        ready = list(itertools.islice(waiting, 1))
        busy: dict[Connection, tuple[_Worker, Id, PointTask]] = {}
        self._fill(self.count if ready else 0)
        free = list(self._workers)
        while ready or busy:
            while ready and free:
                worker, (id, task) = free.pop(), ready.pop()
                worker.ask("point", task)
                busy[worker.connection] = (worker, id, task)
                ready += itertools.islice(waiting, 0 if ready else 1)
            for connection in [each for each in wait([*busy]) if isinstance(each, Connection)]:
                worker, id, task = busy.pop(connection)
                outcome = worker.answer()
                if outcome is None:
                    deaths[id] = deaths.get(id, 0) + 1
                    worker = self._replaced(worker)
                free.append(worker)
                if outcome is None and deaths[id] < TRIES:
                    ready.append((id, task))
                    continue
                yield id, outcome or _died(worker.before)
            ready += itertools.islice(waiting, 0 if ready else 1)

    def _fill(self, count: int) -> None:
        while len(self._workers) < count:
            self._workers.append(_Worker.start(self.program, self.backend_dirs))

    def _replaced(self, worker: _Worker) -> _Worker:
        """A worker in place of one that died."""
        self._workers.remove(worker)
        worker.stop()
        self._workers.append(_Worker.start(self.program, self.backend_dirs))
        self._workers[-1].before = worker.process.returncode
        return self._workers[-1]


def _died(status: int) -> PointOutcome:
    said = f"{TRIES} processes ended with this point, the last {_how(status)}"
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
