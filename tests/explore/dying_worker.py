"""A worker that dies with every chip of 64 KiB, once with those of 1 KiB, and answers else."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.worker import main

if TYPE_CHECKING:
    from target_arch.explore.evaluate import PointTask


def answered(what: str, task: "PointTask") -> PointOutcome | int:
    once = Path(os.environ["ONCE"])
    if "tcm = 64 KiB" in task.chip.shown and (what == "point" or "READ" in os.environ):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "point" and "sram = 1 KiB" in task.chip.shown and not once.exists():
        once.touch()
        os._exit(7)
    return PointOutcome(status=Status.REFUSED, reason=task.chip.shown) if what == "point" else 0


main(answered)
