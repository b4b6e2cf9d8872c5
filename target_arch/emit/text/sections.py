"""The section of every memory: one macro each, so that a linker script decides where an arena lies."""

from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import identifier


def section_macro(memory: str, *, constant: bool = False) -> str:
    """The macro that stands before an arena in that memory: `TA_SECTION_SRAM`, `TA_SECTION_DDR_CONSTANTS`."""
    return f"TA_SECTION_{_stem(memory, constant=constant).upper()}"


def section_name(memory: str, *, constant: bool = False) -> str:
    """The section the linker fragment places: `.bss.ta_sram`, `.rodata.ta_ddr_constants`.

    The prefixes make the compiler treat an arena as zeroed memory and constants as read-only data.
    """
    return f"{'.rodata' if constant else '.bss'}.ta_{_stem(memory, constant=constant).lower()}"


def define_section(out: Emitter, memory: str, *, constant: bool = False) -> None:
    """Define the macro where the build did not: the section with TA_SECTIONS, else nothing."""
    macro = section_macro(memory, constant=constant)
    out.line(f"#ifndef {macro}")
    out.line("#ifdef TA_SECTIONS")
    out.line(f'#define {macro} __attribute__((section("{section_name(memory, constant=constant)}")))')
    out.line("#else")
    out.line(f"#define {macro}")
    out.line("#endif")
    out.line("#endif")


def _stem(memory: str, *, constant: bool) -> str:
    return f"{identifier(memory)}_constants" if constant else identifier(memory)
