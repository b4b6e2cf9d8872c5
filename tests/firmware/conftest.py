"""Bundles with firmware, for any core, compiled once a session; and what is needed to run them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.registry import Backends
from target_arch.registry.default_soc import WantedArch, default_soc
from target_arch.run import write_bundle
from target_arch.soc import SoC, read_soc
from target_arch.soc.cores import CORES

REPOSITORY = Path(__file__).parents[2]
SOC = REPOSITORY / "examples" / "hexagon" / "hexagon_edge.toml"
DIGITS = REPOSITORY / "examples" / "digits" / "digits_int8.onnx"

Compiled = tuple[CompiledModel, Path]
Compile = Callable[[Path, str], Compiled]


@pytest.fixture(scope="session")
def core_tools(needs_tool: Callable[[str], str]) -> Callable[[str], None]:
    """`core_tools(core)`: clang, lld and the emulator of a core are there."""

    def check(core: str) -> None:
        for name in ("clang", "ld.lld", "llvm-objdump", CORES[core].emulator):
            needs_tool(name)

    return check


@pytest.fixture(scope="session")
def soc_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SoC]:
    """The example's SoC with another core in the place of the DSP, a RISC-V that sees its memory at address 0
    as many do; of AArch64 what `--target` builds without a file.
    """

    @cache
    def one(core: str) -> SoC:
        if core == "aarch64":
            kinds = ((core, "dsp_cpu"), ("c", "c"))
            return default_soc([_default(kind, name) for kind, name in kinds], "c")
        path = tmp_path_factory.mktemp(core) / SOC.name
        text = SOC.read_text()
        assert text.count('backend = "hexagon"') == 1
        if core == "riscv64":
            assert text.count("dsp_cpu = 0xd800_0000") == 1
            text = text.replace("dsp_cpu = 0xd800_0000", "dsp_cpu = 0x0")
        path.write_text(text.replace('backend = "hexagon"', f'backend = "{core}"'))
        return read_soc(path)

    return one


def _default(kind: str, name: str) -> WantedArch:
    arch = Backends.discover()[kind].default_arch
    assert arch is not None
    return WantedArch(name=name, backend=kind, default=arch)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory, soc_with: Callable[[str], SoC]) -> Compile:
    """`compiled(model, core)`: the compilation, and the folder its bundle was written to."""

    @cache
    def one(model: Path, core: str) -> Compiled:
        made = compile_model(CompileRequest(model_path=model, soc=soc_with(core)))
        folder = tmp_path_factory.mktemp(f"{model.stem}_{core}") / "bundle"
        write_bundle(made.bundle, folder)
        return made, folder

    return one
