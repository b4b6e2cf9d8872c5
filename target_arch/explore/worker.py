"""A worker's program: `python -m target_arch.explore.worker FD [BACKEND_DIR ...]`.

Takes tasks from the socket and sends outcomes until the other end closes.
"""

import contextlib
import gc
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.evaluate import Evaluator, PointTask
from target_arch.explore.outcome import PointOutcome
from target_arch.registry.plug_ins import PlugIns

_OBJECTS = 50_000


def serve(connection: Connection, folders: tuple[Path, ...]) -> None:
    """Answer until the other end closes. An answer is a PointOutcome, None, or a DiagnosticError."""
    evaluator: Evaluator | None = None
    while True:
        what, task = connection.recv()
        try:
            evaluator = evaluator or Evaluator(PlugIns.discover(folders))
            connection.send(_answered(evaluator, what, task))
        except DiagnosticError as error:
            connection.send(DiagnosticError(error.diagnostics))


def _answered(evaluator: Evaluator, what: str, task: PointTask) -> PointOutcome | None:
    if what == "point":
        return evaluator(task)
    evaluator.read(task)
    return None


if __name__ == "__main__":
    gc.set_threshold(_OBJECTS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        serve(Connection(int(sys.argv[1])), tuple(map(Path, sys.argv[2:])))
