"""The stack of a port's program takes its bytes from the memory plan; no compiler is needed to know that."""

from contextlib import suppress
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.api.model_outcome import ModelOutcome
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.resources import examples
from target_arch.soc import read_soc
from target_arch.stages.errors import DoesNotFitError

DIGITS = examples() / "digits" / "digits_int8.onnx"
STACK = 4096


def compiled(size: int, port: str) -> CompiledModel:
    soc = read_soc("mcu_m7")
    memories = tuple(evolve(m, size=size) if m.name == "sram" else m for m in soc.memories)
    return compile_model(
        CompileRequest(model_path=Path(DIGITS), soc=evolve(soc, memories=memories), port=port)
    )


def least() -> int:
    """The smallest `sram` that the model fits into without a stack; with more its plan takes more."""
    size = 512 * 1024
    with suppress(DoesNotFitError):
        while True:
            size = compiled(size - 1, "host").plan.peaks[Arena("sram")]
    return size


def test_what_the_stack_takes_is_not_there_for_arenas() -> None:
    needed = least()
    with pytest.raises(DoesNotFitError) as refused:
        compiled(needed + STACK - 1, "qemu_mps2")
    assert refused.value.available < needed
    made = compiled(needed + STACK, "qemu_mps2")
    assert made.plan.peaks[Arena("sram")] == needed
    assert (
        "  the stack of port `qemu_mps2` takes 4,096 B of `sram` from the plan; its code, read-only data and "
        "variables are not counted here, but before it is linked: `report --image`\n"
    ) in ModelOutcome(stages=made).summary
