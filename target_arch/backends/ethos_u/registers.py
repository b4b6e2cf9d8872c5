"""The words of a command for an Ethos-U, and the registers that its driver writes.

Names and offsets are those of the public register map of Ethos-U55 and U65. The header for the driver and the
simulator is written from here; a test compares the two.
"""

from target_arch.backends.ethos_u.config import EthosU

REGISTERS = (
    ("STATUS", 0x004, "what the unit does, and how the last stream ended"),
    ("CMD", 0x008, "starts, clears the interrupt, holds clock and power"),
    ("RESET", 0x00C, "writing it resets the unit"),
    ("QBASE0", 0x010, "address of the command stream, lower half"),
    ("QBASE1", 0x014, "and upper half"),
    ("QREAD", 0x018, "bytes of the stream that were read"),
    ("QCONFIG", 0x01C, "the port the stream is read through"),
    ("QSIZE", 0x020, "bytes of the stream"),
    ("CONFIG", 0x028, "product and shape of the unit, read only"),
    ("REGIONCFG", 0x03C, "two bits per region: the port it is reached through"),
    ("BASEP0", 0x080, "address of region 0, lower half; then its upper half, then region 1"),
)
VALUES = (
    ("STATUS_RUNNING", 1 << 0, "it executes a stream"),
    ("STATUS_IRQ", 1 << 1, "its interrupt is raised"),
    ("STATUS_BUS_ERROR", 1 << 2, "an access was refused"),
    ("STATUS_RESETTING", 1 << 3, "a reset is not over"),
    ("STATUS_PARSE_ERROR", 1 << 4, "the stream has something that is no command"),
    ("STATUS_END", 1 << 5, "the end of the stream was reached"),
    ("STATUS_ECC_FAULT", 1 << 8, "its own memory failed"),
    ("CMD_RUN", 1 << 0, "start the stream"),
    ("CMD_CLEAR_IRQ", 1 << 1, "take back the interrupt"),
    ("CMD_POWER", 3 << 2, "the bits that let clock and power be taken away, which are left as they are"),
    ("REGIONS", 8, "regions there are"),
    ("WEIGHTS_REGION", 0, "weights and scales"),
    ("SCRATCH_REGION", 1, "the arena"),
    ("FIRST_REGION", 3, "the first tensor at the border of the chain; the others follow"),
    ("REGISTER_COUNT", 0x0C0 // 4, "registers up to the last base address"),
)
WORDS = (
    ("WORD_QSIZE", "bytes of the stream"),
    ("WORD_QCONFIG", "for QCONFIG"),
    ("WORD_REGIONCFG", "for REGIONCFG"),
    ("WORD_CONFIG", "what CONFIG must read: the stream is for one product and shape"),
    ("WORDS", "words of a command"),
)
LEAST_OPERANDS = 5
"""Stream, weights, scratch, and at least one tensor in and one out."""
_COUNTER = {False: 0, True: 3}
"""The ports: the first one with its first counter, the second one with its last, as Arm's driver has it."""


def words(unit: EthosU, stream_bytes: int, config: tuple[int, int], border: int) -> tuple[int, ...]:
    """The words of a command: stream and weights are in the memory of constants, all else in the arena's."""
    apart = unit.constants.name != unit.arena.name
    regions = {0: _COUNTER[apart], 1: 0, **{3 + number: 0 for number in range(border)}}
    region_config = sum(value << 2 * region for region, value in regions.items())
    return (stream_bytes, _COUNTER[apart], region_config, config[0])


def header() -> str:
    """The text of `runtime_c/drivers/ethos_u.h`."""
    guard = "TARGET_ARCH_DRIVERS_ETHOS_U_H"
    lines = [
        "/* Arm Ethos-U55 and U65: the registers that a stream is started with, and the words of a command.",
        " *",
    ]
    lines += [
        " * Operands of a command: the stream, its weights, its scratch, then the tensors it reads and the"
    ]
    lines += [" * tensors it writes; all aligned to 16 bytes. They become QBASE and the regions' addresses."]
    lines += [
        " *",
        " * Written from target_arch/backends/ethos_u/registers.py; a test compares the two.",
        " */",
    ]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", '#include "target_arch/driver.h"', ""]
    lines.append("/* Byte offsets in the register file. */")
    lines += [_define(name, f"0x{offset:03x}u", text) for name, offset, text in REGISTERS]
    lines += ["", "/* Values. */"]
    lines += [_define(name, f"0x{value:x}u", text) for name, value, text in VALUES]
    lines += ["", "/* Words of a command, by number. */"]
    lines += [_define(name, f"{number}u", text) for number, (name, text) in enumerate(WORDS)]
    lines.append(_define("LEAST_OPERANDS", f"{LEAST_OPERANDS}u", "stream, weights, scratch, one in, one out"))
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines.append("extern const ta_driver ta_ethos_u_driver;")
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _define(name: str, value: str, text: str) -> str:
    return f"#define TA_ETHOS_U_{name} {value} /* {text} */"
