"""The section of every arena: one macro each, so that a linker script decides where an arena is."""

from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import identifier
from target_arch.plan.memory import Arena


def section_macro(arena: Arena) -> str:
    """The macro that stands before an arena: `TA_SECTION_SRAM`, `TA_SECTION_DDR_CONSTANTS`."""
    return f"TA_SECTION_{_stem(arena).upper()}"


def section_name(arena: Arena) -> str:
    """The section the linker fragment places: `.bss.ta_sram`, which has the states too, and
    `.rodata.ta_ddr_constants`.

    The prefixes make the compiler treat an arena as zeroed memory and constants as read-only data.
    """
    return f".rodata.ta_{_stem(arena).lower()}" if arena.constant else f".bss.ta_{identifier(arena.memory)}"


def define_section(out: Emitter, arena: Arena) -> None:
    """Define the macro where the build did not: the section with TA_SECTIONS, else nothing."""
    macro = section_macro(arena)
    out.line(f"#ifndef {macro}")
    out.line("#ifdef TA_SECTIONS")
    out.line(f'#define {macro} __attribute__((section("{section_name(arena)}")))')
    out.line("#else")
    out.line(f"#define {macro}")
    out.line("#endif")
    out.line("#endif")


def section_name_macro(arena: Arena) -> str:
    """The macro of the name of an arena's section, for an assembler: `TA_SECTION_NAME_FLASH_CONSTANTS`."""
    return f"TA_SECTION_NAME_{_stem(arena).upper()}"


def define_section_name(out: Emitter, arena: Arena) -> None:
    """Define the macro where the build did not: the section with TA_SECTIONS, else one of read-only data."""
    macro = section_name_macro(arena)
    out.line(f"#ifndef {macro}")
    out.line("#ifdef TA_SECTIONS")
    out.line(f'#define {macro} "{section_name(arena)}"')
    out.line("#else")
    out.line(f'#define {macro} ".rodata.ta_weights"')
    out.line("#endif")
    out.line("#endif")


def _stem(arena: Arena) -> str:
    kind = "_constants" if arena.constant else "_states" if arena.state else ""
    return identifier(arena.memory) + kind
