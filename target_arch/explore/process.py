"""Processes of workers, as the one that asks them sees them.

A process is a program of its own (`worker.py`) and talks through a socket: nothing of the caller is imported
or forked. One that has read the models can fork others, which begin with all that it has imported and read.
Tests: `tests/explore/test_workers.py`.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path as File

from attrs import define

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import PointOutcome

FORKS = sys.platform == "linux"
"""Whether processes are forked: libraries of other systems start threads that a fork loses."""
_ROOT = File(__file__).parents[2]


@define(eq=False)
class WorkerProcess(ABC):
    """A process, the connection to it, and whether it has read the models."""

    number: int
    connection: Connection
    ready: bool

    def ask(self, what: str, about: PointTask | int) -> None:
        """Send an order; a process that is dead does not answer."""
        with contextlib.suppress(OSError):
            self.connection.send((what, about))

    def answer(self) -> PointOutcome | int | None:
        """Its answer, None where it died. Raises DiagnosticError where it says that."""
        try:
            answer: PointOutcome | int | DiagnosticError = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, DiagnosticError):
            raise answer
        return answer

    @abstractmethod
    def stop(self) -> int:
        """End the process; how it ended, if that was before."""


@define(eq=False)
class ProgramProcess(WorkerProcess):
    """A process that was started as a program."""

    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(cls, program: str, backend_dirs: tuple[File, ...]) -> "ProgramProcess":
        """A process of this module, with the plug-ins of these folders; it has read nothing."""
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        process = subprocess.Popen(
            [sys.executable, "-m", program, str(theirs.fileno()), *map(str, backend_dirs)],
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        return cls(process.pid, Connection(ours.detach()), ready=False, process=process)

    def fork(self) -> "ForkedProcess | None":
        """A process that goes on from what this one has read; None where it is dead, or must not fork as it
        has threads.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.ask("fork", 0)
            with contextlib.suppress(OSError):
                send_handle(self.connection, theirs.fileno(), self.number)
            number = self.answer()
            if not isinstance(number, int) or not number:
                return None
            return ForkedProcess(number, Connection(ours.detach()), ready=True, origin=self)

    def stop(self) -> int:
        """As of every process; those that were forked from it end with it."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.number, signal.SIGKILL)
        self.process.kill()
        return self.process.wait()


@define(eq=False)
class ForkedProcess(WorkerProcess):
    """A process that was forked from one that has read the models."""

    origin: ProgramProcess

    def stop(self) -> int:
        """As of every process; it counts as killed where its origin, which alone knows, is dead."""
        self.connection.close()
        self.origin.ask("end", self.number)
        status = self.origin.answer()
        return status if isinstance(status, int) else -signal.SIGKILL
