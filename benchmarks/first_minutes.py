"""The first hour of a stranger, timed: from nothing to the report of a float model that was made to fit a
chip of one's own, and to a program on an emulated board.

    python -m benchmarks.first_minutes

In an empty folder, with an environment of its own: install this repository with what the tutorial wants,
train its PyTorch model, check its chip, quantize, compile, verify, write the report and open that in a
browser, where Chromium is there, and build and run the firmware, where its tools are: the commands of
`docs/tutorial.md`.

The time to install is that of this computer's network and disk; packages that pip has kept are not
fetched again. Beside the time that passes stands that of all processors together, which other work on
this computer hardly changes. Ends with 1 where it took longer than MOST seconds to the report.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from target_arch.plan.printed.text import table

REPOSITORY = Path(__file__).parents[1]
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
FIRMWARE = ("cmake", "qemu-system-arm")
WANTED = f"{REPOSITORY}[verify,quantize,torch]"
MOST = 15 * 60


def commands(folder: Path) -> Iterator[str]:
    """Every command, those of the tutorial with the environment in the path."""
    yield f"{sys.executable} -m venv env"
    yield f"pip install --quiet '{WANTED}' scikit-learn"
    blocks = re.findall(r"```sh\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    for command in "".join(blocks).splitlines():
        if not command.startswith(FIRMWARE) or all(map(shutil.which, FIRMWARE)):
            yield command
        if command.startswith("target-arch report"):
            yield from opened(folder)


def opened(folder: Path) -> Iterator[str]:
    """The report in a browser, where there is one."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is not None:
        options = "--no-sandbox --disable-gpu --window-size=1280,900 --screenshot=report.png"
        yield f"{browser} {options} {(folder / 'report.html').as_uri()}"


def main() -> int:
    """Time every command; the exit code of the first that fails."""
    rows: list[tuple[str, str, str]] = []
    to_report = 0.0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        shutil.copytree(REPOSITORY / "examples" / "tutorial", folder)
        path = f"{folder / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": ""}
        for command in commands(folder):
            start, used = time.perf_counter(), _processor_seconds()
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            took = time.perf_counter() - start
            rows.append((_short(command), f"{took:.1f}", f"{_processor_seconds() - used:.1f}"))
            if done.returncode:
                print(done.stdout, done.stderr)
                return done.returncode
            if "report.html" in command:
                to_report = time.perf_counter() - begun
        rows.append(("to the report", f"{to_report:.1f}", ""))
        rows.append(("together", f"{time.perf_counter() - begun:.1f}", f"{_processor_seconds():.1f}"))
    print(table(("command", "seconds", "of processors"), rows, right=(1, 2)), end="")
    return int(to_report > MOST)


def _short(command: str) -> str:
    """The first words of a command, without the folders of its program."""
    program, _, rest = command.partition(" ")
    words = f"{Path(program).name} {rest}"
    return words if len(words) <= 60 else f"{words[:59]}…"


def _processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
