"""Engines as Verilated RTL: objects that take the place of behavioural simulators in a built bundle.

An engine has RTL where `rtl/<engine>/` exists. A model is made once per machine, and kept by the hash of its
inputs below the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`).
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.resources import rtl
from target_arch.run.bundles.errors import unwritable
from target_arch.run.executables.cache import cache_folder, remove_unused, use
from target_arch.run.tools.toolchain import missing

MEMORY_BYTES = 1 << 20
"""Size of the memory of a simulated core, a power of two: enough for every shipped SoC."""

HINT = "install it (`apt-get install {tool}`; `make simulators` installs all simulators)"

_MODEL = ("--cc", "-Wall", "-O3", "--x-assign", "fast", "--noassert", f"-GMEMORY_BYTES={MEMORY_BYTES}")
_CXX = ("-std=c++17", "-O2", "-fPIC", "-pthread")
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_TIMEOUT = 600.0
_SHOWN_LINES = 20


@frozen(kw_only=True)
class Simulator:
    """The programs that turn RTL into objects, and Verilator's own folder."""

    verilator: str
    cxx: tuple[str, ...]
    root: Path
    version: str


def with_rtl(sources: Sequence[str]) -> tuple[str, ...]:
    """The engines among a bundle's sources whose behavioural simulator RTL can replace."""
    present = {path.name for path in rtl().iterdir() if path.is_dir()} if rtl().is_dir() else set()
    return tuple(sorted(name for name in present if simulator_source(name) in sources))


def simulator_source(engine: str) -> str:
    """The file in a bundle that simulates an engine by its behaviour."""
    return f"runtime/simulators/{engine}.c"


def find_verilator() -> Simulator:
    """ToolMissing without Verilator or a C++ compiler. The environment's CXX names the compiler."""
    verilator = shutil.which("verilator")
    if verilator is None:
        raise missing("verilator", "no Verilator: `verilator` not found", HINT.format(tool="verilator"))
    wanted = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    if shutil.which(wanted[0]) is None:
        raise missing("c++-compiler", f"no C++ compiler: `{wanted[0]}` not found", HINT.format(tool="g++"))
    root = _output((verilator, "--getenv", "VERILATOR_ROOT"))
    version = _output((verilator, "--version")) + _output((*wanted, "--version"))
    return Simulator(verilator=verilator, cxx=tuple(wanted), root=Path(root), version=version)


def objects(engine: str, directory: Path, folder: Path, flags: Sequence[str] = ()) -> tuple[Path, ...]:
    """Objects that define the simulator symbol of an engine for the bundle in `directory`.

    The bundle's own sources are compiled into `folder`, with `flags`. ToolMissing as in `find_verilator`,
    DiagnosticError where a tool refuses the sources. Programs that use them need the C++ library.
    """
    tools = find_verilator()
    model = _model(engine, tools)
    made = folder / f"{engine}_verilated.o"
    source = rtl() / engine / "verilated_simulator.cpp"
    include = directory.absolute()
    paths = (f"-I{include / 'include'}", f"-I{include / 'runtime'}", *_system(tools, model))
    size = f"-DTA_RTL_MEMORY_BYTES={MEMORY_BYTES}u"
    _run((*tools.cxx, *_CXX, *_WARNINGS, *flags, size, *paths, "-c", str(source), "-o", str(made.absolute())))
    return (made, *sorted(model.glob("*.o")))


def _model(engine: str, tools: Simulator) -> Path:
    """The folder with the headers and objects of a Verilated engine."""
    cache = cache_folder() / "engines"
    folder = cache / f"{engine}-{_key(engine, tools)}"
    if use(folder):
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        remove_unused(cache)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            made = Path(work) / "model"
            _verilate(engine, tools, made)
            if not folder.is_dir():
                made.replace(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process made it meanwhile
            raise unwritable(cache, error) from error
    return folder


def _key(engine: str, tools: Simulator) -> str:
    key = hashlib.sha256("\0".join((tools.version, *tools.cxx, *_MODEL, *_CXX)).encode())
    for path in _sources(engine):
        key.update(path.name.encode() + b"\0" + path.read_bytes())
    return key.hexdigest()[:24]


def _sources(engine: str) -> list[Path]:
    return sorted(path for path in (rtl() / engine).iterdir() if path.suffix in {".v", ".vh"})


def _verilate(engine: str, tools: Simulator, folder: Path) -> None:
    top = rtl() / engine / f"{engine}.v"
    names = ("--prefix", f"V{engine}", "--top-module", engine, "--Mdir", str(folder), "-y", str(top.parent))
    _run((tools.verilator, *_MODEL, *names, f"-I{top.parent}", str(top)))
    library = [tools.root / "include" / f"verilated{part}.cpp" for part in ("", "_threads")]

    def one(source: Path) -> None:
        made = folder / f"{source.stem}.o"
        _run((*tools.cxx, *_CXX, *_system(tools, folder), "-c", str(source), "-o", str(made)))

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(one, (*sorted(folder.glob("*.cpp")), *library)))


def _system(tools: Simulator, folder: Path) -> tuple[str, ...]:
    """Flags that include headers of others without warnings."""
    include = tools.root / "include"
    return ("-isystem", str(include), "-isystem", str(include / "vltstd"), "-isystem", str(folder))


def _output(command: Sequence[str]) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        place = Path(command[0]).name
        hint = HINT.format(tool=place)
        raise missing(place, f"`{shlex.join(command)}` does not work", hint) from error
    return answer.stdout.strip()


def _run(command: Sequence[str]) -> None:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise _failed(f"`{Path(command[0]).name}` did not end within {_TIMEOUT:.0f} s") from None
    if answer.returncode != 0:
        said = "\n".join(answer.stderr.strip().splitlines()[:_SHOWN_LINES])
        raise _failed(f"`{Path(command[0]).name}` refuses the RTL:\n{said}")


def _failed(message: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule="rtl-failed", place=str(rtl()), message=message)])
