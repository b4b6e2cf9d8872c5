"""The readable summary of a SoC."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from target_arch.soc.model import CopyPath, Cores, Instance, LoadProcess, Memory, SoC
from target_arch.soc.rounding import round_up
from target_arch.soc.stacks import core_stacks
from target_arch.soc.units import BANDWIDTH, FREQUENCY, SIZE, TIME, written
from target_arch.soc.words import InstructionSet

Row = tuple[str, ...]

_ADDRESS_GROUP = 4


def show(soc: SoC, codegen: Mapping[str, str] | None = None) -> str:
    """The summary that `target-arch show` prints, without a final newline.

    `codegen` maps backend names to code formats (`c`, `command_stream`); it needs the registry, so it is
    given from outside. Where a backend is not in it, the column holds `-`.
    """
    counts = (
        _count(len(soc.archs), "target_arch"),
        _count(len(soc.instances), "instance"),
        _count(len(soc.memories), "memory", "memories"),
        _count(len(soc.copies), "copy path"),
    )
    sections = (
        [f"{soc.name}: {', '.join(counts)}"],
        _section("target_archs", _archs(soc, codegen or {})),
        _section("cores", _cores(soc)),
        _section("memories", _memories(soc)),
        _section("copy paths", _copies(soc)),
        _section("memory modes", _modes(soc)),
        _section("ports", _ports(soc)),
        _section("orders", _orders(soc)),
    )
    return "\n\n".join("\n".join(section) for section in sections if section)


def _archs(soc: SoC, codegen: Mapping[str, str]) -> list[Row]:
    head = ("instance", "DLDevice", "backend", "codegen", "load process", "clock", "operands", "memories")
    return [head, *(_arch(instance, codegen) for instance in soc.instances)]


def _arch(instance: Instance, codegen: Mapping[str, str]) -> Row:
    arch = instance.arch
    backend = arch.backend + "".join(f" {name}={value}" for name, value in sorted(arch.options.items()))
    backend += f" isa={arch.isa}" if arch.isa is not InstructionSet.GENERIC else ""
    buffers = {name: buffer for buffer, name in instance.buffers.items()}
    memories = [f"{name} (as {buffers[name]})" if name in buffers else name for name in instance.memory]
    memories += [
        f"{name} (as {buffer})" for buffer, name in instance.buffers.items() if name not in instance.memory
    ]
    return (
        instance.name + (" (host)" if arch.host else ""),
        str(instance.device),
        backend,
        codegen.get(arch.backend, "-"),
        _load(arch.load),
        written(arch.clock, FREQUENCY) if arch.clock else "-",
        arch.operands,
        ", ".join(memories),
    )


def _load(load: LoadProcess) -> str:
    said = [load.process]
    if load.image:
        said.append(load.image)
    if load.bytes:
        said.append(written(load.bytes, SIZE))
    if load.time:
        said.append(written(load.time, TIME))
    return ", ".join(said)


def _cores(soc: SoC) -> list[Row]:
    head = ("core", "stack", "in", "wakes in", "caches")
    stacks = {stack.instance: stack for stack in core_stacks(soc)}
    rows = [
        (
            instance.name,
            written(stacks[instance.name].bytes, SIZE),
            stacks[instance.name].memory,
            written(cores.wake, TIME) if cores.wake else "-",
            _caches(cores),
        )
        for instance in soc.instances
        if (cores := instance.arch.cores) is not None and instance.name in stacks
    ]
    return [head, *rows] if rows else []


def _caches(cores: Cores) -> str:
    said = ["coherent"] if cores.coherent else []
    said += [f"{written(cores.line, TIME)} a line"] if cores.line else []
    return ", ".join(said) or "-"


def _memories(soc: SoC) -> list[Row]:
    head = ("memory", "size", "host address", "other observers", "read", "write", "latency", "remarks")
    return [head, *(_memory(memory) for memory in soc.memories)]


def _memory(memory: Memory) -> Row:
    remarks = [f"cached, lines of {memory.cache_line} B"] if memory.cached else []
    remarks += [] if memory.writable else ["read-only"]
    observers = (f"{name} at {_address(address)}" for name, address in sorted(memory.observers.items()))
    return (
        memory.name,
        written(memory.size, SIZE),
        "-" if memory.base is None else _address(memory.base),
        ", ".join(observers) or "-",
        _bandwidth(memory.read_bandwidth),
        _bandwidth(memory.write_bandwidth) if memory.writable else "-",
        written(memory.latency, TIME) if memory.latency else "-",
        ", ".join(remarks) or "-",
    )


COPY_HEAD = ("from", "to", "by", "kind", "bandwidth", "set-up", "alignment", "transfer", "cache")


def copy_rows(soc: SoC) -> tuple[Row, ...]:
    """The copy paths in words, one row each; COPY_HEAD says what is in a row."""
    return tuple(_copy(soc, copy) for copy in soc.copies)


def _copies(soc: SoC) -> list[Row]:
    return [COPY_HEAD, *copy_rows(soc)] if soc.copies else []


def _copy(soc: SoC, copy: CopyPath) -> Row:
    engine = copy.engine
    if copy.is_async:
        engine += f" ({_count(soc.dma(copy.engine).channels, 'channel')})"
    most = "any length" if copy.max_bytes is None else f"up to {written(copy.max_bytes, SIZE)}"
    return (
        copy.source,
        copy.target,
        engine,
        "async" if copy.is_async else "sync",
        _bandwidth(copy.bandwidth),
        written(copy.setup, TIME) if copy.setup else "-",
        f"{copy.alignment} B",
        f"{copy.dimensions}-D, {most}",
        copy.cache,
    )


def _modes(soc: SoC) -> list[Row]:
    head = ("mode", "workspace", "constants", "inputs and outputs")
    rows = [(m.name, _chain(m.workspace), _chain(m.constants), _chain(m.io)) for m in soc.modes]
    return [head, *rows]


def _ports(soc: SoC) -> list[Row]:
    head = ("port", "machine", "code", "data", "stack")
    rows = [(p.name, p.machine, p.code, p.data, written(p.stack, SIZE)) for p in soc.ports]
    return [head, *rows] if rows else []


def _orders(soc: SoC) -> list[Row]:
    lowering = [("lowering", _wish(soc.lowering))]
    lowering += [(f"lowering {phase}", _wish(wish)) for phase, wish in soc.lowering_phases.items()]
    rules = [
        *(("require", f"{operator} on {target}") for operator, target in soc.require.items()),
        *(("prefer", f"{operator} on {target}") for operator, target in soc.prefer.items()),
        *(("forbid", f"{operator} on {_chain(targets)}") for operator, targets in soc.forbid.items()),
        *(("divide", f"{operator} {_shared(targets)}") for operator, targets in soc.divide.items()),
    ]
    part = [("part", soc.chip.part)] if soc.chip is not None else []
    costs = [("costs", f"measured, in {PurePath(soc.cost_file).name}")] if soc.cost_file else []
    return [("order", "is"), ("partitioning", _chain(soc.partitioning)), *lowering, *rules, *costs, *part]


def _shared(targets: tuple[str, ...]) -> str:
    return f"on {_chain(targets)}" if targets else "not"


def _wish(order: str | tuple[str, ...]) -> str:
    return order if isinstance(order, str) else _chain(order)


def _section(title: str, rows: Sequence[Row]) -> list[str]:
    """A title and the rows below it in columns, the first of them the head; nothing where there are none."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [title, *(f"  {line.rstrip()}" for line in lines)]


def _chain(names: Iterable[str]) -> str:
    return ", ".join(names)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _bandwidth(value: float | None) -> str:
    return "-" if value is None else written(value, BANDWIDTH)


def _address(value: int) -> str:
    """Hexadecimal in groups of four digits, as in a SoC file: `0x2000_0000`."""
    digits = f"{value:x}"
    digits = digits.rjust(round_up(len(digits), _ADDRESS_GROUP), "0")
    groups = (digits[at : at + _ADDRESS_GROUP] for at in range(0, len(digits), _ADDRESS_GROUP))
    return f"0x{'_'.join(groups)}"
