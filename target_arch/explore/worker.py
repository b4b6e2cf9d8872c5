"""A worker's program: `python -m target_arch.explore.worker FD [BACKEND_DIR ...]`.

Takes tasks from the socket and sends outcomes until the other end closes.
"""

import contextlib
import signal
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.tvm_import import import_tvm
from target_arch.stages.garbage_collector import gc_seldom

if TYPE_CHECKING:
    from target_arch.explore.evaluate import Evaluator, PointTask
    from target_arch.explore.outcome import PointOutcome


def serve(connection: Connection, folders: tuple[Path, ...]) -> None:
    """Answer until the other end closes. An answer is a PointOutcome, None, or a DiagnosticError."""
    evaluator: Evaluator | None = None
    _import()
    while True:
        what, task = connection.recv()
        try:
            evaluator = evaluator or _evaluator(folders)
            connection.send(_answered(evaluator, what, task))
        except DiagnosticError as error:
            connection.send(DiagnosticError(error.diagnostics))


@gc_seldom()
def _import() -> None:
    """Import the whole program: half of the time is PyTorch's if that comes along."""
    import_tvm()
    import_module("target_arch.explore.evaluate")


def _evaluator(folders: tuple[Path, ...]) -> "Evaluator":
    from target_arch.explore.evaluate import Evaluator
    from target_arch.registry.plug_ins import PlugIns

    return Evaluator(PlugIns.discover(folders))


def _answered(evaluator: "Evaluator", what: str, task: "PointTask") -> "PointOutcome | None":
    if what == "point":
        return evaluator(task)
    evaluator.read(task)
    return None


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        serve(Connection(int(sys.argv[1])), tuple(map(Path, sys.argv[2:])))
