"""The engine's description: what C says is what the file says, and instructions survive their encoding."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_arch.backends.gemm_vta import backend
from target_arch.backends.gemm_vta.description import (
    DRAM,
    ENUMS,
    FLAGS,
    FORMATS,
    LANES,
    SHAPE,
    Instruction,
    decoded,
    header,
)
from target_arch.backends.registers import ROUNDING

RUNTIME = Path(__file__).parents[3] / "runtime_c"


def test_the_header_is_what_the_description_says() -> None:
    assert (RUNTIME / "drivers" / "gemm_vta.h").read_text() == header()


def test_no_number_of_the_engine_is_written_in_c_again() -> None:
    """Opcodes, operations and fields have names in the simulator; a case of a switch is never a number."""
    text = "".join(path.read_text() for path in sorted((RUNTIME / "simulators").glob("gemm_vta*")))
    assert re.findall(r"case \d|FIELD\(\d|>> \d", text) == []


def test_the_shape_is_the_one_of_the_operands() -> None:
    assert LANES == 16
    assert DRAM == ("INPUT", "WEIGHTS", "BIAS", "MULTIPLIER", "SHIFT", "OUTPUT")
    assert ENUMS["ROUNDING"] == {name.removeprefix("ROUNDING_"): value for name, value, _ in ROUNDING}


@pytest.mark.parametrize("opcode", FORMATS)
def test_fields_do_not_overlap_and_fit(opcode: str) -> None:
    bits = [
        32 * field.word + bit
        for field in FORMATS[opcode]
        for bit in range(field.shift, field.shift + field.bits)
    ]
    assert len(bits) == len(set(bits))
    assert max(bits) < 8 * SHAPE["INSTRUCTION_BYTES"]
    assert [field.name for field in FORMATS[opcode][:5]] == ["OPCODE", *FLAGS]


@given(data=st.data(), opcode=st.sampled_from(sorted(FORMATS)))
def test_what_is_encoded_is_decoded(data: st.DataObject, opcode: str) -> None:
    fields = {field.name: data.draw(st.integers(0, (1 << field.bits) - 1)) for field in FORMATS[opcode][1:]}
    instruction = Instruction(opcode=opcode, fields=fields)
    assert len(instruction.encoded()) == SHAPE["INSTRUCTION_BYTES"]
    assert decoded(instruction.encoded()) == instruction


@pytest.mark.parametrize(
    ("opcode", "fields", "said"),
    [
        ("LOAD", {"ROWS": 1 << 16}, "LOAD.ROWS = 65536 does not fit 16 bits"),
        ("STORE", {"ENTRY": -1}, "STORE.ENTRY = -1 does not fit 16 bits"),
        ("FINISH", {"ROWS": 1}, "FINISH has no field ROWS"),
    ],
)
def test_what_cannot_be_encoded_is_refused(opcode: str, fields: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Instruction(opcode=opcode, fields=fields).encoded()


def test_an_opcode_that_is_none_cannot_be_decoded() -> None:
    with pytest.raises(ValueError, match="there is no opcode 7"):
        decoded(b"\x07" + bytes(31))


def test_an_instruction_prints() -> None:
    fields = {"PUSH_NEXT": 1, "BUFFER": 1, "OPERAND": 1, "ROWS": 1, "COLUMNS": 9, "WIDTH": 256}
    assert str(Instruction(opcode="LOAD", fields=fields)) == (
        "load   push_next=1 buffer=1 operand=1 rows=1 columns=9 width=256"
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_driver_and_simulator_compile_without_a_warning(
    compiler: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    files = {**backend.runtime.files(), **backend.runtime.simulator()}
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    for path in sorted(files):
        assert (RUNTIME / path).read_text() == files[path]
        if path.endswith(".c"):
            command = [needs_tool(compiler), *flags, f"-I{RUNTIME / 'include'}", "-c", str(RUNTIME / path)]
            subprocess.run([*command, "-o", str(tmp_path / "x.o")], check=True)
