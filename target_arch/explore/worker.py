"""A worker's program: `python -m target_arch.explore.worker FD [BACKEND_DIR ...]`.

Takes orders from the socket until the other end closes: to read models, to evaluate a point, to fork a
process that goes on from what this one has read, and to end one that it has forked.
"""

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.tvm_import import import_tvm
from target_arch.stages.garbage_collector import gc_seldom

if TYPE_CHECKING:
    from target_arch.explore.evaluate import Evaluator, PointTask
    from target_arch.explore.outcome import PointOutcome

_PATIENCE = 1.0
"""Seconds for threads that a fork has ended to be gone."""


def serve(connection: Connection, answered: Callable[[str, Any], Any]) -> None:
    """Answer until the other end closes. An answer is a PointOutcome, a number, or a DiagnosticError."""
    while True:
        what, about = connection.recv()
        if what == "fork":
            connection = _forked(connection)
        elif what == "end":
            connection.send(_ended(about))
        else:
            try:
                connection.send(answered(what, about))
            except DiagnosticError as error:
                connection.send(DiagnosticError(error.diagnostics))


def _forked(connection: Connection) -> Connection:
    """Fork; the connection that the process then goes on with, of the two that there are. The number of the
    new process is the answer, or 0 where there is none, as it lacks threads that this one has.
    """
    handle = recv_handle(connection)
    number = os.fork()
    if number == 0:
        connection.close()
        return Connection(handle)
    os.close(handle)
    if not _alone():
        _ended(number)
        number = 0
    connection.send(number)
    return connection


def _alone() -> bool:
    """Whether this process has one thread. Those of NumPy's BLAS end with a fork, and begin when needed."""
    until = time.monotonic() + _PATIENCE
    while len(os.listdir("/proc/self/task")) > 1:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _ended(number: int) -> int:
    """End a process that was forked from this one; how it ended, if that was before."""
    os.kill(number, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


@gc_seldom()
def _import() -> None:
    """Import the whole program, before a task that is read imports TVM with PyTorch: half of the time."""
    import_tvm()
    import_module("target_arch.explore.evaluate")


def _evaluator(folders: tuple[Path, ...]) -> "Evaluator":
    from target_arch.explore.evaluate import Evaluator
    from target_arch.registry.plug_ins import PlugIns

    return Evaluator(PlugIns.discover(folders))


def _answering(folders: tuple[Path, ...]) -> "Callable[[str, PointTask], PointOutcome | int]":
    """Answers about points and models, by an evaluator with the plug-ins of these folders."""
    evaluator: Evaluator | None = None

    def answered(what: str, task: "PointTask") -> "PointOutcome | int":
        nonlocal evaluator
        evaluator = evaluator or _evaluator(folders)
        if what == "point":
            return evaluator(task)
        evaluator.read(task)
        _keep_what_is_read()
        return 0

    return answered


def _keep_what_is_read() -> None:
    """Tell the collector that what is there now stays: it need not look at it again, nor write into pages
    that processes share.
    """
    gc.collect()
    gc.freeze()


def main(answered: Callable[[str, Any], Any]) -> None:
    """Serve the socket of the command line. Ctrl-C is for the one that asks, and how forked processes ended
    is known also where that one does not want to know.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        serve(Connection(int(sys.argv[1])), answered)


if __name__ == "__main__":
    _import()
    main(_answering(tuple(map(Path, sys.argv[2:]))))
