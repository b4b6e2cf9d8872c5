"""What a bundle needs to run on a machine without an operating system: is it described, and its linker
script."""

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.emit.model.inputs import PORTS, EmitInputs
from target_arch.emit.text.emitter import Emitter
from target_arch.soc.machines import MACHINE_PORTS, MACHINES, Machine
from target_arch.soc.model import Memory, Port, SoC

_HEAD = """\
/* Where a program for {machine} ({cpu}) has its code, its variables and its stack; {soc}.ld has the
 * arenas and the constants. Link with -Wl,-T,{soc}.ld -Wl,-T,{port}.ld, in this order. The stack lies at the
 * start of its memory: one that grows too large leaves it, and overwrites nothing of the program's. */
ENTRY(ta_mps2_reset)
EXTERN(ta_mps2_vectors)
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
"""Of the stack, the variables and their initial values: what the procedure call standard wants of a stack."""

ARENA_ALIGNMENT = 64
"""Of the first arena behind a program's own sections in the same memory."""


COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"

ICOUNT_SHIFT = 8
"""Each instruction takes 2^8 ns of the emulated machine, several ticks of its timer: so ticks count
instructions."""


def compile_flags(machine: Machine) -> tuple[str, ...]:
    """Flags for code on a machine: the processor, arenas in their sections, and nothing merged, so that the
    sizes in object files are those of the image.
    """
    return (*machine.flags, "-DTA_SECTIONS", "-fno-merge-constants")


def link_flags(soc: str, port: str) -> tuple[str, ...]:
    """Flags to link a program in the folder of its bundle."""
    scripts = (f"-Wl,-T,{soc}.ld", f"-Wl,-T,{port}.ld")
    return ("-nostartfiles", *scripts, "-Wl,--no-warn-rwx-segments")


def emulator_command(machine: str, program: str) -> tuple[str, ...]:
    """The command that runs a program on an emulated machine, in the folder where its files are."""
    return (
        EMULATOR, "-machine", machine, "-icount", f"shift={ICOUNT_SHIFT}", "-display", "none",
        "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native",
        "-kernel", program,
    )  # fmt: skip


def require_port(soc: SoC, port: str) -> None:
    """DiagnosticError where there is no such port, or it runs on a machine that the description does not
    name."""
    if port not in PORTS:
        raise _refused("unknown-port", f"there is no port `{port}`", name_hint(port, PORTS, "there are"))
    if port not in MACHINE_PORTS:
        return
    if soc.port(port) is None:
        machines = ", ".join(sorted(name for name in MACHINES if MACHINES[name].port == port))
        message = f"`{soc.name}` does not say on which machine port `{port}` runs it"
        hint = f"add a table `[port.{port}]` with `machine` ({machines}), `code`, `data` and `stack`"
        raise _refused("no-machine", message, hint)


def require_host_alone(inputs: EmitInputs) -> None:
    """DiagnosticError where the port runs on a machine and a partition is not on its host."""
    if inputs.port not in MACHINE_PORTS:
        return
    host = inputs.soc.host.name
    for partition in inputs.graph.partitions:
        if partition.instance != host:
            message = f"port `{inputs.port}` has only the host, `{partition.id}` is on `{partition.instance}`"
            raise _refused("host-alone", message, f"plan for the host alone: `--target {host}`")


def machine_of(soc: SoC, port: str) -> tuple[Port, Machine] | None:
    """The description's table for a port and the machine it names; None for a port that needs no machine."""
    described = soc.port(port)
    return None if described is None else (described, MACHINES[described.machine])


def begin_symbol(memory: str) -> str:
    """The linker's symbol behind a program's own sections in a memory."""
    return f"ta_{memory}_begin"


def machine_script(soc: SoC, port: Port) -> str:
    """The GNU ld script of a whole program on the machine of a port."""
    machine = MACHINES[port.machine]
    out = Emitter()
    out.block(
        _HEAD.format(
            machine=machine.name,
            cpu=machine.cpu,
            soc=soc.name,
            port=port.name,
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


def _refused(rule: str, message: str, hint: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place="command line", message=message, hint=hint)])
