"""`src/<soc>_soc.c`: the SoC's table for the runtime; for the host port also its simulation."""

from collections.abc import Sequence

from target_arch.emit.build.firmware import ALIGNMENT, processes, shared_memories, simulated_sizes
from target_arch.emit.model.arenas import EmittedArena
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.naming import simulation_symbol, soc_symbol
from target_arch.emit.model.steps import abi_guard
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import string
from target_arch.emit.text.sections import define_section, section_macro
from target_arch.plan.memory import Arena
from target_arch.soc import numbering
from target_arch.soc.model import Instance, Memory, SoC
from target_arch.soc.stacks import STACK_ALIGNMENT, CoreStack


def soc_source(inputs: EmitInputs) -> str:
    """The C text that defines the `ta_soc`; its name is the bundle's own, as programs may have several."""
    soc = inputs.soc
    prefix = numbering.c_prefix(soc)
    drivers = sorted({driver for arch in soc.archs if (driver := inputs.backends[arch.name].runtime.driver)})
    channels = numbering.channels(soc)
    out = Emitter()
    out.line(f"/* {soc.name} as the runtime sees it. */")
    out.line(f"#include <{soc.name}_soc.h>")
    out.line('#include "target_arch/driver.h"')
    out.line()
    abi_guard(out, inputs)
    if drivers:
        out.line()
    out.lines(f"extern const ta_driver {driver};" for driver in drivers)
    out.table("static const ta_memory_info memories", [_memory(soc, memory) for memory in soc.memories])
    out.table("static const ta_channel_info channels", [f"{{{string(name)}}}," for name in channels])
    for instance in soc.instances:
        rows = [_observed(soc, prefix, instance, memory) for memory in observed(soc, instance)]
        out.table(f"static const ta_observed observed_{instance.identifier}", rows)
    _stacks(out, inputs)
    rows = [_instance(inputs, instance) for instance in soc.instances]
    out.table("static const ta_instance_info instances", rows)
    out.line()
    out.line(f"extern const ta_soc {soc_symbol(inputs)};")
    out.line(f"const ta_soc {soc_symbol(inputs)} = {{")
    with out.indent():
        out.line("TA_ABI_VERSION,")
        out.line(f"{len(numbering.timelines(soc))}, /* timelines */")
        out.line(f"{prefix}_ABI_HASH,")
        out.line(f"{string(soc.name)},")
        out.line("memories,")
        out.line("channels," if channels else "NULL,")
        out.line("instances,")
        out.line(f"{len(soc.memories)}, /* memories */")
        out.line(f"{len(channels)}, /* channels */")
        out.line(f"{len(soc.instances)}, /* instances */")
    out.line("};")
    return out.text()


def simulation_source(inputs: EmitInputs, arenas: Sequence[EmittedArena]) -> str:
    """The C text that makes the host port simulate this SoC: memories of their own, and a device per
    instance.
    """
    soc = inputs.soc
    symbols = {arch.name: inputs.backends[arch.name].runtime.simulator_symbol for arch in soc.archs}
    out = Emitter()
    out.line(
        f"/* The simulation of {soc.name} on a computer: memories that the host cannot see, and devices. */"
    )
    out.line(f"#include <{soc.name}_soc.h>")
    out.line('#include "ports/host/simulator.h"')
    out.line()
    abi_guard(out, inputs)
    sizes = simulated_sizes(inputs, arenas)
    rows = []
    shared = shared_memories(inputs)
    for memory in soc.memories:
        if memory.name in sizes:
            alignment, size = ALIGNMENT if memory.name in shared else 64, sizes[memory.name]
            out.line()
            out.line(f"static uint8_t memory_{memory.name}[{size}] TA_ALIGNED({alignment});")
            number = f"{numbering.c_prefix(soc)}_MEMORY_{numbering.c_identifier(memory.name)}"
            rows.append(f"{{{number}, {size}, memory_{memory.name}}},")
    out.table("static const ta_simulated_memory memories", rows)
    checks = _checks(out, inputs)
    used = sorted({symbol for symbol in symbols.values() if symbol})
    if used:
        out.line()
    out.lines(f"extern const ta_simulator {symbol};" for symbol in used)
    devices = [
        f"{f'&{symbol}' if (symbol := symbols[instance.arch.name]) else 'NULL'}, /* {instance.name} */"
        for instance in soc.instances
    ]
    out.table("static const ta_simulator *const simulators", devices)
    processes(out, inputs, sizes)
    out.line()
    fields = ("memories" if rows else "NULL", str(len(rows)), "simulators", str(len(devices)))
    cores = "CORES" if shared else "NULL"
    tables = (*fields, cores, "checks" if checks else "NULL", str(checks))
    symbol = simulation_symbol(inputs)
    out.line(f"extern const ta_simulation {symbol};")
    out.line(f"const ta_simulation {symbol} = {{{', '.join(tables)}}};")
    return out.text()


def _checks(out: Emitter, inputs: EmitInputs) -> int:
    """The table of image checks by load process, and the number of its entries."""
    used = sorted({arch.load.process for arch in inputs.soc.archs})
    kinds = [inputs.processes[name] for name in used if inputs.processes[name].check]
    if kinds:
        out.line()
    out.lines(f"ta_status {kind.check}(const uint8_t *image, uint32_t bytes);" for kind in kinds)
    rows = [f"{{{kind.c_value}, {kind.check}}}," for kind in kinds]
    out.table("static const ta_image_check checks", rows)
    return len(rows)


def observed(soc: SoC, instance: Instance) -> tuple[Memory, ...]:
    """The memories an instance reads and writes itself: its own replica where a memory is replicated per
    instance.
    """
    own = {*instance.memory, *instance.buffers.values()}
    return tuple(
        memory
        for memory in soc.memories
        if instance.arch.name in memory.observers and (memory.replica_of is None or memory.name in own)
    )


def _memory(soc: SoC, memory: Memory) -> str:
    base = f"0x{memory.base:x}ULL" if memory.base is not None else "0"
    visible = memory.base is not None
    line = soc.own_line(memory.name) if visible and soc.own_line(memory.name) > 1 else 0
    return f"{{{string(memory.name)}, {memory.size}ULL, {base}, {int(visible)}, {line}}},"


def _observed(soc: SoC, prefix: str, instance: Instance, memory: Memory) -> str:
    number = f"{prefix}_MEMORY_{numbering.c_identifier(memory.name)}"
    return f"{{{number}, 0x{memory.observers[instance.arch.name]:x}ULL}},"


def _instance(inputs: EmitInputs, instance: Instance) -> str:
    soc = inputs.soc
    driver = inputs.backends[instance.arch.name].runtime.driver
    count = len(observed(soc, instance))
    fields = (
        string(instance.name),
        str(int(instance.arch.host)),
        f"{numbering.c_prefix(soc)}_TIMELINE_{numbering.c_identifier(instance.name)}",
        inputs.processes[instance.arch.load.process].c_value,
        f"&{driver}" if driver else "NULL",
        f"observed_{instance.identifier}" if count else "NULL",
        str(count),
        *_stack(inputs, instance),
    )
    return f"{{{', '.join(fields)}}},"


def _stacks(out: Emitter, inputs: EmitInputs) -> None:
    """The stacks of cores in memories that the host sees; their programs bring those in other memories."""
    stacks = visible_stacks(inputs)
    for memory in sorted({stack.memory for stack in stacks.values()}):
        out.line()
        define_section(out, Arena(memory))
    for name, stack in stacks.items():
        unit = max(STACK_ALIGNMENT, inputs.soc.own_line(stack.memory))
        section = section_macro(Arena(stack.memory))
        symbol = f"stack_{inputs.soc.instance(name).identifier}"
        out.line(f"static uint8_t {symbol}[{stack.bytes}] {section} TA_ALIGNED({unit});")


def _stack(inputs: EmitInputs, instance: Instance) -> tuple[str, str]:
    stack = visible_stacks(inputs).get(instance.name)
    return ("NULL", "0") if stack is None else (f"stack_{instance.identifier}", str(stack.bytes))


def visible_stacks(inputs: EmitInputs) -> dict[str, CoreStack]:
    """By core the stack that the bundle has for it: under an operating system a thread has its own."""
    if inputs.port.bare_metal is None:
        return {}
    return {
        stack.instance: stack
        for stack in inputs.pools.stacks
        if inputs.soc.memory(stack.memory).base is not None
    }
