"""The Verilog on its own: lint, and its test bench under two simulators, which finds planted faults."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rtl.conftest import CORE
from tests.slow import slow_except

Tool = Callable[[str], str]

SHAPES = (
    (),
    ("-GLANES=32", "-GPIXELS=3", "-GWINDOW_BYTES=64"),
    ("-GPIXELS=1", "-GDMA_BYTES=16"),
    ("-GLANES=64", "-GPIXELS=8", "-GMEMORY_BYTES=1048576"),
)
MODULES = sorted(path.stem for path in CORE.glob("*.v") if not path.stem.endswith("_tb"))

WIDE = ("LANES=32", "PIXELS=3")
FAULTS = (
    ("conv2d_engine_line_buffer", "(write && held &&", "(write &&"),
    ("conv2d_engine_slave", "write_known && !running) begin", "write_known) begin"),
)
MORE_FAULTS = (
    ("conv2d_engine_dma", "in_valid && !in_error;", "in_valid;"),
    ("conv2d_engine_requantize", "rounded[0] && !(onnx && tie)", "rounded[0]"),
    ("conv2d_engine_core", "came_inside && not_padding", "not_padding"),
    ("conv2d_engine_dma", "row_start + pitch", "row_start + width"),
    ("conv2d_engine", "start && !missing", "start"),
    ("conv2d_engine_sizes", "offset <= available &&", "1 &&"),
)


def icarus(tool: Tool, sources: Path, folder: Path, layers: int, parameters: tuple[str, ...] = ()) -> str:
    """What the bench prints under Icarus; any warning is an error."""
    program = folder / "bench"
    flags = [f"-Pconv2d_engine_tb.{parameter}" for parameter in parameters]
    flags += ["-g2005", "-Wall", "-Wno-timescale", f"-I{sources}", "-s", "conv2d_engine_tb"]
    files = [str(path) for path in sorted(sources.glob("*.v"))]
    made = subprocess.run(
        [tool("iverilog"), *flags, "-o", str(program), *files], capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    command = [tool("vvp"), str(program), f"+layers={layers}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_verilator_has_nothing_to_say(needs_tool: Tool, shape: tuple[str, ...]) -> None:
    command = [needs_tool("verilator"), "--lint-only", "-Wall", *shape, "--top-module", "conv2d_engine"]
    answer = subprocess.run(
        [*command, "-y", str(CORE), f"-I{CORE}", str(CORE / "conv2d_engine.v")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


@pytest.mark.parametrize("parameters", slow_except([], [(), WIDE], by_hand=[WIDE]), ids=" ".join)
def test_the_bench_passes_under_icarus(needs_tool: Tool, tmp_path: Path, parameters: tuple[str, ...]) -> None:
    said = icarus(needs_tool, CORE, tmp_path, 2, parameters)
    assert said.splitlines()[-1] == "2 layers, 0 errors: PASS"


@pytest.mark.long
def test_the_bench_passes_under_verilator(needs_tool: Tool, tmp_path: Path) -> None:
    needs_tool("make")
    command = [needs_tool("verilator"), "--binary", "--timing", "-Wall", "--timescale", "1ns/1ps"]
    quick = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    places = ["--Mdir", str(tmp_path), "-y", str(CORE), f"-I{CORE}", "-MAKEFLAGS", quick]
    subprocess.run(
        [*command, *places, "--top-module", "conv2d_engine_tb", str(CORE / "conv2d_engine_tb.v")],
        capture_output=True, check=True,
    )  # fmt: skip
    program = [str(tmp_path / "Vconv2d_engine_tb"), "+layers=400", "+seed=7"]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert "400 layers, 0 errors: PASS" in said.splitlines()


@pytest.mark.parametrize(
    ("module", "right", "wrong"),
    [
        *(pytest.param(*fault, marks=pytest.mark.slow, id=fault[0]) for fault in FAULTS),
        *(pytest.param(*fault, marks=pytest.mark.long, id=fault[0]) for fault in MORE_FAULTS),
    ],
)
def test_the_bench_finds_a_planted_fault(
    needs_tool: Tool, tmp_path: Path, module: str, right: str, wrong: str
) -> None:
    sources = tmp_path / "rtl"
    shutil.copytree(CORE, sources)
    path = sources / f"{module}.v"
    text = path.read_text()
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong))
    assert icarus(needs_tool, sources, tmp_path, 2).splitlines()[-1].endswith("FAIL")


def test_one_module_per_file() -> None:
    for name in MODULES:
        text = (CORE / f"{name}.v").read_text()
        assert [line.split()[1] for line in text.splitlines() if line.startswith("module ")] == [name]
