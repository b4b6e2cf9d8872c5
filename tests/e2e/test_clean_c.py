"""The C of a bundle over all four kinds is clean: two compilers, sanitizers, late devices, random delays."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from tests.e2e.conftest import DIGITS, Compile, portable
from tests.slow import slow_except

FRAMES = 4


def _packed() -> tuple[bytes, ...]:
    frames = reference_for(DIGITS).frames(FRAMES, seed=9)
    return tuple(b"".join(part.tobytes() for part in frame) for frame in frames)


@pytest.fixture(scope="module")
def right(compiled: Compile, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ...]:
    _, folder = compiled(DIGITS, "mcu_m55")
    copy = tmp_path_factory.mktemp("plain") / "bundle"
    shutil.copytree(folder, copy)
    return run_frames(build(copy), _packed())


@pytest.mark.parametrize("soc", slow_except([], ["zynq_edge", "quad_conv"]))
@pytest.mark.parametrize("sanitize", [("address", "undefined"), ("thread",)], ids="+".join)
@pytest.mark.parametrize("compiler", slow_except(["gcc"], ["gcc", "clang"], by_hand=["clang"]))
def test_sanitizers_find_nothing(
    compiled: Compile,
    right: tuple[bytes, ...],
    needs_tool: Callable[[str], str],
    tmp_path: Path,
    compiler: str,
    sanitize: tuple[str, ...],
    soc: str,
) -> None:
    needs_tool(compiler)
    _, folder = compiled(DIGITS, soc)
    copy = tmp_path / "bundle"
    shutil.copytree(folder, copy)
    executable = build(copy, sanitize=sanitize, compiler=portable(compiler), optimize="-O1")
    assert run_frames(executable, _packed()) == right


@pytest.mark.parametrize("soc", ["zynq_edge", "quad_conv"])
def test_late_devices_change_nothing(
    compiled: Compile, right: tuple[bytes, ...], tmp_path: Path, soc: str
) -> None:
    """A missing Wait shows where devices and DMA engines do nothing before they are waited for."""
    _, folder = compiled(DIGITS, soc)
    copy = tmp_path / "bundle"
    shutil.copytree(folder, copy)
    executable = build(copy)
    assert run_frames(executable, _packed(), lazy=True) == right
    assert all(run_frames(executable, _packed(), jitter=seed) == right for seed in range(1, 6))
