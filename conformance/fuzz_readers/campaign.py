"""Executions of one reader in a process of its own, which may die: each number is one mutant."""

import gc
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import inf
from mmap import mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from attrs import frozen

from conformance.fuzz_readers.readers import Reader

SECONDS = 20
"""Of CPU time: an execution that takes more is a finding."""
_IDLE = 30
"""A process that stays with one mutant for so many times as long, by the clock, is ended."""
_WARM = 20
"""About so many seeds are read before the first mutant."""
MEMORY = 2 * 2**30
"""Bytes of data that an execution may take; more is a finding (MemoryError, or a signal)."""


@frozen(kw_only=True)
class Finding:
    """The number of the mutant, and the end of it: an exception with its place, or a signal."""

    number: int
    what: str


@frozen(kw_only=True)
class Result:
    """`executions` mutants were read, `accepted` of them without a refusal."""

    executions: int
    accepted: int
    findings: tuple[Finding, ...]


def campaign(
    reader: Reader,
    numbers: range,
    findings: int = 20,
    said: Callable[[Finding], None] = lambda finding: None,
    seconds: float = inf,
) -> Result:
    """Read these mutants; ends early after so many findings, each of which is `said` at once, and after so
    many seconds by the clock.
    """
    end, shared, seeds = time.monotonic() + seconds, mmap(-1, 16), _seeds(reader)
    found: list[Finding] = []
    accepted, at = 0, numbers.start
    while at < numbers.stop and len(found) < findings and (at == numbers.start or time.monotonic() < end):
        _put(shared, 0, at)
        _put(shared, 8, 0)
        for what in _in_child(reader, seeds, range(at, numbers.stop), shared, end):
            found.append(Finding(number=_get(shared, 0), what=what))
            said(found[-1])
        accepted += _get(shared, 8)
        at = _get(shared, 0) + 1
    return Result(executions=at - numbers.start, accepted=accepted, findings=tuple(found))


def _seeds(reader: Reader) -> Sequence[bytes]:
    """Made in a process of its own: some libraries start threads, which do not survive a fork."""
    with ProcessPoolExecutor(max_workers=1) as pool:
        return pool.submit(reader.seeds).result()


def _in_child(
    reader: Reader, seeds: Sequence[bytes], numbers: range, shared: mmap, end: float
) -> Iterator[str]:
    """The finding that ended the process, if any; `shared` has its number, and how many were accepted."""
    incoming, outgoing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(incoming)
        _child(reader, seeds, numbers, shared, outgoing, end)
    os.close(outgoing)
    with os.fdopen(incoming, "rb") as answers:
        _watch(process, incoming, shared)
        said = answers.read().decode(errors="replace")
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        yield f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    elif said or os.WEXITSTATUS(status):
        yield said or f"ended with status {os.WEXITSTATUS(status)}"


def _watch(process: int, answers: int, shared: mmap) -> None:
    """Wait for the process to end; kill it where it stays with one mutant in code that no alarm ends."""
    at = -1
    while not select.select([answers], [], [], _IDLE * SECONDS)[0]:
        if _get(shared, 0) == at:
            os.kill(process, signal.SIGKILL)
            return
        at = _get(shared, 0)


def _child(
    reader: Reader, seeds: Sequence[bytes], numbers: range, shared: mmap, outgoing: int, end: float
) -> None:
    """Reads mutants, one at least, until one is a finding or the `end` has come; never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, _too_long)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        with TemporaryDirectory(dir=_memory_folder()) as name:
            for content in seeds[:: max(len(seeds) // _WARM, 1)]:  # imports, which are not what is measured
                reader.accepts(content, Path(name))
            gc.collect()
            gc.freeze()  # what libraries keep, which a reader that collects garbage would look through
            _limit_memory()
            for number in numbers:
                _put(shared, 0, number)
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                if reader.accepts(reader.mutate(seeds, number), Path(name)):
                    _put(shared, 8, _get(shared, 8) + 1)
                signal.setitimer(signal.ITIMER_PROF, 0)
                if time.monotonic() > end:
                    break
        os._exit(0)
    except BaseException as error:
        lines = traceback.format_exception_only(error)[-1].strip()[:200]
        frames = traceback.extract_tb(sys.exc_info()[2])
        own = [frame for frame in frames if "target_arch" in frame.filename] or frames
        os.write(outgoing, f"{lines} ({Path(own[-1].filename).name}:{own[-1].lineno})".encode())
        os._exit(1)


def _limit_memory() -> None:
    """Let the process take so many bytes more than it has."""
    status = Path("/proc/self/status").read_text()
    used = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))


def _memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {SECONDS} s of CPU time")


def _put(shared: mmap, at: int, value: int) -> None:
    shared[at : at + 8] = value.to_bytes(8, "little")


def _get(shared: mmap, at: int) -> int:
    return int.from_bytes(shared[at : at + 8], "little")
