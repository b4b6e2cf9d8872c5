"""A worker that dies with every chip of 64 KiB, once with those of 1 KiB, and answers else."""

import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from target_arch.explore.outcome import PointOutcome, Status

connection = Connection(int(sys.argv[1]))
with suppress(EOFError):
    while True:
        what, task = connection.recv()
        once = Path(os.environ["ONCE"])
        if "tcm = 64 KiB" in task.chip.shown and (what == "point" or "READ" in os.environ):
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "point" and "sram = 1 KiB" in task.chip.shown and not once.exists():
            once.touch()
            os._exit(7)
        connection.send(
            PointOutcome(status=Status.REFUSED, reason=task.chip.shown) if what == "point" else None
        )
