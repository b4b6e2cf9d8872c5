"""The C runtime: every public header alone, the core freestanding, the conformance suite on every port.

Run with each compiler, plain and under the sanitizers. What a machine lacks is skipped with its install hint.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from target_arch.resources import runtime_c
from tests.slow import slow_except

ROOT = runtime_c()
WARNINGS = ("-pedantic", "-Wall", "-Wextra", "-Werror")
C99 = ("-std=c99", *WARNINGS)


def files(folder: str, pattern: str) -> list[str]:
    """Paths below the runtime's folder, sorted."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


HEADERS = [
    path for name in ("include", "ports", "load", "cores", "lent", "models") for path in files(name, "*.h")
]
CORE = files("core", "*.c")
COMPILERS = {"gcc": "g++", "clang": "clang++"}
SANITIZERS = {
    "plain": ("-O2",),
    "asan+ubsan": ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "tsan": ("-O1", "-g", "-fsanitize=thread"),
}


@pytest.fixture(params=[pytest.param("clang", marks=pytest.mark.slow), "gcc"])
def compiler(request: pytest.FixtureRequest) -> str:
    """A C compiler of this machine."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    return name


def compile_c(*command: str) -> None:
    """Run a compiler in the runtime's folder; its messages are the failure."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def links(compiler: str, flags: tuple[str, ...], folder: Path) -> bool:
    """True where the compiler links a program with these flags; sanitizers may be a package of their own."""
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, *flags, str(source), "-o", str(folder / "empty")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def build_and_run(
    compiler: str, port: str, flags: tuple[str, ...], folder: Path, *more: str | Path
) -> list[str]:
    """The suite's output on a port, line by line, once it exited with 0; `more` are sources and macros."""
    if not links(compiler, flags, folder):
        pytest.skip(f"{compiler} cannot link with {' '.join(flags)}: install its sanitizer libraries")
    folders = ("core", f"ports/{port}", "conformance", f"conformance/{port}")
    sources = [str(path) for name in folders for path in sorted((ROOT / name).glob("*.c"))]
    program = folder / "conformance"
    paths = (*sources, *map(str, more), "-o", str(program))
    compile_c(compiler, *C99, *flags, "-I.", "-Iinclude", *paths, "-lpthread")
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("header", HEADERS)
def test_header_stands_alone(compiler: str, header: str, tmp_path: Path) -> None:
    include = f'#include "{header.removeprefix("include/")}"\n'
    for suffix, front in ((".c", [compiler, *C99]), (".cpp", [COMPILERS[compiler], "-std=c++11", *WARNINGS])):
        if shutil.which(front[0]) is None:
            pytest.skip(f"no {front[0]}: install the C++ compiler beside {compiler}")
        source = tmp_path / f"alone{suffix}"
        source.write_text(include + include)
        compile_c(*front, "-fsyntax-only", "-I.", "-Iinclude", str(source))


@pytest.mark.parametrize("source", CORE)
def test_core_is_freestanding(compiler: str, source: str, tmp_path: Path) -> None:
    flags = (*C99, "-Wconversion", "-ffreestanding", "-O2")
    compile_c(compiler, *flags, "-I.", "-Iinclude", "-c", source, "-o", str(tmp_path / "core.o"))


def test_core_and_null_port_need_nothing_from_the_system(compiler: str, tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm: apt-get install binutils")
    joined = tmp_path / "joined.o"
    sources = (*CORE, "ports/null/port_null.c")
    flags = (*C99, "-ffreestanding", "-O1", "-I.", "-Iinclude", "-nostdlib", "-r")
    compile_c(compiler, *flags, *sources, "-o", str(joined))
    listing = subprocess.run(["nm", "-u", joined], capture_output=True, text=True, check=True).stdout
    # A freestanding compiler may still call these four; everything else would be a library.
    needed = {line.split()[-1] for line in listing.splitlines()} - {"_GLOBAL_OFFSET_TABLE_"}
    assert needed <= {"memcpy", "memset", "memmove", "memcmp"}


@pytest.mark.parametrize(
    ("compiler", "sanitizer"),
    [
        ("gcc", "plain"),
        pytest.param("gcc", "tsan", marks=pytest.mark.slow),
        pytest.param("gcc", "asan+ubsan", marks=pytest.mark.long),
        *(pytest.param("clang", name, marks=pytest.mark.long) for name in SANITIZERS),
    ],
    indirect=["compiler"],
)
def test_host_port_conforms(compiler: str, sanitizer: str, tmp_path: Path) -> None:
    lines = build_and_run(compiler, "host", SANITIZERS[sanitizer], tmp_path)
    ran = [line for line in lines[:-1] if "the system gives it a stack" not in line]
    assert [line for line in ran if not line.startswith("ok ")] == []
    assert lines[-1] == f"1..{len(lines) - 1}"
    assert {line.rpartition("(")[2].rstrip(")") for line in ran} == {"eager", "jitter", "lazy", "wrap"}


@pytest.mark.parametrize("sanitizer", slow_except(["plain"], ["plain", "asan+ubsan"]))
def test_null_port_conforms_and_skips_what_it_lacks(compiler: str, sanitizer: str, tmp_path: Path) -> None:
    lines = build_and_run(compiler, "null", SANITIZERS[sanitizer], tmp_path)
    kinds = {kind: [line for line in lines if line.startswith(f"{kind} ")] for kind in ("ok", "skip")}
    assert len(kinds["ok"]) + len(kinds["skip"]) + 1 == len(lines)
    assert any("calls on the host" in line for line in kinds["ok"])
    assert any("copies by DMA: sizes and alignments" in line for line in kinds["skip"])
