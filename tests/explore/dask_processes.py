"""A scheduler of Dask and a worker, as processes of their own that a test may end."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PATIENCE = 120
"""Seconds in which a scheduler starts."""


class DaskProcesses:
    """Both run as long as the context is."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dask-")
        file = Path(self._folder.name) / "scheduler.json"
        self._scheduler = _started(
            ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"], "--scheduler-file", file
        )
        self._worker = _started(
            ["worker", "--nworkers", "1", "--nthreads", "1", "--no-dashboard"], "--scheduler-file", file
        )
        before = time.monotonic()
        while not file.is_file() or not file.read_text().strip():
            assert time.monotonic() - before < _PATIENCE
            time.sleep(0.2)
        self.address = str(json.loads(file.read_text())["address"])

    def __enter__(self) -> "DaskProcesses":
        return self

    def __exit__(self, *raised: object) -> None:
        for process in (self._worker, self._scheduler):
            process.kill()
            process.wait()
        self._folder.cleanup()

    def end(self) -> None:
        """End the scheduler."""
        self._scheduler.kill()
        self._scheduler.wait()


def _started(words: list[str], flag: str, file: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words, flag, str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=file.parent,
    )
