"""Inputs and outputs in memory of the caller: bit-equal to those in arenas, which are without them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.plan.memory import Arena, IoOwner
from target_arch.plan.model_pools import Sharing
from target_arch.run import build, reference_for, run_frames, verify_models, write_bundle
from target_arch.run.tools.toolchain import Compiler
from target_arch.soc import SoC, read_soc
from tests.e2e.conftest import DIGITS, Compile, behind_a_cache
from tests.relax.models import helper, onnx_model, save
from tests.step_deletion import delete_step, restore, unsealed

FRAMES = 4


def made(model: Path, soc: SoC, io: str = "caller", **fields: object) -> CompiledModel:
    return compile_model(CompileRequest(model_path=model, soc=soc, io=io, **fields))  # type: ignore[arg-type]


def with_sram(size: int) -> SoC:
    """The microcontroller with so many bytes of SRAM."""
    soc = read_soc("mcu_m7")
    memories = (evolve(each, size=size) if each.name == "sram" else each for each in soc.memories)
    return evolve(soc, memories=tuple(memories))


def lent(compilation: CompiledModel) -> dict[str, int]:
    return {str(arena): peak for arena, peak in compilation.plan.peaks.items() if arena.caller}


def answers(folder: Path, model: Path, compiler: Compiler | None = None) -> tuple[bytes, ...]:
    frames = reference_for(model).frames(FRAMES, seed=5)
    data = tuple(b"".join(part.tobytes() for part in frame) for frame in frames)
    return run_frames(build(folder, compiler=compiler, optimize="-O0"), data)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[CompiledModel, Path]:
    """The example model on a chip with all kinds of target_archs, its inputs and outputs the caller's."""
    compilation = made(DIGITS, read_soc("zynq_edge"))
    folder = tmp_path_factory.mktemp("caller") / "bundle"
    write_bundle(compilation.bundle, folder)
    return compilation, folder


def test_digits(digits: tuple[CompiledModel, Path], compiled: Compile) -> None:
    compilation, folder = digits
    arenas, other = compiled(DIGITS, "zynq_edge")
    assert lent(compilation) == {"sram.caller.image": 256, "sram.caller.logits": 40}
    assert not lent(arenas)
    assert answers(folder, DIGITS) == answers(other, DIGITS)


@pytest.mark.parametrize(("model", "soc"), [("kws_int8", "mcu_m7"), ("ad01_int8", "quad_conv")])
def test_models(model: str, soc: str, compiled: Compile, shared: Path, tmp_path: Path) -> None:
    file = shared / "models" / f"{model}.tflite"
    arenas, other = compiled(file, soc)
    compilation = made(file, read_soc(soc))
    write_bundle(compilation.bundle, tmp_path / "bundle")
    assert answers(tmp_path / "bundle", file) == answers(other, file)
    workspace = Arena(read_soc(soc).mode().workspace[0])
    assert compilation.plan.peaks.get(workspace, 0) <= arenas.plan.peaks.get(workspace, 0)


@pytest.mark.long
@pytest.mark.parametrize("soc", ["mcu_m7", "mcu_m55", "zynq_edge", "quad_conv", "vta_edge", "corstone_u55"])
@pytest.mark.parametrize("model", ["kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8"])
def test_every_model_on_every_chip(
    model: str, soc: str, compiled: Compile, shared: Path, tmp_path: Path
) -> None:
    test_models(model, soc, compiled, shared, tmp_path)


@pytest.mark.long
def test_an_arena_smaller_than_the_input(shared: Path, tmp_path: Path) -> None:
    """Stripes from an input and to an output that need no bytes of it."""
    model = shared / "models" / "vww_96_int8.tflite"
    found = made(model, read_soc("mcu_m7"), memory={"sram": 16 * 1024})
    assert lent(found) == {"sram.caller.input_1_int8": 27648, "sram.caller.Identity_int8": 2}
    assert found.plan.peaks[Arena("sram")] <= 16 * 1024
    write_bundle(found.bundle, tmp_path / "bundle")
    (verified,) = verify_models({"vww_96_int8": model}, tmp_path / "bundle", count=2).values()
    assert verified.passed


def odd(path: Path) -> Path:
    """An output that is an input, one that is a constant, one twice, one inside another, one reshaped."""
    shape, names = (1, 4, 6, 6), {"same": (1, 4, 6, 6), "sum": (1, 4, 6, 6), "again": (1, 4, 6, 6)}
    model = onnx_model(
        [
            helper.make_node("Identity", ["x"], ["same"]),
            helper.make_node("Relu", ["x"], ["y"]),
            helper.make_node("Add", ["y", "z"], ["sum"]),
            helper.make_node("Identity", ["sum"], ["again"]),
            helper.make_node("Concat", ["y", "sum"], ["joined"], axis=1),
            helper.make_node("Flatten", ["sum"], ["flat"]),
            helper.make_node("Identity", ["c"], ["fixed"]),
        ],
        {"x": shape, "z": shape},
        names | {"joined": (1, 8, 6, 6), "flat": (1, 144), "fixed": (2, 4)},
        {"c": np.arange(8, dtype=np.float32).reshape(2, 4)},
    )
    return save(model, path)


@pytest.mark.parametrize("soc", ["mcu_m7", "zynq_edge"])
def test_every_output_has_bytes_of_its_own(soc: str, tmp_path: Path) -> None:
    file = odd(tmp_path / "odd.onnx")
    compilation = made(file, read_soc(soc))
    assert len(lent(compilation)) == 2 + 6
    write_bundle(compilation.bundle, tmp_path / "bundle")
    (found,) = verify_models({"odd": file}, tmp_path / "bundle", count=2).values()
    assert found.passed


@pytest.fixture(scope="module")
def cached(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, tuple[bytes, ...]]:
    """A model on a chip whose DMA engines look behind the cache at memory of the caller; and its answers."""
    model = shared / "models" / "kws_int8.tflite"
    folder = tmp_path_factory.mktemp("cached") / "bundle"
    write_bundle(made(model, read_soc("zynq_edge"), mode="ddr_only").bundle, folder)
    return model, folder, answers(folder, model)


@pytest.mark.slow
def test_behind_a_cache(cached: tuple[Path, Path, tuple[bytes, ...]]) -> None:
    """Lines of the caller's memory are written back and dropped as those of arenas are; a lost duty shows."""
    model, folder, right = cached
    header = (folder / "include" / "kws_int8.h").read_text()
    assert "#define KWS_INT8_OUTPUT_IDENTITY_ROOM 64u" in header
    assert answers(folder, model, behind_a_cache()) == right
    assert answers(folder, model, behind_a_cache(evictions=0)) == right
    steps = folder / "src" / "kws_int8_steps.c"
    text = steps.read_text()
    for duty in ("CLEAN_SOURCE", "INVALIDATE_TARGET"):
        lines = (
            line.replace(f"TA_CACHE_{duty}", "TA_CACHE_NONE") if _copies_an_end(line) else line
            for line in text.split("\n")
        )
        steps.write_text(unsealed("\n".join(lines)))
        assert steps.read_text() != text
        assert answers(folder, model, behind_a_cache(evictions=0)) != right, duty
    steps.write_text(text)


def _is_entry(line: str) -> bool:
    return "/* step " in line and _copies_an_end(line)


def _copies_an_end(line: str) -> bool:
    return ": copy input_1@ddr[" in line or "-> Identity@ddr[" in line


def test_no_copy_from_or_to_the_caller_is_there_for_nothing(
    cached: tuple[Path, Path, tuple[bytes, ...]],
) -> None:
    model, folder, right = cached
    lines = (folder / "src" / "kws_int8_steps.c").read_text().split("\n")
    ends = [int(line.split("/* step ")[1].split(":")[0]) for line in lines if _is_entry(line)]
    assert len(ends) >= 2
    for number in ends:
        text = delete_step(folder, number)
        assert answers(folder, model) != right
        restore(folder, text)


PROGRAM = """
#include <digits_int8.h>

static float image[2][DIGITS_INT8_INPUT_IMAGE_ROOM] TA_ALIGNED(DIGITS_INT8_INPUT_IMAGE_ALIGNMENT);
static float logits[DIGITS_INT8_OUTPUT_LOGITS_ROOM] TA_ALIGNED(DIGITS_INT8_OUTPUT_LOGITS_ALIGNMENT);

static int refuses(const float *input, float *output)
{
    const digits_int8_io io = {input, output};
    return digits_int8_run(&io) == TA_ERROR_ARGUMENT;
}

int main(void)
{
    const digits_int8_io io = {image[1], logits};
    int wrong = digits_int8_init(&ta_port_host) != TA_OK;
    wrong |= !refuses(NULL, logits) << 1 | !refuses(image[0], NULL) << 2;
    wrong |= !refuses(image[0] + 1, logits) << 3 | !refuses(image[0], (float *)((char *)logits + 1)) << 4;
    wrong |= !refuses(image[0], image[0]) << 5;
    wrong |= (digits_int8_run(NULL) != TA_ERROR_ARGUMENT) << 6;
    wrong |= (ta_run(digits_int8_runtime()) != TA_ERROR_ARGUMENT) << 7;
    logits[0] = 1e9f;
    wrong |= (digits_int8_run(&io) != TA_OK || !(logits[0] < 1e8f)) << 8;
    return wrong != 0 || digits_int8_stop() != TA_OK;
}
"""


def test_wrong_memory_is_a_status(
    digits: tuple[CompiledModel, Path], needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("make")
    program = tmp_path / "main.c"
    program.write_text(PROGRAM)
    subprocess.run(["make", "-s", "-C", digits[1], "CFLAGS=-std=c99 -O0"], check=True)
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{digits[1]}/include")
    library = f"{digits[1]}/build/libdigits_int8.a"
    command = ["cc", *flags, str(program), library, "-lm", "-pthread", "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


@pytest.mark.parametrize("arenas", list(Sharing))
def test_several_models(arenas: Sharing, tmp_path: Path) -> None:
    """Each has memory of its own, whatever the arenas do."""
    soc, models = read_soc("mcu_m7"), {"one": DIGITS, "two": DIGITS}
    requests = tuple(
        CompileRequest(model_path=path, soc=soc, name=name, io=IoOwner.CALLER)
        for name, path in models.items()
    )
    found = compile_models(ModelsRequest(models=requests, arenas=arenas))
    write_bundle(found.bundle, tmp_path / "bundle")
    image = found.pools.pool(Arena("sram", caller="image"))
    assert (image.bytes, image.overlaid, image.peaks) == (512, False, (256, 256))
    verified = verify_models(models, tmp_path / "bundle", count=2)
    assert all(each.passed and each.self_test == "passed" for each in verified.values())


def test_arenas_leave_room_for_the_caller() -> None:
    """The caller's bytes are in the memory, too: the arenas are planned again with what they leave."""
    whole = made(DIGITS, read_soc("mcu_m7")).plan.peaks[Arena("sram")]
    ends = sum(lent(made(DIGITS, read_soc("mcu_m7"))).values())
    made(DIGITS, with_sram(whole + ends))
    with pytest.raises(DiagnosticError, match=r"`sram`.*\[does-not-fit\]"):
        made(DIGITS, with_sram(ends - 8))


def test_an_owner_that_there_is_not() -> None:
    with pytest.raises(DiagnosticError) as refused:
        made(DIGITS, read_soc("mcu_m7"), io="callr")
    assert str(refused.value) == (
        "io: error: inputs and outputs cannot be the callr's [unknown-io]\nhint: did you mean `caller`?"
    )
