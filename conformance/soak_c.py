"""A bundle that runs a million times on the host port while random faults happen, under ASan and UBSan.

    python -m conformance.soak_c [--runs N] [--seed N]

Needs clang. Prints what `tests/runtime_c/soak.c` prints ten times on the way: runs, faults of each kind, what
was wrong, memory and descriptors. Exit code 1 where something was wrong.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.fuzz_c import FLAGS, ROOT, WITH_HOST_PORT

SOURCE = ROOT.parent / "tests" / "runtime_c" / "soak.c"


def build(program: Path, *compiler: str) -> None:
    """Compile the program, by a compiler with its flags."""
    sources = [str(path) for pattern in WITH_HOST_PORT for path in sorted(ROOT.glob(pattern))]
    command = (*compiler, str(SOURCE), *sources, "-lpthread", "-o", str(program))
    subprocess.run(command, cwd=ROOT, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="a million runs with random faults")
    parser.add_argument("--runs", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "soak"
        build(program, "clang", *FLAGS)
        command = (str(program), str(wanted.runs), str(wanted.seed))
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
