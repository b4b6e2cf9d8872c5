"""`firmware/`: the parts of the firmware of each core that takes one, and the table of how it is built.

For each such target_arch: `firmware/<arch>/<function>.o`, LLVM's object code of every function that a step
dispatches; `firmware/<arch>.c`, the table by whose numbers requests name them; `firmware/<arch>.ld`, where
code and data are: in one memory, at the addresses of the core, loaded through those of the host. Beside them
the firmware's own sources, and `firmware/firmware.json`: the list from which
`target_arch.run.executables.firmware` builds it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, listed
from target_arch.emit.model.arenas import EmittedArena
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import Kernels, entry, kernels
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.kernels import Codegen
from target_arch.resources import runtime_c
from target_arch.soc import numbering
from target_arch.soc.cores import CORES, Core
from target_arch.soc.model import Instance, Memory
from target_arch.soc.rounding import round_up

FOLDER = "firmware"
PROCESS = "firmware"
"""The load process whose images are linked here; images of others are the user's."""
DESCRIPTION = f"{FOLDER}/firmware.json"
MEMORY_OPTION, STACK_OPTION = "firmware_memory", "firmware_stack"
ALIGNMENT = 65536
"""Of the memories that an emulated core shares with the host, and of their sizes: the largest page of any."""

_LD = """\
/* The place of the firmware of {arch}: in memory {memory}, which the core sees at 0x{device:x} and the host,
 * which loads it, at 0x{physical:x}. */
ENTRY(_start)
PHDRS {{ code PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); resources PT_NOTE FLAGS(4); }}
MEMORY
{{
    core (rwx) : ORIGIN = 0x{device:x}, LENGTH = 0x{size:x}
    host (r) : ORIGIN = 0x{physical:x}, LENGTH = 0x{size:x}
}}
SECTIONS
{{
    .note : {{ KEEP(*(.note.target_arch)) }} > core AT> host :code :resources
    .text : {{ *(.text) }} > core AT> host :code
    .rodata : {{ *(.rodata .rodata.*) }} > core AT> host :code
    .data ALIGN(64) : {{ *(.data .data.* .sdata .sdata.*) }} > core AT> host :data
    .bss ALIGN(64) (NOLOAD) : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }} > core AT> host :data
    .stack ALIGN(64) (NOLOAD) : {{ . += {stack}; ta_stack_end = .; }} > core AT> host :data
    .symtab : {{ *(.symtab) }}
    .strtab : {{ *(.strtab) }}
    .shstrtab : {{ *(.shstrtab) }}
    /DISCARD/ : {{ *(.text.tvm* .eh_frame* .debug* .comment *.attributes .note.GNU* .llvm*) }}
}}"""


@frozen(kw_only=True)
class Firmware:
    """The firmware of one target_arch, of one instance. `functions` are in the order of their numbers."""

    instance: Instance
    core: Core
    memory: Memory
    stack: int
    kernels: Kernels
    functions: tuple[str, ...]

    @property
    def arch(self) -> str:
        return self.instance.arch.name

    @property
    def device(self) -> int:
        """The address at which the core sees the memory."""
        return self.memory.observers[self.arch]


def firmwares(inputs: EmitInputs) -> tuple[Firmware, ...]:
    """Every firmware of the bundle, by the name of its target_arch.

    DiagnosticError where a description leaves no place for one.
    """
    return tuple(
        _firmware(inputs, of)
        for of in kernels(inputs)
        if inputs.backends[of.arch].codegen == Codegen.LLVM
        and inputs.soc.arch(of.arch).load.process == PROCESS
        and of.called
    )


def _firmware(inputs: EmitInputs, of: Kernels) -> Firmware:
    arch, backend = inputs.soc.arch(of.arch), inputs.backends[of.arch]
    if arch.instances > 1:
        message = f"`{arch.name}` has {arch.instances} instances, and an image is linked for one place"
        raise _refused(arch.name, message, "give each core a target_arch of its own")
    instance = inputs.soc.instance(arch.name)
    return Firmware(
        instance=instance,
        core=CORES[backend.name],
        memory=_memory(inputs, arch.name, str(backend.option(instance, MEMORY_OPTION))),
        stack=int(backend.option(instance, STACK_OPTION)),
        kernels=of,
        functions=tuple(sorted(of.called)),
    )


def _memory(inputs: EmitInputs, arch: str, name: str) -> Memory:
    soc, mode = inputs.soc, inputs.mode
    known = {memory.name: memory for memory in soc.memories}
    wanted = f"the host must see it, `{arch}` too, and no memory mode may use it"
    if name not in known:
        message = f"the firmware of `{arch}` goes into memory `{name}`, which is not declared"
        raise _refused(arch, message, f"declare it, or name another in `{MEMORY_OPTION}`; {wanted}")
    memory = known[name]
    used = name in (*mode.workspace, *mode.constants, *mode.io, *soc.arch(arch).memory)
    if memory.base is None or arch not in memory.observers or used or memory.size % ALIGNMENT:
        message = f"the firmware of `{arch}` cannot go into memory `{name}`"
        raise _refused(arch, message, f"{wanted}; its size must be a multiple of {ALIGNMENT} B")
    return memory


def _refused(arch: str, message: str, hint: str) -> DiagnosticError:
    place = f"target_arch {arch}"
    return DiagnosticError([Diagnostic(rule="no-firmware-memory", place=place, message=message, hint=hint)])


def simulated_sizes(inputs: EmitInputs, arenas: Iterable[EmittedArena]) -> dict[str, int]:
    """The bytes that the host port gives to each memory that the host does not see: as many as are used, in
    whole units.
    """
    shared = shared_memories(inputs)
    used: dict[str, int] = {}
    for arena in arenas:
        if not arena.visible:
            used[arena.pool.memory] = max(used.get(arena.pool.memory, 0), arena.start + arena.bytes)
    return {name: round_up(size, ALIGNMENT if name in shared else 16) for name, size in used.items()}


def firmware_files(inputs: EmitInputs, arenas: Iterable[EmittedArena]) -> dict[str, bytes]:
    """Path in the bundle → content; nothing where no core takes firmware."""
    every = firmwares(inputs)
    if not every:
        return {}
    sizes = simulated_sizes(inputs, arenas)
    files = {
        f"{FOLDER}/runtime/firmware/{path.name}": path.read_bytes()
        for path in sorted((runtime_c() / "firmware").iterdir())
        if path.suffix in {".c", ".h"}
    }
    for one in every:
        files[f"{FOLDER}/{one.arch}.c"] = _table(inputs, one).encode()
        files[f"{FOLDER}/{one.arch}.ld"] = linker_script(one.arch, one.memory, one.stack).encode()
        objects = {function.name: function.object for function in one.kernels.functions}
        files |= {f"{FOLDER}/{one.arch}/{name}.o": objects[name] for name in one.functions}
    described = [_described(inputs, one, sizes) for one in every]
    files[DESCRIPTION] = (json.dumps(described, indent=2, sort_keys=True) + "\n").encode()
    return files


def _table(inputs: EmitInputs, one: Firmware) -> str:
    parameters = {function.name: function.parameters for function in one.kernels.functions}
    out = Emitter()
    out.line(f"/* The functions that the firmware of {one.arch} can execute for `{comment(inputs.name)}`. */")
    out.line('#include "firmware/firmware.h"')
    for name in one.functions:
        casts = ", ".join(f"({kind})p[{number}]" for number, kind in enumerate(parameters[name]))
        out.line()
        out.line(f"void {name}({', '.join(kind.strip() for kind in parameters[name]) or 'void'});")
        out.line(f"static ta_status call_{name}(void *const *p)")
        out.line("{")
        with out.indent():
            out.lines(() if casts else ("(void)p;",))
            out.lines((f"{name}({casts});", "return TA_OK;"))
        out.line("}")
    out.line()
    out.line("const ta_function ta_firmware_functions[TA_FIRMWARE_FUNCTIONS] = {")
    with out.indent():
        out.lines(f"call_{name}," for name in one.functions)
    out.line("};")
    return out.text()


def linker_script(arch: str, memory: Memory, stack: int) -> str:
    """The GNU ld script of the firmware of a target_arch, which observes the memory, as the host does."""
    about = {"device": memory.observers[arch], "physical": memory.base or 0, "size": memory.size}
    return _LD.format(arch=arch, memory=memory.name, stack=round_up(stack, 64), **about) + "\n"


def _described(inputs: EmitInputs, one: Firmware, sizes: Mapping[str, int]) -> dict[str, Any]:
    shown = [memory for memory in one.instance.memory if inputs.soc.memory(memory).base is not None]
    return {
        "target_arch": one.arch,
        "core": one.core.name,
        "image": one.instance.arch.load.image,
        "macro": numbering.c_identifier(one.instance.name),
        "prefix": numbering.c_prefix(inputs.soc),
        "abi_hash": f"0x{numbering.abi_hash(inputs.soc):016x}",
        "functions": list(one.functions),
        "memory": {
            "name": one.memory.name,
            "bytes": one.memory.size,
            "device": one.device,
            "physical": one.memory.base,
        },
        "stack": one.stack,
        "declared_bytes": one.instance.arch.load.bytes,
        "not_shared": listed(shown) if shown else "",
        "seen": [
            {
                "name": name,
                "bytes": sizes.get(name, one.memory.size),
                "device": inputs.soc.memory(name).observers[one.arch],
            }
            for name in _seen(one, sizes)
        ],
    }


def processes(out: Emitter, inputs: EmitInputs, sizes: Mapping[str, int]) -> None:
    """The part of the simulation that gives each core with firmware a process of its own.

    `sizes` are the bytes of the memories that the host cannot see, as the simulation declares them. Compiled
    where TA_FIRMWARE is defined; then TA_EMULATOR_<INSTANCE> and TA_BOOT_<INSTANCE> name programs.
    """
    every = {one.arch: one for one in firmwares(inputs)}
    if not every:
        return
    out.lines(("", "#ifdef TA_FIRMWARE", '#include "cores/process.h"', ""))
    used = {name for one in every.values() for name in _seen(one, sizes)}
    for name in sorted(used):
        if name not in sizes:
            size = inputs.soc.memory(name).size
            out.line(f"static uint8_t memory_{name}[{size}] TA_ALIGNED(TA_SHARED_ALIGNMENT);")
        out.line(f"static ta_shared shared_{name} = {{memory_{name}, sizeof memory_{name}, 0}};")
    for one in every.values():
        _process(out, inputs, one, _seen(one, sizes))
    out.lines(("", "static const ta_core *const cores[] = {"))
    with out.indent():
        for instance in inputs.soc.instances:
            known = instance.arch.name in every
            what = f"&process_{instance.identifier}.core" if known else "NULL"
            out.line(f"{what}, /* {instance.name} */")
    out.lines(("};", "#define CORES cores", "#else", "#define CORES NULL", "#endif"))


def _seen(one: Firmware, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The memory of the firmware, then those of the core that hold anything."""
    return (one.memory.name, *(name for name in one.instance.memory if name in sizes))


def _process(out: Emitter, inputs: EmitInputs, one: Firmware, seen: tuple[str, ...]) -> None:
    name = one.instance.identifier
    macro = numbering.c_identifier(one.instance.name)
    out.line()
    entries = [entry(inputs, one.arch, function) for function in one.functions]
    out.lines(f"ta_status {each}(void *const *p);" for each in entries)
    out.line(f"static const ta_function functions_{name}[] = {{")
    with out.indent():
        out.lines(f"{each}," for each in entries)
    out.lines(("};", f"static const ta_process_memory memories_{name}[] = {{"))
    with out.indent():
        for number, each in enumerate(seen):
            memory = inputs.soc.memory(each)
            # Memory that the host cannot see is not loaded: its address is in no segment.
            physical = memory.base if memory.base is not None else 0xFFFF << 48 | number << 32
            out.line(f"{{&shared_{each}, 0x{memory.observers[one.arch]:x}ULL, 0x{physical:x}ULL}},")
    out.lines(("};", f"static ta_process_state state_{name};"))
    out.line(f"static const char *const command_{name}[] = {{TA_EMULATOR_{macro}, TA_BOOT_{macro}, NULL}};")
    out.line(f"extern const ta_process process_{name};")
    out.line(f"const ta_process process_{name} = {{")
    with out.indent():
        out.line(f"TA_PROCESS_CORE, &state_{name}, command_{name}, memories_{name}, functions_{name},")
        out.line(f"{len(seen)}, {len(entries)}, {one.core.machine},")
    out.line("};")


def shared_memories(inputs: EmitInputs) -> frozenset[str]:
    """The memories that some core with firmware shares with the host port."""
    return frozenset(name for one in firmwares(inputs) for name in one.instance.memory)
