"""The fuzz targets of the C runtime (`runtime_c/fuzz`), under ASan and UBSan.

    python -m conformance.fuzz_c [tables|elf|port]... [--seconds N | --executions N]

libFuzzer, which clang brings, mutates a corpus that is made here: images by `conformance/elf_images.py`,
lists of edits and calls from seeded numbers. Prints executions, new inputs and findings of each target.
`--keep FOLDER` keeps corpus and findings, and goes on with what is there. Exit code 1 where there is a
finding.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from conformance.elf_images import images

ROOT = Path(__file__).parents[1] / "runtime_c"
SANITIZERS = "-fsanitize=address,undefined"
FLAGS = ("-std=c99", "-g", "-O1", SANITIZERS, "-fno-sanitize-recover=all", "-I.", "-Iinclude")
WITH_HOST_PORT = (
    "core/*.c",
    "ports/host/*.c",
    "conformance/system.c",
    "conformance/workload.c",
    "conformance/adder_driver.c",
    "conformance/host/under_test.c",
)


def _lists(seed: int, row: int) -> Mapping[str, bytes]:
    """Lists of rows of so many random bytes: one, two, … of them."""
    numbers = random.Random(seed)
    return {f"list-{count}": numbers.randbytes(row * count) for count in range(1, 17)}


@frozen(kw_only=True)
class Target:
    """A target: its sources beside `fuzz/<name>.c`, the first inputs, and the most bytes of one."""

    sources: tuple[str, ...]
    corpus: Callable[[], Mapping[str, bytes]]
    most_bytes: int


TARGETS = {
    "elf": Target(sources=("load/elf.c",), corpus=images, most_bytes=1024),
    "port": Target(sources=WITH_HOST_PORT, corpus=lambda: _lists(7, 4), most_bytes=192),
    "tables": Target(sources=WITH_HOST_PORT, corpus=lambda: _lists(5, 8), most_bytes=64),
}


@frozen(kw_only=True)
class Campaign:
    """What a run of libFuzzer did; `finding` is the end of its output where it stopped."""

    executions: int
    added: int
    seconds: int
    finding: str


def run(name: str, folder: Path, *, seconds: int = 0, executions: int = -1) -> Campaign:
    """Fuzz one target for so many seconds (0: no limit) or executions; `folder` gets corpus and findings."""
    target, corpus = TARGETS[name], folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for key, content in target.corpus().items():
        (corpus / key).write_bytes(content)
    program = folder / f"fuzz_{name}"
    build(name, program, f"{SANITIZERS},fuzzer")
    options = (f"-runs={executions}", f"-max_total_time={seconds}", f"-max_len={target.most_bytes}")
    fixed = (
        "-seed=1",
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
    )
    command = (str(program), *options, *fixed, str(corpus))
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    return Campaign(
        executions=_number(done.stderr, r"number_of_executed_units: (\d+)"),
        added=_number(done.stderr, r"new_units_added: +(\d+)"),
        seconds=_number(done.stderr, r"Done \d+ runs in (\d+)"),
        finding=done.stderr[-4000:] if done.returncode else "",
    )


def build(name: str, program: Path, sanitizers: str, *more: str) -> None:
    """Compile a target with clang; `more` are flags and sources."""
    sources = [str(path) for pattern in TARGETS[name].sources for path in sorted(ROOT.glob(pattern))]
    command = (
        "clang",
        *FLAGS,
        sanitizers,
        f"fuzz/{name}.c",
        *more,
        *sources,
        "-lpthread",
        "-o",
        str(program),
    )
    subprocess.run(command, cwd=ROOT, check=True)


def _number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=0, metavar="N", help="of each target")
    parser.add_argument("--executions", type=int, default=-1, metavar="N", help="of each target")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="corpus and findings")
    wanted = parser.parse_args()
    if wanted.seconds == 0 and wanted.executions < 0:
        wanted.seconds = 20
    findings = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = (wanted.keep or Path(scratch)).absolute()
        for name in wanted.targets or TARGETS:
            found = run(name, folder, seconds=wanted.seconds, executions=wanted.executions)
            print(
                f"{name}: {found.executions:,} executions, {found.added:,} new inputs, "
                f"{int(bool(found.finding))} findings, {found.seconds} s",
                flush=True,
            )
            print(found.finding, end="", flush=True)
            findings += bool(found.finding)
    return int(findings != 0)


if __name__ == "__main__":
    sys.exit(main())
