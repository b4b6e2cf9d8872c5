"""Bundles that several tests look at are compiled once a session."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.run.tools.toolchain import Compiler, find_compiler
from target_arch.soc import read_soc

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.onnx"
PORTABLE = "-DTA_KERNELS_PORTABLE"
EVICTIONS = 4  # lines of the host's cache that each of its operations evicts

Compiled = tuple[CompiledModel, Path]
Compile = Callable[[Path, str], Compiled]


WITH_VECTORS = ("test_onnx_node_tests",)
"""They compare many operators' outputs with references; what others ask does not depend on forms of kernels,
or says itself when it does.
"""


@pytest.fixture(scope="module", autouse=True)
def portable_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """The compiler that a build finds takes kernels without forms for vectors, which have tests of their own:
    they take most of the time of a build.
    """
    with pytest.MonkeyPatch.context() as environment:
        if request.path.stem not in WITH_VECTORS:
            environment.setenv("CC", f"cc {PORTABLE}")
        yield


def portable(name: str = "gcc") -> Compiler:
    """The compiler of that name, with kernels in their portable forms."""
    return find_compiler(f"{name} {PORTABLE}")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`compiled(model, soc)`: the compilation, and the folder its bundle was written to."""

    @cache
    def one(model: Path, soc: str) -> Compiled:
        compilation = compile_model(CompileRequest(model_path=model, soc=read_soc(soc)))
        folder = tmp_path_factory.mktemp(f"{model.stem}_{soc}") / "bundle"
        write_bundle(compilation.bundle, folder)
        return compilation, folder

    return one


def behind_a_cache(evictions: int = EVICTIONS) -> Compiler:
    """The host's compiler, with a cache in front of every memory with cache duties.

    Without evictions a stale line stays until a duty drops it, so a forgotten duty shows however transfers
    and the host are timed.
    """
    found = find_compiler()
    flags = ("-DTA_HOST_CACHE=5", f"-DTA_HOST_EVICTIONS={evictions}u")
    return Compiler(command=(*found.command, *flags), version=found.version)
