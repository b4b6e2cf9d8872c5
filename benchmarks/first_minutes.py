"""The first minutes of a stranger, timed: from nothing to the report of a model on a chip of one's own.

    python -m benchmarks.first_minutes MODEL

In an empty folder, with an environment of its own: install this repository, write a SoC file, compile the
model for it, run it, verify it, write the report, and open that in a browser, where Chromium is there. The
time to install is that of this computer's network and disk; packages that pip has kept are not fetched
again. Beside the time that passes stands that of all processors together, which other work on this computer
hardly changes.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from target_arch.plan.printed.text import table

REPOSITORY = Path(__file__).parents[1]
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")

Command = tuple[str, Sequence[str | Path]]


def commands(folder: Path, model: Path) -> Iterator[Command]:
    """Every step in words, and its command."""
    programs = folder / "env" / "bin"
    ours = programs / "target-arch"
    yield "make an environment", (sys.executable, "-m", "venv", folder / "env")
    yield "install", (programs / "pip", "install", "--quiet", f"{REPOSITORY}[verify]")
    yield "new-soc my_chip", (ours, "new-soc", "my_chip")
    yield "check", (ours, "check", "my_chip.toml")
    yield "compile", (ours, "compile", model, "--soc", "my_chip.toml", "-o", "bundle")
    yield "run", (ours, "run", "bundle")
    yield "verify, 50 inputs", (ours, "verify", model, "--bundle", "bundle")
    yield "report --html", (ours, "report", "bundle", "--html", "report.html")
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is not None:
        page = (folder / "report.html").as_uri()
        options = ("--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--screenshot=report.png")
        yield "open it in a browser", (browser, *options, page)


def main() -> int:
    """Time every command; the exit code of the first that fails."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("model", type=Path)
    model: Path = reading.parse_args().model.absolute()
    rows: list[tuple[str, str, str]] = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, command in commands(folder, model):
            start, used = time.perf_counter(), _processor_seconds()
            words = [str(word) for word in command]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            rows.append((what, f"{time.perf_counter() - start:.1f}", f"{_processor_seconds() - used:.1f}"))
            if done.returncode:
                print(done.stderr)
                return done.returncode
    rows.append(("together", f"{time.perf_counter() - begun:.1f}", f"{_processor_seconds():.1f}"))
    print(table(("what", "seconds", "of processors"), rows, right=(1, 2)), end="")
    return 0


def _processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
