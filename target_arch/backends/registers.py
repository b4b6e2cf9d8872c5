"""The register file of a memory-mapped engine, described once: as offsets, as command words, as a C header.

Every engine here has the same frame: start, status, then the device addresses of the operands, then the words
of the command, in the order of `Call.operands` and `Call.words`.
"""

from collections.abc import Mapping

from attrs import frozen

from target_arch.plan.kernels import Call, Operand

FRAME = (
    ("START", "writing 1 starts the command that the other registers describe; reads 1 while it runs"),
    ("STATUS", "how the last command ended, one of the STATUS values; writing 0 forgets it"),
)

STATUS = (
    ("NONE", 0, "no command ended since reset, or since 0 was written"),
    ("DONE", 1, "the command completed"),
    ("FAULT_GEOMETRY", 2, "a size is zero or beyond the engine, or sizes contradict each other"),
    ("FAULT_ADDRESS", 3, "an operand is not aligned or not in a memory of the engine"),
    ("FAULT_ARITHMETIC", 4, "a zero point, a bound, a multiplier, a shift or the rounding is out of range"),
)

ROUNDING = (
    ("ROUNDING_TFLITE", 0, "fixed point: doubling high multiply, then rounding right shift"),
    ("ROUNDING_ONNX", 1, "exact product, then a right shift that rounds half to even"),
    ("ROUNDING_TFLITE_SINGLE", 2, "fixed point: exact product, then a right shift that rounds half up"),
)


@frozen(kw_only=True)
class RegisterMap:
    """The register file of one engine. `operands` and `words` are (name, meaning) in order; all are 32 bits
    wide.
    """

    engine: str
    title: str
    operands: tuple[tuple[str, str], ...]
    words: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, int, str], ...] = ()
    least_operands: int | None = None
    """Fewest operands a command may have, where its last ones are not always used; None: all."""
    source: str = ""
    """The file the headers are written from, where it is not `registers.py` of the backend."""

    @property
    def offsets(self) -> dict[str, int]:
        """Byte offset of every register."""
        return {name: 4 * index for index, (name, _) in enumerate((*FRAME, *self.operands, *self.words))}

    def call(
        self, function: str, operator: str, operands: tuple[Operand, ...], words: Mapping[str, int]
    ) -> Call:
        """A command. `words` names every command register; ValueError where it does not."""
        names = [name for name, _ in self.words]
        if sorted(names) != sorted(words):
            raise ValueError(f"{self.engine} takes the words {', '.join(names)}")
        most = len(self.operands)
        if not (self.least_operands or most) <= len(operands) <= most:
            raise ValueError(f"{self.engine} takes {self.least_operands or most} to {most} operands")
        packed = tuple(words[name] & 0xFFFFFFFF for name in names)
        return Call(function=function, operator=operator, operands=operands, words=packed)

    @property
    def values(self) -> tuple[tuple[str, int, str], ...]:
        """Constants in the headers besides the offsets: (name, value, meaning)."""
        first = self.operands[0][0]
        return (
            ("REGISTERS", len(FRAME) + len(self.operands) + len(self.words), "count of 32-bit registers"),
            ("LEAST_OPERANDS", self.least_operands or len(self.operands), "fewest operands of a command"),
            ("OPERANDS", len(self.operands), f"most operands of a command, from {first} on"),
            ("WORDS", len(self.words), f"command words from {self.words[0][0]} on"),
            *((f"STATUS_{name}", value, text) for name, value, text in STATUS),
            *ROUNDING,
            *self.constants,
        )

    def verilog_header(self) -> str:
        """The same names for Verilog: `rtl/<engine>/<engine>_registers.vh` is exactly this text."""
        prefix = f"TA_{self.engine.upper()}"
        source = self.source or f"target_arch/backends/{self.engine}/registers.py"
        lines = [f"// {self.title}: its registers.", "//"]
        lines += [f"// Written from {source}; a test compares the two."]
        lines += [f"`ifndef {prefix}_REGISTERS_VH", f"`define {prefix}_REGISTERS_VH", ""]
        lines.append("// Byte offsets in the register file.")
        meanings = (*FRAME, *self.operands, *self.words)
        lines += [f"`define {prefix}_{name} {4 * n:<4d} // {text}" for n, (name, text) in enumerate(meanings)]
        lines += ["", "// Values."]
        lines += [f"`define {prefix}_{name} {value:<4d} // {text}" for name, value, text in self.values]
        return "\n".join([*lines, "", "`endif", ""])

    def header(self) -> str:
        """The C header for driver and simulator: `runtime_c/drivers/<engine>.h` is exactly this text."""
        source = self.source or f"target_arch/backends/{self.engine}/registers.py"
        prefix = f"TA_{self.engine.upper()}"
        lines = [f"/* {self.title}: its registers.", " *"]
        lines += [f" * Written from {source}; a test compares the two.", " */"]
        guard = f"TARGET_ARCH_DRIVERS_{self.engine.upper()}_H"
        lines += [f"#ifndef {guard}", f"#define {guard}", "", '#include "target_arch/driver.h"', ""]
        lines.append("/* Byte offsets in the register file. */")
        meanings = (*FRAME, *self.operands, *self.words)
        lines += [
            _define(f"{prefix}_{name}", f"0x{4 * n:02x}u", text) for n, (name, text) in enumerate(meanings)
        ]
        lines += ["", "/* Values. */"]
        lines += [_define(f"{prefix}_{name}", f"{value}u", text) for name, value, text in self.values]
        lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines.append(f"extern const ta_driver ta_{self.engine}_driver;")
        return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _define(name: str, value: str, text: str) -> str:
    return f"#define {name} {value} /* {text} */"
