"""`<soc>.ld`: where the linker puts the arenas, for builds that define TA_SECTIONS."""

from collections.abc import Mapping
from types import MappingProxyType

from target_arch.emit.build.machine import ARENA_ALIGNMENT, begin_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.sections import section_name
from target_arch.plan.memory import Arena
from target_arch.soc.model import Memory, Port, SoC

NO_PARTITIONS: Mapping[str, int] = MappingProxyType({})

_HEAD = """\
/* Where {soc} has its arenas: each memory's arenas at its start, constants after them. All are
 * loaded to where they are used.
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


def linker_fragment(soc: SoC, port: Port | None = None, partitions: Mapping[str, int] = NO_PARTITIONS) -> str:
    """A GNU ld script with the sections of every memory that the host sees, and the sizes they must not
    exceed.

    Where a program has sections of its own in a memory (those a `port` names), arenas and constants come
    after them. `partitions` are the first addresses, by memory, of what is no part of the program.
    """
    shared = {port.code, port.data} if port else set()
    visible = sorted(
        (memory for memory in soc.memories if memory.base is not None), key=lambda memory: memory.base or 0
    )
    out = Emitter()
    out.block(_HEAD.format(soc=soc.name))
    with out.indent():
        for memory in visible:
            out.lines(_sections(memory, memory.name in shared, soc.own_line(memory.name)))
    out.block(_TAIL)
    for memory in visible:
        size = partitions.get(memory.name, (memory.base or 0) + memory.size) - (memory.base or 0)
        end = f"ta_{memory.name}_end - 0x{memory.base:x} <= 0x{size:x}"
        out.line(f'ASSERT({end}, "{memory.name}: arenas and constants exceed {size} bytes")')
    return out.text()


def _sections(memory: Memory, shared: bool, line: int) -> list[str]:
    behind = f"ALIGN({begin_symbol(memory.name)}, {max(ARENA_ALIGNMENT, line)})"
    start = f". = {behind if shared else f'0x{memory.base:08x}'};"
    name = f".ta_{memory.name}_constants"
    constants = f"AT(ADDR({name})){{align}} {{{{ *({section_name(Arena(memory.name, constant=True))}) }}}}"
    end = f"ta_{memory.name}_end = .;"
    if not memory.writable:
        return [start, f"{name} . : {constants.format(align='')}", end]
    arenas = f"AT(ADDR(.ta_{memory.name})) {{ *({section_name(Arena(memory.name))}) }}"
    return [
        start,
        f".ta_{memory.name} . (NOLOAD) : {arenas}",
        f"{name} : {constants.format(align=f' ALIGN({max(16, line)})')}",
        end,
    ]
