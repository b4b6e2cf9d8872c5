"""Trials: the tests of a room, run with one fault after the other.

A plug-in of pytest: instead of running what was collected, it runs that once in a fork that notes which lines
each test reaches, and then for each mutant the tests that reach its statement, in a fork of its own.
"""

import gc
import importlib
import io
import math
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
import pytest
from attrs import field, frozen
from hypothesis import HealthCheck, Phase

from conformance.mutants.mutations import Mutant
from conformance.mutants.planting import plant
from conformance.mutants.rooms import REPOSITORY

CPU_FACTOR, CPU_SECONDS = 5, 5
"""A mutant may take so many times as long as the tests that reach it, and so many seconds on top."""
WALL_FACTOR = 30
"""The limit of time that has passed, over that of CPU time: the machine may be busy."""
MOST_BYTES = 2 << 30
"""Of memory, beyond what the process has: a fault can make a loop endless."""
SLOW_TOO = "not long"
"""The markers of the tests: what a newcomer does not run may be what knows a fault."""
NOT_PLANTED = 3
"""Exit status of a fork whose function was not found."""

Line = tuple[str, int]


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    UNREACHED = "reached by no test"

    @property
    def survives(self) -> bool:
        """True where no test noticed."""
        return self in (Fate.SURVIVED, Fate.UNREACHED)


@frozen(kw_only=True)
class _Noted:
    """A test: CPU seconds that it took and the lines that it reached; `failed` with what it printed."""

    seconds: float
    lines: frozenset[Line] = field(repr=False)
    failed: str = ""


class BaselineError(Exception):
    """A test of the room fails without any fault."""


def trials(
    tests: Iterable[str], of: Sequence[tuple[Path, Mutant]], seen: Callable[[Mutant, Fate], bool]
) -> None:
    """Try the mutants with these tests; `seen` hears of each in turn, and says whether to go on. Raises
    BaselineError.
    """
    plugin = _Trials(of, seen)
    options = ["-q", "-s", "--tb=line", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", SLOW_TOO]
    with redirect_stdout(io.StringIO()):
        pytest.main([*options, "--rootdir", str(REPOSITORY), *tests], plugins=[plugin])
    if plugin.error:
        raise BaselineError(plugin.error)


class _Trials:
    def __init__(self, of: Sequence[tuple[Path, Mutant]], seen: Callable[[Mutant, Fate], bool]) -> None:
        self._mutants, self._seen = of, seen
        self.error = "no test was collected"

    def pytest_collection(self) -> None:
        """Property tests draw the same examples each time, and do not make failures smaller."""
        hypothesis.settings.register_profile(
            "mutants",
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=tuple(HealthCheck),
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.error = str(report.longrepr)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All trials, in the place of the tests."""
        if session.testsfailed or not session.items:
            return True
        modules = {path: importlib.import_module(_module(path)) for path, _ in self._mutants}
        files = {str(path) for path in modules}
        gc.collect()
        gc.freeze()
        noted = _baseline(session.items, files)
        self.error = "\n".join(test.failed for test in noted if test.failed)
        if self.error:
            return True
        by_time = sorted(range(len(noted)), key=lambda number: noted[number].seconds)
        for path, mutant in self._mutants:
            wanted = {(str(path), line) for line in range(mutant.first, mutant.last + 1)}
            numbers = [number for number in by_time if noted[number].lines & wanted]
            items = [session.items[number] for number in numbers]
            limit = CPU_SECONDS + CPU_FACTOR * sum(noted[number].seconds for number in numbers)

            def planted(mutant: Mutant = mutant, path: Path = path) -> None:
                plant(modules[path], mutant)

            if not self._seen(mutant, _tried(planted, items, limit) if items else Fate.UNREACHED):
                break
        return True


def _module(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)


def _baseline(items: Sequence[pytest.Item], files: set[str]) -> list[_Noted]:
    """Run all tests without a fault, in a fork, so that nothing that they leave behind is there later."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out, _silence():
            pickle.dump([_note(items, number, files) for number in range(len(items))], out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as source:
        noted = pickle.load(source)
    os.waitpid(child, 0)
    return list(noted)


def _note(items: Sequence[pytest.Item], number: int, files: set[str]) -> _Noted:
    lines: set[Line] = set()

    def local(frame: FrameType, event: str, argument: object) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def called(frame: FrameType, event: str, argument: object) -> Any:
        return local(frame, event, argument) if frame.f_code.co_filename in files else None

    start = time.process_time()
    sys.settrace(called)
    try:
        failed = _failure(items, number)
    finally:
        sys.settrace(None)
    return _Noted(seconds=time.process_time() - start, lines=frozenset(lines), failed=failed)


def _failure(items: Sequence[pytest.Item], number: int) -> str:
    """Run one test; what is said of its failure, empty where it passes."""
    from _pytest.runner import runtestprotocol

    following = items[number + 1] if number + 1 < len(items) else None
    reports = runtestprotocol(items[number], nextitem=following, log=False)
    return "\n".join(f"{report.nodeid}: {report.longreprtext}" for report in reports if report.failed)


def _tried(planted: Callable[[], None], items: Sequence[pytest.Item], limit: float) -> Fate:
    """Plant a fault in a fork and run tests there until one fails."""
    child = os.fork()
    if child:
        return _fate(child, WALL_FACTOR * limit)
    status = NOT_PLANTED
    try:
        _limit(limit)
        with _silence():
            planted()
            status = 1
            status = int(any(_failure(items, number) for number in range(len(items))))
    finally:
        os._exit(status)


def _limit(seconds: float) -> None:
    """End this process after so much CPU time, and refuse it memory without end."""
    whole = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing that a test prints is seen."""
    with open(os.devnull, "wb") as nothing:
        for descriptor in (1, 2):
            os.dup2(nothing.fileno(), descriptor)
    yield


def _fate(child: int, wall: float) -> Fate:
    """Wait for the fork of a mutant, and not longer than so many seconds."""
    descriptor = os.pidfd_open(child)
    ended, _, _ = select.select([descriptor], [], [], wall)
    os.close(descriptor)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        return Fate.TIMED_OUT
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_PLANTED:
        raise LookupError("a fault could not be planted")
    return Fate.SURVIVED if status == 0 else Fate.KILLED
