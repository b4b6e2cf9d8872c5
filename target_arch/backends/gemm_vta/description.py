"""The engine as `gemm_vta.toml` describes it: registers, instructions and their encoding, and the C header.

Tests: `tests/backends/gemm_vta/test_description.py`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from target_arch.backends.registers import RegisterMap

_FILE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("gemm_vta.toml").read_text())
WORD = 32

SHAPE: Mapping[str, int] = {name: value for name, (value, _) in _FILE["shape"].items()}
ENUMS: Mapping[str, Mapping[str, int]] = {
    kind: {name: value for name, (value, _) in values.items()} for kind, values in _FILE["enum"].items()
}
LANES = SHAPE["LANES"]
DRAM = tuple(name for name, _ in _FILE["registers"]["operands"][1:-3])
"""The operands in DRAM in the order of their numbers in instructions, the output last."""

REGISTERS = RegisterMap(
    engine=_FILE["name"],
    title=_FILE["title"],
    source="target_arch/backends/gemm_vta/gemm_vta.toml",
    operands=tuple((name, text) for name, text in _FILE["registers"]["operands"]),
    words=tuple((name, text) for name, text in _FILE["registers"]["words"]),
    constants=tuple((f"STATUS_{name}", value, text) for name, (value, text) in _FILE["status"].items()),
)


@frozen(kw_only=True)
class Field:
    """Bits of an instruction: `bits` of them from bit `shift` of word `word` on."""

    name: str
    word: int
    shift: int
    bits: int
    meaning: str


def _placed(fields: list[list[Any]]) -> Iterator[Field]:
    bit = 0
    for name, bits, meaning in fields:
        if bit % WORD + bits > WORD:
            bit += WORD - bit % WORD
        yield Field(name=name, word=bit // WORD, shift=bit % WORD, bits=bits, meaning=meaning)
        bit += bits


FORMATS: Mapping[str, tuple[Field, ...]] = {
    opcode: tuple(_placed([*_FILE["instruction"]["common"], *_FILE["instruction"][opcode]]))
    for opcode in ENUMS["OPCODE"]
}
"""The fields of every instruction, by opcode."""
FLAGS = tuple(name for name, _, _ in _FILE["instruction"]["common"][1:])


@frozen(kw_only=True)
class Instruction:
    """One instruction: its opcode, and the fields beyond opcode that are not 0."""

    opcode: str
    fields: Mapping[str, int]

    def __str__(self) -> str:
        named = " ".join(f"{field.name.lower()}={self.fields[field.name]}" for field in self._present())
        return f"{self.opcode.lower():6} {named}".rstrip()

    def __getitem__(self, name: str) -> int:
        """A field; 0 where it was not given."""
        return self.fields.get(name, 0)

    def _present(self) -> Iterator[Field]:
        return (field for field in FORMATS[self.opcode] if self.fields.get(field.name, 0))

    def encoded(self) -> bytes:
        """The bytes of the instruction. ValueError for a field that has no place or does not fit its bits."""
        words = [0] * (SHAPE["INSTRUCTION_BYTES"] // 4)
        places = {field.name: field for field in FORMATS[self.opcode]}
        for name, value in {"OPCODE": ENUMS["OPCODE"][self.opcode], **self.fields}.items():
            if name not in places:
                raise ValueError(f"{self.opcode} has no field {name}")
            field = places[name]
            # Bytes and words may be given signed: they are kept as two's complement.
            least = -(1 << (field.bits - 1)) if name in ("FILL", "IMMEDIATE") else 0
            if not least <= value < 1 << field.bits:
                raise ValueError(f"{self.opcode}.{name} = {value} does not fit {field.bits} bits")
            words[field.word] |= (value & ((1 << field.bits) - 1)) << field.shift
        return b"".join(word.to_bytes(4, "little") for word in words)


def decoded(data: bytes) -> Instruction:
    """The instruction in so many bytes. ValueError for an unknown opcode."""
    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
    number = words[0] & 7
    opcode = next((name for name, value in ENUMS["OPCODE"].items() if value == number), None)
    if opcode is None:
        raise ValueError(f"there is no opcode {number}")
    values = {
        field.name: words[field.word] >> field.shift & ((1 << field.bits) - 1) for field in FORMATS[opcode]
    }
    return Instruction(
        opcode=opcode, fields={name: value for name, value in values.items() if name != "OPCODE"}
    )


def header() -> str:
    """The C header: `runtime_c/drivers/gemm_vta.h` is exactly this text."""
    first, last = REGISTERS.header().split('\n#ifdef __cplusplus\nextern "C"')
    lines = ["", "/* The engine. */", *_defines("", _FILE["shape"])]
    for kind, values in _FILE["enum"].items():
        if kind != "ROUNDING":
            lines += ["", f"/* {kind} */", *_defines(f"{kind}_", values)]
    lines += [
        "",
        "/* Fields of the instructions, each as TA_GEMM_VTA_FIELD takes it: word, lowest bit, bits. */",
    ]
    lines.append("#define TA_GEMM_VTA_FIELD(words, field) TA_GEMM_VTA_FIELD_(words, field)")
    lines.append(
        "#define TA_GEMM_VTA_FIELD_(words, word, low, bits) "
        "((words)[word] >> (low) & (0xffffffffu >> (32u - (bits))))"
    )
    seen = set()
    for opcode, fields in FORMATS.items():
        for field in fields:
            common = field.name == "OPCODE" or field.name in FLAGS
            name = field.name if common else f"{opcode}_{field.name}"
            if name not in seen:
                seen.add(name)
                value = f"{field.word}u, {field.shift}u, {field.bits}u"
                lines.append(f"#define TA_GEMM_VTA_AT_{name} {value} /* {field.meaning} */")
    return "\n".join([first, *lines]) + '\n\n#ifdef __cplusplus\nextern "C"' + last


def _defines(prefix: str, values: Mapping[str, Any]) -> list[str]:
    return [
        f"#define TA_GEMM_VTA_{prefix}{name} {value}u /* {text} */" for name, (value, text) in values.items()
    ]
