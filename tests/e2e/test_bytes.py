"""Two runs, in different folders and with different hash seeds, give the same bytes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import DIGITS


def _digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_same_bytes(tmp_path: Path) -> None:
    digests = []
    for seed, where in (("1", "here"), ("4711", "elsewhere")):
        (tmp_path / where).mkdir()
        command = [
            sys.executable,
            "-m",
            "target_arch",
            "compile",
            str(DIGITS),
            "--soc",
            "zynq_edge",
            "-o",
            "out",
        ]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=tmp_path / where, env=environment, check=True, capture_output=True)
        digests.append(_digest(tmp_path / where / "out"))
    assert digests[0] == digests[1]
    assert len(digests[0]) > 10
