"""The goals of `--optimize`: size takes definitions, speed packs what balanced leaves, with the same bits."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.c import backend
from target_arch.backends.plain_c.kernels import products
from target_arch.backends.plain_c.kernels.layout import PAIRS
from target_arch.backends.plain_c.kernels.pick import Driver, predicted
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.goal import Goal
from target_arch.plan.manifest.image import ImageEntry
from target_arch.plan.model import Model
from target_arch.run import build as built
from target_arch.run import verify, write_bundle
from target_arch.soc import read_soc
from target_arch.soc.words import InstructionSet
from tests.backends.c.kernel_program import Case, mismatches
from tests.backends.c.one import Compile, constant, one_operator, quantized, run
from tests.backends.c.test_picks import LAYERS, on
from tests.systems import COMPILER, EMULATOR

FLASH = ("code", "read-only data", "constants")


def heavy() -> Model:
    """A dense layer of 9 outputs, whose weights take 1.8 times their bytes when they are packed for 16."""
    rng = np.random.default_rng(5)
    w, bias = rng.integers(-127, 128, (9, 4096)), rng.integers(-999, 999, 9)
    constants = (
        constant(quantized("w", w.shape, 0.01, 0), w),
        constant(quantized("b", bias.shape, 0.0004, 0, "int32"), bias),
    )
    x, out = quantized("x", (1, 4096), 0.04, 7), quantized("out", (1, 9), 0.9, -3)
    return one_operator("dense", "tflite", [x], out, constants)


def test_speed_packs_weights_of_any_size() -> None:
    model = heavy()
    (operator,) = model.operators
    picks = {goal: predicted(operator, model, InstructionSet.GENERIC, goal) for goal in Goal}
    assert picks[Goal.BALANCED].reason == "packed weights would take more than 1.1 times the plain ones"
    assert picks[Goal.SIZE].reason == "kernels are larger"
    assert picks[Goal.SPEED].kernel is Driver.PRODUCTS


def test_they_compute_what_the_definition_does(
    build: Compile, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    model = heavy()
    x = np.random.default_rng(6).integers(-128, 128, (1, 4096)).astype(np.int8)
    made = products.made(model.operators[0], model, PAIRS)
    case = Case(name="heavy", made=made, inputs=(x,), expected=run(model, build, x))
    assert len(set(case.expected.ravel())) > 3
    assert mismatches(tmp_path, [case], (needs_tool("gcc"),)) == []


@pytest.mark.parametrize("goal", Goal)
def test_cost_and_lowering_follow_the_goal(goal: Goal) -> None:
    machine = on(InstructionSet.GENERIC)
    for model in (heavy(), LAYERS["conv2d add tflite 0"]):
        question = evolve(machine.question(model.operators[0], model), goal=goal)
        kernel = backend.lower(evolve(machine.request(model), goal=goal))  # type: ignore[misc]
        picked = predicted(model.operators[0], model, InstructionSet.GENERIC, goal).kernel
        assert bool(kernel.functions[0].headers) == (picked is not None)
        assert backend.way is not None
        assert (f"kernel {picked}" in backend.way(question)) == (picked is not None)
        if goal is Goal.SIZE:
            assert not any(constant.name.endswith(".packed") for constant in kernel.constants)


def compiled(shared: Path, goal: str) -> CompiledModel:
    model = shared / "models" / "vww_96_int8.tflite"
    return compile_model(
        CompileRequest(model_path=model, soc=read_soc("mcu_m7"), port="qemu_mps2", optimize=goal)
    )


def flash(image: ImageEntry | None) -> int:
    """Bytes of code, read-only data and constants."""
    assert image is not None
    return sum(part.linked or 0 for part in image.sections if part.what in FLASH)


@pytest.mark.slow
def test_size_is_smaller_and_equal(shared: Path, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    bytes_ = {}
    for goal in (Goal.SIZE, Goal.BALANCED):
        bundle = compiled(shared, goal).bundle
        assert (b"_shared_" in bundle.files["src/vww_96_int8_host_cpu_kernels.c"]) == (goal is Goal.SIZE)
        write_bundle(bundle, tmp_path / goal)
        found = verify(shared / "models" / "vww_96_int8.tflite", tmp_path / goal, count=1)
        assert found.equal == found.outputs == 1
        bytes_[goal] = flash(built(tmp_path / goal).image)
    assert bytes_[Goal.SIZE] <= 60 * 1024
    assert bytes_[Goal.SIZE] < 0.85 * bytes_[Goal.BALANCED]
