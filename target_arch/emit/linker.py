"""`<soc>.ld`: where the linker puts the arenas, for builds that define TA_SECTIONS."""

from target_arch.emit.emitter import Emitter
from target_arch.emit.sections import section_name
from target_arch.soc.model import Memory, SoC

_HEAD = """\
/* Where {soc} has its arenas: each memory's arenas at its start, constants after them.
 *
 * Compile with -DTA_SECTIONS and link with -Wl,-T,{soc}.ld; it adds to the linker's own script and leaves
 * all else where that puts it. A project with a script of its own takes the lines it needs. */
SECTIONS
{{
    ta_location = .;"""

_TAIL = """\
    . = ta_location;
}
INSERT AFTER .bss;"""


def linker_fragment(soc: SoC) -> str:
    """A GNU ld script with the sections of every memory that the host sees, and the sizes they must not
    exceed.
    """
    visible = [memory for memory in soc.memories if memory.base is not None]
    out = Emitter()
    out.block(_HEAD.format(soc=soc.name))
    with out.indent():
        for memory in visible:
            out.lines(_sections(memory))
    out.block(_TAIL)
    for memory in visible:
        end = f"ta_{memory.name}_end - 0x{memory.base:x} <= 0x{memory.size:x}"
        out.line(f'ASSERT({end}, "{memory.name}: arenas and constants exceed {memory.size} bytes")')
    return out.text()


def _sections(memory: Memory) -> list[str]:
    start = f"0x{memory.base:08x}"
    constants = f"*({section_name(memory.name, constant=True)})"
    end = f"ta_{memory.name}_end = .;"
    if not memory.writable:
        return [f".ta_{memory.name}_constants {start} : {{ {constants} }}", end]
    return [
        f".ta_{memory.name} {start} (NOLOAD) : {{ *({section_name(memory.name)}) }}",
        f".ta_{memory.name}_constants : ALIGN(16) {{ {constants} }}",
        end,
    ]
