"""A bundle on a machine without an operating system: checks of the SoC's description, flags, and the linker
script.
"""

from target_arch.backend.port import BareMetal, Machine, PortKind
from target_arch.diagnostics import Diagnostic, DiagnosticError, Hint, Keyword, advice
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.manifest.bundle import CrossToolchain, ToolchainEntry
from target_arch.soc.model import Memory, Port, SoC
from target_arch.soc.words import LINKED

_HEAD = """\
/* Where a program for {machine} ({cpu}) has its code, its variables and its stack; {soc}.ld has the
 * arenas and the constants. Link with -Wl,-T,{soc}.ld -Wl,-T,{port}.ld, in this order. The stack is at the
 * start of its memory: one that grows too large leaves it, and overwrites nothing of the program's. */
ENTRY({prefix}_reset)
EXTERN({prefix}_vectors)
SECTIONS
{{
    .vectors {code} : {{ KEEP(*(.vectors)) }}
    .text : {{ *(.text .text.*) }}
    .rodata : {{ *(.rodata .rodata.*) }}
    ta_data_load = ALIGN({align});
    .stack {data} (NOLOAD) : AT(ADDR(.stack)) {{ ta_stack_start = .; . += {stack}; ta_stack_end = .; }}
    .data ALIGN({align}) : AT(ta_data_load)
    {{
        ta_data_start = .;
        *(.data .data.*)
        . = ALIGN(4);
        ta_data_end = .;
    }}
    {code_begin} = ta_data_load + SIZEOF(.data);
    .bss ALIGN({align}) (NOLOAD) : AT(ADDR(.bss))
    {{
        ta_bss_start = .;
        *(.bss .bss.* COMMON)
        . = ALIGN(4);
        ta_bss_end = .;
    }}
    {data_begin} = .;
    /DISCARD/ : {{ *(.ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.*) }}
}}"""

ALIGNMENT = 8
"""Bytes to which the stack, the variables and their initial values are aligned, as the procedure call
standard requires for a stack.
"""

ARENA_ALIGNMENT = 64
"""Bytes to which the first arena behind a program's own sections in the same memory is aligned."""


def compile_flags(bare: BareMetal, machine: Machine) -> tuple[str, ...]:
    """Flags for code on a machine: the processor, arenas in their sections, and nothing merged, so that the
    sizes in object files are those of the image.
    """
    return (*machine.flags, *bare.flags, "-DTA_SECTIONS", "-fno-merge-constants")


def link_flags(soc: str, port: str) -> tuple[str, ...]:
    """Flags to link a program in the folder of its bundle."""
    scripts = (f"-Wl,-T,{soc}.ld", f"-Wl,-T,{port}.ld")
    return ("-nostartfiles", *scripts, "-Wl,--no-warn-rwx-segments")


def toolchain(soc: SoC, port: PortKind) -> ToolchainEntry:
    """How the programs of a bundle are compiled, linked and run: complete for a computer that has the bundle,
    but not the plug-in of its port.
    """
    on_machine = machine_of(soc, port)
    if on_machine is None:
        return ToolchainEntry(libraries=tuple(port.hosted.libraries), needs=tuple(port.hosted.needs))
    _, bare, machine = on_machine
    return ToolchainEntry(
        libraries=("m",),
        needs=(),
        cross=CrossToolchain(
            compiler=bare.compiler,
            flags=compile_flags(bare, machine),
            link=link_flags(soc.name, port.name),
            emulator=tuple(bare.command(machine.name)),
            packages=dict(bare.packages),
            counter_hz=machine.counter_hz,
            shift=bare.shift,
            start=f"{port.prefix}_start",
        ),
    )


def require_machine(soc: SoC, port: PortKind) -> None:
    """DiagnosticError where a port runs on a machine that the description does not name."""
    bare = port.bare_metal
    if bare is not None and soc.port(port.name) is None:
        machines = ", ".join(sorted(machine.name for machine in bare.machines))
        message = f"`{soc.name}` does not say on which machine port `{port.name}` runs it"
        hint = f"add a table `[port.{port.name}]` with `machine` ({machines}), `code`, `data` and `stack`"
        raise _refused("no-machine", message, hint)


def require_cores_of_machine(inputs: EmitInputs) -> None:
    """DiagnosticError where the port runs on a machine and a partition is on none of its cores: neither on
    the host nor on a linked core that the machine has.
    """
    on_machine = machine_of(inputs.soc, inputs.port)
    if on_machine is None:
        return
    machine, host, name = on_machine[2], inputs.soc.host.name, inputs.port.name
    linked = [
        each.name for each in inputs.soc.instances if each.arch.cores and each.arch.load.process == LINKED
    ]
    if machine.cores > 1 and len(linked) >= machine.cores:
        message = (
            f"`{machine.name}` has {machine.cores} cores, `{inputs.soc.name}` the host and {len(linked)} more"
        )
        raise _refused("host-alone", message, "describe as many cores as the machine has")
    for id, partition in inputs.partitions.items():
        if partition.instance != host and not (machine.cores > 1 and partition.instance in linked):
            alone = Keyword("targets", (host,))
            message = f"port `{name}` has only the host, `{id}` is on `{partition.instance}`"
            raise _refused("host-alone", message, advice("plan for the host alone: ", alone))


def machine_of(soc: SoC, port: PortKind) -> tuple[Port, BareMetal, Machine] | None:
    """The description's table for a port and the machine it names; None for a port that needs no machine."""
    described, bare = soc.port(port.name), port.bare_metal
    if described is None or bare is None:
        return None
    return described, bare, bare.machine(described.machine)


def begin_symbol(memory: str) -> str:
    """The linker's symbol behind a program's own sections in a memory."""
    return f"ta_{memory}_begin"


def machine_script(soc: SoC, port: Port, machine: Machine, prefix: str) -> str:
    """The GNU ld script of a whole program on the machine of a port, whose symbols begin with `prefix`."""
    out = Emitter()
    out.block(
        _HEAD.format(
            machine=machine.name,
            cpu=machine.cpu,
            soc=soc.name,
            port=port.name,
            prefix=prefix,
            align=ALIGNMENT,
            code=_base(soc.memory(port.code)),
            data=_base(soc.memory(port.data)),
            stack=port.stack,
            code_begin=begin_symbol(port.code),
            data_begin=begin_symbol(port.data),
        )
    )
    return out.text()


def _base(memory: Memory) -> str:
    return f"0x{memory.base or 0:08x}"


def _refused(rule: str, message: str, hint: Hint) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place="port", message=message, hint=hint)])
