"""Branch coverage of the C runtime by its conformance and fault suites, file by file.

    python -m conformance.coverage_c [--missing]

Needs gcc and gcov. A branch that no test can take is named in `runtime_c/conformance/unreachable.txt` with
the reason; `--missing` prints those that are neither taken nor named. Exit code 1 where a file has fewer than
95 % of its branches taken, the unreachable ones not counted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from conformance.elf_images import DEVICE, MACHINE, PHYSICAL, ROOM, images
from target_arch.plan.printed.text import table

REPOSITORY = Path(__file__).parents[1]
ROOT = REPOSITORY / "runtime_c"
UNREACHABLE = ROOT / "conformance" / "unreachable.txt"
LEAST = 95.0
MEASURED = (
    *(f"core/{name}.c" for name in ("execute", "fill", "names", "places", "runtime", "validate")),
    "lent/lent.c",
    "load/elf.c",
    *(
        f"ports/host/{name}.c"
        for name in ("cache", "checksum", "cpus", "images", "lanes", "memory", "port_host")
    ),
)
WRAPPED = (
    "pthread_create",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_setaffinity_np",
    "sched_getaffinity",
    "sched_getcpu",
    "clock_gettime",
)
FLAGS = ("-std=c99", "-O0", "-g", "-DTA_HOST_PATIENCE_US=100000u", f"-I{ROOT}", f"-I{ROOT / 'include'}")


@frozen(kw_only=True)
class File:
    """The branches of a file; `missing` are those neither taken nor named, as line number, count and text."""

    path: str
    branches: int
    taken: int
    named: int
    missing: tuple[tuple[int, int, str], ...]

    @property
    def percent(self) -> float:
        return 100.0 * self.taken / (self.branches - self.named)


def measure() -> tuple[File, ...]:
    """Build and run everything in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in MEASURED:
            flags = (*FLAGS, "--coverage", "-c", str(ROOT / source), "-o", _object(source))
            subprocess.run(("gcc", *flags), cwd=folder, check=True)
        _run_all(folder)
        named = dict(_named())
        return tuple(_file(source, folder, named.get(source, {})) for source in MEASURED)


def _object(source: str) -> str:
    return source.replace("/", "_").removesuffix(".c") + ".o"


def _run_all(folder: Path) -> None:
    suite = sorted((ROOT / "conformance").glob("*.c"))
    system = [path for path in suite if path.stem in ("system", "workload", "adder_driver")]
    tests = REPOSITORY / "tests"
    wrap = f"-Wl,{','.join(f'--wrap={name}' for name in WRAPPED)}"
    under_test = ROOT / "conformance" / "host" / "under_test.c"
    _run(folder, "suite", (*suite, under_test), ())
    _run(folder, "lent", (*system, under_test, tests / "runtime_c" / "lent.c"), ())
    _run(folder, "host_port", (*system, tests / "runtime_c" / "host_port.c"), (wrap,))
    _run(folder, "cores", (*system, under_test, tests / "runtime_c" / "cores.c"), ())
    _build(folder, "elf_loader", (tests / "firmware" / "elf_loader.c",), ())
    numbers = [str(number) for number in (MACHINE, PHYSICAL, DEVICE, ROOM)]
    for name, image in images().items():
        (folder / name).write_bytes(image)
        subprocess.run(("./elf_loader", name, *numbers), cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _build(folder: Path, name: str, sources: Iterable[Path], flags: tuple[str, ...]) -> None:
    measured = [_object(source) for source in MEASURED if name != "elf_loader" or source.startswith("load/")]
    command = ("gcc", *FLAGS, *map(str, sources), *measured, "--coverage", *flags, "-lpthread", "-o", name)
    subprocess.run(command, cwd=folder, check=True)


def _run(folder: Path, name: str, sources: Iterable[Path], flags: tuple[str, ...]) -> None:
    _build(folder, name, sources, flags)
    subprocess.run((f"./{name}",), cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _named() -> Iterator[tuple[str, Mapping[str, int]]]:
    """Per file, how many branches of a line of source are unreachable, by its text."""
    found: dict[str, dict[str, int]] = {}
    for line in UNREACHABLE.read_text().splitlines():
        if line and not line.startswith("#") and not line.startswith("    "):
            path, count, text = line.split(" ", 2)
            found.setdefault(path, {})[text] = int(count)
    yield from found.items()


def _file(source: str, folder: Path, named: Mapping[str, int]) -> File:
    command = ("gcov", "--json-format", "--stdout", "--branch-probabilities", _object(source))
    answer = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    lines = (ROOT / source).read_text().splitlines()
    branches = taken = excused = 0
    missing = []
    for each in _lines(answer, source):
        left = sum(branch["count"] == 0 for branch in each["branches"])
        text = lines[each["line_number"] - 1].strip()
        allowed = min(left, named.get(text, 0))
        branches += len(each["branches"])
        taken += len(each["branches"]) - left
        excused += allowed
        if left > allowed:
            missing.append((each["line_number"], left - allowed, text))
    return File(path=source, branches=branches, taken=taken, named=excused, missing=tuple(missing))


def _lines(answer: str, source: str) -> Iterator[dict]:  # type: ignore[type-arg]
    for document in answer.splitlines():
        for file in json.loads(document)["files"]:
            if file["file"].endswith(f"/{source}"):
                yield from file["lines"]


def main() -> int:
    parser = argparse.ArgumentParser(description="branch coverage of the C runtime")
    parser.add_argument("--missing", action="store_true", help="print branches neither taken nor named")
    wanted = parser.parse_args()
    files = measure()
    rows = [
        (each.path, str(each.branches), str(each.taken), str(each.named), f"{each.percent:.1f} %")
        for each in files
    ]
    print(table(("file", "branches", "taken", "unreachable", "coverage"), rows, right=range(1, 5)), end="")
    for each in files if wanted.missing else ():
        for number, count, text in each.missing:
            print(f"{each.path}:{number}: {count} of: {text}")
    return int(any(each.percent < LEAST for each in files))


if __name__ == "__main__":
    sys.exit(main())
