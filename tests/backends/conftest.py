"""Engines as shared libraries, for the tests of the backends that program them."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNTIME = HERE.parent.parent / "runtime_c"
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared")
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def build(
    tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> Callable[[str], ctypes.CDLL]:
    """`build(engine)`: driver, simulator and glue, compiled once with UBSan."""
    libraries: dict[str, ctypes.CDLL] = {}

    def make(engine: str) -> ctypes.CDLL:
        if engine not in libraries:
            path = tmp_path_factory.mktemp("engine") / f"{engine}.so"
            sources = [HERE / "engine_glue.c", RUNTIME / "simulators" / "int8.c"]
            sources.append(RUNTIME / "drivers" / f"{engine}.c")
            sources += sorted((RUNTIME / "simulators").glob(f"{engine}*.c"))
            sources.append(RUNTIME / "drivers" / "engine.c")
            command = [needs_tool("gcc"), *FLAGS, *UNDEFINED, f"-DENGINE={engine}"]
            command += [f"-I{RUNTIME / 'include'}", *map(str, sources), "-o", str(path)]
            subprocess.run(command, check=True)
            libraries[engine] = ctypes.CDLL(str(path))
        return libraries[engine]

    return make
