"""Processes of this computer that evaluate points, each with an `Evaluator` of its own.

A process that dies leaves its point to another one; a point with which too many processes died has crashed.
A process has a point only after it has read the models: what ends it before says nothing about a point.
Where processes can be forked, one that is no worker imports the program and reads the models, and workers are
forked from it: they begin at once, and share its memory. Tests: `tests/explore/test_workers.py`.
"""

import itertools
import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path as File
from typing import Generic, TypeVar

from attrs import define, field

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import PROCESS_ENDED, PointOutcome, Status
from target_arch.explore.process import FORKS, ProgramProcess, WorkerProcess

Id = TypeVar("Id")
TRIES = 3
"""How many processes may end by themselves with a point before it counts as crashed."""
KILLS = 8
"""How many may be killed with it: who kills, such as a system without memory, may mean another one."""
_KILLERS = (-signal.SIGKILL, -signal.SIGTERM)


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
    _origin: ProgramProcess | None = field(default=None, init=False)
    """The process that has read the models, from which workers are forked; none where they are not."""
    _workers: dict[Connection, WorkerProcess] = field(factory=dict, init=False)
    _models: PointTask | None = field(default=None, init=False)
    """A task whose models every worker reads first."""
    _starts: _Losses = field(init=False)
    """Processes that ended before they had read the models, since one had."""

    def __attrs_post_init__(self) -> None:
        self._starts = _Losses(self.count)

    def __enter__(self) -> "LocalWorkers[Id]":
        return self

    def __exit__(self, *raised: object) -> None:
        self._end_origin()
        while self._workers:
            self._workers.popitem()[1].stop()

    @property
    def dashboard(self) -> str:
        """The address of a page about the workers: there is none."""
        return ""

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the workers' processes."""
        return tuple(worker.number for worker in self._workers.values())

    @property
    def every_process(self) -> tuple[int, ...]:
        """The numbers of all processes, with the one from which workers are forked."""
        return (*([self._origin.number] if self._origin else []), *self.processes)

    def check(self, task: PointTask) -> None:
        """Read the models of a task. Raises DiagnosticError where one cannot be read, or ends every process
        that tries.
        """
        self._models = task
        if FORKS and (self._origin or not self._workers):
            self._read_by_origin(task)
        for worker in self._workers.values():
            worker.ready = False
            worker.ask("read", task)
        self._fill()
        while not any(worker.ready for worker in self._workers.values()):
            for worker in self._talking():
                self._read(worker)

    def _read_by_origin(self, task: PointTask) -> None:
        """The process that workers are forked from reads the models. Raises DiagnosticError as `check`."""
        losses = _Losses()
        while True:
            self._origin = self._origin or ProgramProcess.start(self.program, self.backend_dirs)
            self._origin.ask("read", task)
            if self._origin.answer() is not None:
                return
            status = self._end_origin()
            if losses.too_many(status):
                raise _crash(status)

    def _end_origin(self) -> int:
        """End the process that workers are forked from, and them. Returns how it ended."""
        origin, self._origin = self._origin, None
        return 0 if origin is None else origin.stop()

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
                if not isinstance(outcome, PointOutcome):
                    status, lost = self._replace(worker), losses.setdefault(id, _Losses())
                    if not lost.too_many(status):
                        left.append((id, task))
                        continue
                    outcome = _died(lost.count, status)
                yield id, outcome
            left += itertools.islice(waiting, 0 if left else 1)

    def _talking(self) -> list[WorkerProcess]:
        """The workers that answer, or are dead; at least one."""
        return [self._workers[each] for each in wait([*self._workers]) if isinstance(each, Connection)]

    def _read(self, worker: WorkerProcess) -> None:
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
            worker = self._started()
            self._workers[worker.connection] = worker

    def _started(self) -> WorkerProcess:
        """A worker: forked from the origin, or the origin itself where that must not fork, or else a program
        that begins to read the models.
        """
        assert self._models is not None
        origin = self._origin
        forked = origin and origin.fork()
        if forked:
            return forked
        if origin and not self._workers:
            self._origin, origin.ready = None, True
            return origin
        worker = ProgramProcess.start(self.program, self.backend_dirs)
        worker.ask("read", self._models)
        return worker

    def _replace(self, worker: WorkerProcess) -> int:
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
