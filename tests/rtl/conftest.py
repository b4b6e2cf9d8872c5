"""The Verilated conv2d core, made once a session, beside the behavioural simulator of the same engine."""

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from target_arch.run.executables import rtl

REPOSITORY = Path(__file__).parents[2]
RUNTIME = REPOSITORY / "runtime_c"
CORE = REPOSITORY / "rtl" / "conv2d_engine"
GLUE = REPOSITORY / "tests" / "backends" / "engine_glue.c"


@pytest.fixture(scope="session")
def verilated(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Iterator[None]:
    """Verilator is there, and what it makes is kept for this session only."""
    needs_tool("verilator")
    needs_tool("g++")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def libraries(
    verilated: None, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> dict[str, ctypes.CDLL]:
    """`rtl` and `behaviour`: the same driver and the same glue around each."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "include").symlink_to(RUNTIME / "include")
    (folder / "runtime").symlink_to(RUNTIME)
    behaviour = [str(RUNTIME / "simulators" / f"{name}.c") for name in ("conv2d_engine", "int8")]
    hardware = [str(path) for path in rtl.objects("conv2d_engine", folder, folder)]
    drivers = [str(RUNTIME / "drivers" / f"{name}.c") for name in ("conv2d_engine", "engine")]
    flags = ["-shared", "-fPIC", "-O1", "-DENGINE=conv2d_engine", f"-I{RUNTIME / 'include'}"]
    made = {}
    for name, own in (("behaviour", behaviour), ("rtl", [*hardware, "-lstdc++", "-lpthread"])):
        path = folder / f"{name}.so"
        command = [needs_tool("gcc"), *flags, str(GLUE), *drivers, *own, "-o", str(path)]
        subprocess.run(command, check=True)
        made[name] = ctypes.CDLL(str(path))
    return made
