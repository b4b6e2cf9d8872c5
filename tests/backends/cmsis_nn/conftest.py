"""What the tests of the C library backend share."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.resources import examples
from target_arch.soc import SoC, read_soc
from target_arch.soc.model import TargetArch
from tests.backends.c.one import Compile, compiler

Changed = Callable[[str, str, str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    """Compiles the C that the library is compared with."""
    return compiler(tmp_path_factory.mktemp("kernels"), needs_tool("gcc"), needs_tool("clang"))


@pytest.fixture
def changed(tmp_path: Path) -> Changed:
    """`changed(file, text, other)`: a copy of the example library in which a text is replaced by another."""

    def change(file: str, text: str, other: str) -> Path:
        copy = tmp_path / "library"
        if not copy.exists():
            shutil.copytree(examples() / "c_library", copy)
        before = (copy / file).read_text()
        assert text in before
        (copy / file).write_text(before.replace(text, other))
        return copy

    return change


def library_soc(**options: int | float | str | bool) -> SoC:
    """The example's SoC, with options of its only target_arch."""
    soc = read_soc(str(examples() / "c_library" / "soc.toml"))
    arch: TargetArch = evolve(soc.archs[0], options=options)
    return evolve(soc, archs=(arch,))
