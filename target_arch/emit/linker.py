"""`<soc>.ld`: where the linker puts the arenas, for builds that define TA_SECTIONS."""

from target_arch.emit.emitter import Emitter
from target_arch.emit.sections import section_name
from target_arch.soc.model import Memory, SoC


def linker_fragment(soc: SoC) -> str:
    """A GNU ld script that adds to the linker's own: a region per memory the host sees, and its sections."""
    visible = [memory for memory in soc.memories if memory.base is not None]
    out = Emitter()
    out.line(
        f"/* Where {soc.name} has its arenas. Compile with -DTA_SECTIONS, link with -Wl,-T,{soc.name}.ld; it"
    )
    out.line(
        " * adds to the linker's own script. A project with a script of its own takes the lines it needs. */"
    )
    out.line("MEMORY")
    out.line("{")
    with out.indent():
        for memory in visible:
            access = "rw" if memory.writable else "r"
            origin = f"ORIGIN = 0x{memory.base:08x}, LENGTH = 0x{memory.size:x}"
            out.line(f"{_region(memory)} ({access}) : {origin}")
    out.line("}")
    out.line("SECTIONS")
    out.line("{")
    with out.indent():
        for memory in visible:
            constants = section_name(memory.name, constant=True)
            out.line(f".ta_{memory.name}_constants : ALIGN(16) {{ *({constants}) }} > {_region(memory)}")
            if memory.writable:
                arenas = section_name(memory.name)
                out.line(f".ta_{memory.name} (NOLOAD) : ALIGN(16) {{ *({arenas}) }} > {_region(memory)}")
    out.line("}")
    out.line("INSERT AFTER .rodata;")
    return out.text()


def _region(memory: Memory) -> str:
    return f"TA_{memory.name.upper()}"
