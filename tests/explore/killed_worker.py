"""A worker that is killed, or ends by itself, with the first so many tasks of each kind."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.explore.worker import main

if TYPE_CHECKING:
    from target_arch.explore.evaluate import PointTask


def answered(what: str, task: "PointTask") -> "PointTask":
    file = Path(os.environ["ASKED"]) / what
    with file.open("a") as asked:
        asked.write(".")
    if len(file.read_text()) <= int(os.environ[what]):
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    return task


main(answered)
