"""The values a SoC description consists of.

Most classes are the records of tables in a SoC file (`document.py`): their fields say which keys a
table has, what a value may be, and what it means. The reader (`files/soc_file.py`) makes them from TOML,
rules (`rules/`) check relations between several of them, and anyone may build them in Python. They describe
the chip and nothing about a model. Units are SI: bytes, bytes per second, seconds, hertz.
"""

from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Protocol, TypeVar

from attrs import field, frozen

from target_arch.soc.chip.chip import Chip
from target_arch.soc.schema.kinds import (
    ADDRESS,
    BANDWIDTH_OF_PATHS,
    CLOCK,
    EVERY_KIND,
    LATENCY,
    SIZE_IN_BYTES,
    Flag,
    Integer,
    Names,
    OneOf,
    OneOrMore,
    Scalar,
    Table,
    Text,
)
from target_arch.soc.schema.records import NO_KEY, REQUIRED, ClosedRecord, KeyName, OrNull, RecordKind
from target_arch.soc.words import (
    LINKED,
    CacheDuty,
    DLDeviceType,
    InstructionSet,
    OperandRule,
    cache_duty,
    device_type,
    instruction_set,
    operand_rule,
)

SCHEMA = 1
"""The version of SoC files."""

HOST_ENGINE = "cpu"
"""The engine name of a copy path that the host CPU itself performs (synchronous)."""

PHASES = ("graph", "s-tir", "ns-tir", "codegen")
"""The phases of lowering, in order."""


@frozen(kw_only=True, order=True)
class DLDevice(ClosedRecord):
    """The pair (device_type, device_id) of DLPack."""

    type: Annotated[DLDeviceType, OneOf(words=tuple(sorted(DLDeviceType))), "DLPack's name"] = field(
        converter=device_type
    )
    id: Annotated[int, Integer(least=0, most=2**16 - 1), "of the first instance; those of others follow"]

    @property
    def code(self) -> int:
        """The number of the device type in `dlpack.h`."""
        return self.type.code

    def __str__(self) -> str:
        return f"{self.type}:{self.id}"


@frozen(kw_only=True)
class Memory(ClosedRecord):
    """A physical memory.

    The host observes every memory that has a `base`; `base` is None where it cannot see it. `replica_of`
    names the declaration that a per-instance memory was expanded from (`conv_bram_2` has
    `replica_of="conv_bram"`).
    """

    name: Annotated[str, NO_KEY]
    size: Annotated[int, SIZE_IN_BYTES, "bytes, or text with a unit"]
    base: Annotated[
        int | None, ADDRESS, "where the host sees its first byte; absent where the host cannot see it"
    ] = None
    observers: Annotated[
        Mapping[str, int],
        Table(of=ADDRESS),
        "other target_archs that see it, and the address of its first byte for each",
    ] = field(factory=dict)
    read_bandwidth: Annotated[float | None, BANDWIDTH_OF_PATHS, "sustained, for one reader"] = None
    write_bandwidth: Annotated[float | None, BANDWIDTH_OF_PATHS, "sustained, for one writer"] = None
    latency: Annotated[float, LATENCY, "of one access"] = 0.0
    cached: Annotated[bool, Flag(), "true if the host accesses it through its cache"] = False
    cache_line: Annotated[
        int,
        Integer(least=4, most=1024, power_of_two=True),
        "bytes of a line of that cache, a power of two; state it if the host's lines are longer",
    ] = 64
    writable: Annotated[bool, Flag(), "false for flash and ROM"] = True
    replica_of: Annotated[str | None, NO_KEY] = None


@frozen(kw_only=True)
class DeclaredMemory(Memory):
    """A memory as a SoC file declares it: one for each instance of its observer where `per_instance`."""

    per_instance: Annotated[bool, Flag(), "true if each instance of its only observer has one of its own"] = (
        False
    )


@frozen(kw_only=True)
class Dma(ClosedRecord):
    """A DMA engine."""

    name: Annotated[str, NO_KEY]
    channels: Annotated[
        int,
        Integer(least=1, most=64),
        "copies that may be in flight at once; each channel executes its copies in order",
    ] = 1


@frozen(kw_only=True, cache_hash=True)
class CopyPath(ClosedRecord):
    """A declared way from one memory to another.

    A file may name several memories at each end, which are several paths. `max_bytes` is None where there is
    no limit.
    """

    source: Annotated[str, KeyName("from"), OneOrMore(), "the memories read"]
    target: Annotated[str, KeyName("to"), OneOrMore(), "the memories written"]
    engine: Annotated[
        str,
        Text(),
        "`cpu`: the host copies, synchronously; or the name of a DMA engine, which copies asynchronously and "
        "signals an event",
    ] = HOST_ENGINE
    bandwidth: Annotated[float | None, BANDWIDTH_OF_PATHS, "sustained"] = None
    setup: Annotated[float, LATENCY, "from the start of the copy to the first byte"] = 0.0
    alignment: Annotated[
        int,
        Integer(least=1, most=4096, power_of_two=True),
        "of both addresses and of 2-D strides, in bytes; a power of two",
    ] = 1
    max_bytes: Annotated[
        int | None, SIZE_IN_BYTES, "the longest transfer, or row of a 2-D one; a multiple of `alignment`"
    ] = None
    dimensions: Annotated[int, Integer(least=1, most=2), "2 if rows may have strides"] = 1
    cache: Annotated[
        CacheDuty,
        OneOf(words=tuple(CacheDuty)),
        "the cache maintenance that the copy needs from the core that starts it",
    ] = field(default=CacheDuty.NONE, converter=cache_duty)

    @property
    def is_async(self) -> bool:
        """True where a DMA engine copies behind the host's back and an event tells the end."""
        return self.engine != HOST_ENGINE


@frozen(kw_only=True)
class LoadProcess(ClosedRecord):
    """How an instance gets its program."""

    process: Annotated[
        str,
        REQUIRED,
        Text(identifier=True),
        "`linked`, `firmware`, `bitstream`, `module`, `command_stream`, or one that a plug-in brings",
    ] = LINKED
    image: Annotated[
        str | None,
        Text(file_name=True),
        "file name of its image: required for `firmware` and `bitstream`, refused for others",
    ] = None
    bytes: Annotated[int, SIZE_IN_BYTES, "of the image"] = 0
    time: Annotated[float, LATENCY, "to load and start it"] = 0.0


@frozen(kw_only=True)
class Cores(ClosedRecord):
    """The cores that instances of a target_arch are: they execute C functions, each on a stack of its own.

    `stack_memory` is empty where it is the first of their target_arch.
    """

    stack: Annotated[int, SIZE_IN_BYTES, "bytes of the stack of each core"]
    stack_memory: Annotated[str, Text(), "the memory of the stacks; the first of `memory` by default"] = ""
    wake: Annotated[
        float,
        LATENCY,
        "from the signal of the host until a core that sleeps executes; every call of a kernel there takes "
        "that much more",
    ] = 0.0
    coherent: Annotated[
        bool,
        Flag(),
        "true where the cores see what the host wrote, and it what they wrote, without maintenance of a "
        "cache; else buffers of cached memories that they share have cache lines of their own",
    ] = False
    line: Annotated[
        float,
        LATENCY,
        "that a slice takes longer for each line of a cache (64 B) that its windows read of what another "
        "core wrote: to fetch it, and to fetch it back when it is written again",
    ] = 0.0


@frozen(kw_only=True)
class DeclaredCores(Cores):
    """Cores as a SoC file declares them: what they share becomes observers of memories."""

    shares: Annotated[
        tuple[str, ...],
        Names(),
        "memories of the host that they see at its addresses: nothing is copied between the host and them. "
        "It stands for entries in the `observers` of those memories",
    ] = ()


@frozen(kw_only=True)
class TargetArch(ClosedRecord):
    """The description of one named compute element (all its instances).

    `buffers` maps the local buffer names of its backend (`inp`, `wgt`, `acc`) to memories; TVM code refers to
    them as scope `local.<buffer>_buffer`. `options` are checked by the backend. `clock` is 0 where it is not
    known.
    """

    name: Annotated[str, NO_KEY]
    backend: Annotated[str, Text(identifier=True), "the plug-in that programs it"]
    host: Annotated[bool, Flag(), "true for exactly one target_arch, the one that runs the bundle"] = False
    instances: Annotated[int, Integer(least=1, most=256), "identical pieces, each programmed on its own"] = 1
    clock: Annotated[float, CLOCK, "frequency of its compute"] = 0.0
    isa: Annotated[
        InstructionSet,
        OneOf(words=tuple(InstructionSet)),
        "the instruction set that kernels in C are laid out for; the C runs on every other too",
    ] = field(default=InstructionSet.GENERIC, converter=instruction_set)
    memory: Annotated[tuple[str, ...], REQUIRED, Names(), "memories for its operands, best first"] = ()
    buffers: Annotated[
        Mapping[str, str],
        Table(of=Text()),
        "local buffer of its backend → memory. Copy paths must reach it, unless the target_arch works in a "
        "memory of the host and fills its buffers itself",
    ] = field(factory=dict)
    operands: Annotated[
        OperandRule,
        OneOf(words=tuple(OperandRule)),
        "the operands that must be in its memory; with `outputs`, inputs may be read from any memory it can "
        "see",
    ] = field(default=OperandRule.IN_AND_OUT, converter=operand_rule)
    options: Annotated[
        Mapping[str, int | float | str | bool],
        Table(of=Scalar()),
        "options of its backend; `target-arch backends` lists them",
    ] = field(factory=dict)
    device: Annotated[DLDevice, "its DLDevice"]
    load: Annotated[LoadProcess, "how it gets its program: the name of a load process, or a table"] = (
        LoadProcess()
    )
    cores: Annotated[
        Cores | None,
        OrNull(RecordKind(DeclaredCores)),
        "where its instances are cores beside the host's: each with a stack of its own",
    ] = None

    @property
    def wake(self) -> float:
        """Seconds from the signal of the host until an instance executes."""
        return self.cores.wake if self.cores else 0.0

    @property
    def line(self) -> float:
        """Seconds that an instance takes longer for a line of a cache that another core wrote."""
        return self.cores.line if self.cores else 0.0

    @property
    def stack_memory(self) -> str:
        """The declared name of the memory of the stacks of its cores; empty where it has none."""
        if self.cores is None:
            return ""
        return self.cores.stack_memory or next(iter(self.memory), "")


@frozen(kw_only=True, slots=False)
class Instance:
    """One of the identical pieces of a target_arch, with its own DLDevice and its own replicas of memories.

    `name` is the target_arch's name when there is one instance, else `name[index]`.
    """

    arch: TargetArch
    index: int
    device: DLDevice
    memory: tuple[str, ...]
    buffers: Mapping[str, str]

    @cached_property
    def name(self) -> str:
        return self.arch.name if self.arch.instances == 1 else f"{self.arch.name}[{self.index}]"

    @property
    def identifier(self) -> str:
        """The name as a C identifier."""
        return self.arch.name if self.arch.instances == 1 else f"{self.arch.name}_{self.index}"


@frozen(kw_only=True)
class MemoryMode(ClosedRecord):
    """How a product uses the memories: for each purpose the memories in order of preference."""

    name: Annotated[str, NO_KEY]
    workspace: Annotated[
        tuple[str, ...],
        Names(),
        "intermediate tensors. Where a tensor could be in several of these, it is in the one that costs the "
        "least time of copies; the order decides between equals",
    ]
    constants: Annotated[tuple[str, ...], Names(), "weights"]
    io: Annotated[
        tuple[str, ...],
        Names(),
        "inputs and outputs of the model. Where no copy path leads from `workspace` to a memory of the host "
        "named here, the CPU copies: no `[[copy]]` is needed for that",
    ]


@frozen(kw_only=True)
class Port(ClosedRecord):
    """Where a port of the C runtime that brings its own linker script puts a program.

    `name` is the port's (`target_arch.backend.port`).
    """

    name: Annotated[str, NO_KEY]
    machine: Annotated[str, Text(), "one of the port's machines, which executes it"]
    code: Annotated[str, Text(), "memory of the vector table, code and read-only data"]
    data: Annotated[str, Text(), "memory of variables and of the stack; arenas come after them"]
    stack: Annotated[int, SIZE_IN_BYTES, "bytes of the stack"]


@frozen(kw_only=True)
class PartitioningRules(ClosedRecord):
    """The rules of placement in a SoC file. Operators are named by a kind, an id or `*`."""

    order: Annotated[
        tuple[str, ...], Names(), "every target_arch, in the order in which they may claim operators"
    ]
    require: Annotated[
        Mapping[str, str],
        Table(of=Text(), also=EVERY_KIND),
        "operator kind or `*` → where such operators must go: a target_arch, or one instance such as "
        "`fpga_conv2d[1]`",
    ] = field(factory=dict)
    prefer: Annotated[
        Mapping[str, str],
        Table(of=Text(), also=EVERY_KIND),
        "operator kind or `*` → where they go if it supports them, whatever it costs",
    ] = field(factory=dict)
    forbid: Annotated[
        Mapping[str, tuple[str, ...]],
        Table(of=Names(), also=EVERY_KIND),
        "operator kind or `*` → where they must not go",
    ] = field(factory=dict)
    divide: Annotated[
        Mapping[str, tuple[str, ...]],
        Table(of=Names(least=0), also=EVERY_KIND),
        "operator kind or `*` → which target_archs or instances may compute slices of them, where "
        "operators are divided; none (`[]`): they stay whole. Kinds that are not named may be divided over "
        "whatever takes them",
    ] = field(factory=dict)


@frozen(kw_only=True, slots=False, repr=False)
class SoC:
    """A whole described chip. `partitioning` is the order in which target_archs may claim an operator.

    `lowering` is a policy or an explicit list, `lowering_phases` are others for some of PHASES.
    `require`, `prefer` and `forbid` map operators (a kind, an id or `*`) to target_archs or instances;
    `divide` maps kinds (or `*`) to those that may compute slices of them, none where they stay whole.
    `cost_file` is the path of a file with measured costs, empty where there is none. `chip` is None where the
    description is of no real part.
    """

    name: str
    memories: tuple[Memory, ...]
    dmas: tuple[Dma, ...]
    copies: tuple[CopyPath, ...]
    archs: tuple[TargetArch, ...]
    modes: tuple[MemoryMode, ...]
    partitioning: tuple[str, ...]
    lowering: str | tuple[str, ...] = "c-first"
    lowering_phases: Mapping[str, str | tuple[str, ...]] = field(factory=dict)
    ports: tuple[Port, ...] = ()
    cost_file: str = ""
    chip: Chip | None = None
    require: Mapping[str, str] = field(factory=dict)
    prefer: Mapping[str, str] = field(factory=dict)
    forbid: Mapping[str, tuple[str, ...]] = field(factory=dict)
    divide: Mapping[str, tuple[str, ...]] = field(factory=dict)
    schema: int = SCHEMA

    def __repr__(self) -> str:
        return f"<SoC {self.name}: {', '.join(arch.name for arch in self.archs)}>"

    @property
    def host(self) -> TargetArch:
        return next(arch for arch in self.archs if arch.host)

    def memory(self, name: str) -> Memory:
        """The memory of that name. KeyError where this SoC has none."""
        return self._memories[name]

    def arch(self, name: str) -> TargetArch:
        """The target_arch of that name. KeyError where this SoC has none."""
        return _named(self.archs, name)

    def mode(self, name: str = "default") -> MemoryMode:
        """The memory mode of that name. KeyError where this SoC has none."""
        return _named(self.modes, name)

    def dma(self, name: str) -> Dma:
        """The DMA engine of that name. KeyError where this SoC has none."""
        return _named(self.dmas, name)

    def port(self, name: str) -> Port | None:
        """Where the port of that name puts a program; None where the description does not say."""
        return next((port for port in self.ports if port.name == name), None)

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """Every instance of every target_arch, in the order of the description."""
        return tuple(self._instance(arch, index) for arch in self.archs for index in range(arch.instances))

    def instance(self, name: str) -> Instance:
        """The instance of that name (`fpga_conv2d[1]`, `host_cpu`). KeyError where this SoC has none."""
        return self._instances[name]

    def observes(self, arch: str, memory: str) -> bool:
        """True where the target_arch itself can read and write the memory, without a copy."""
        described = self.memory(memory)
        if self.arch(arch).host and described.base is not None:
            return True
        return arch in described.observers

    def sees(self, instance: Instance, memory: str) -> bool:
        """Like `observes`, for one instance: of a per-instance memory it sees its own replica alone."""
        replicated = self.memory(memory).replica_of
        own = replicated is None or instance.arch.host or memory == f"{replicated}_{instance.index}"
        return own and self.observes(instance.arch.name, memory)

    def own_line(self, memory: str) -> int:
        """Bytes in units of which the memory is shared out, so that no two buffers share a line: the host's
        cache line where something else writes or reads behind that cache, else 1.

        A cache is written back and invalidated by whole lines, whatever else is in them.
        """
        return self._own_lines[memory]

    def is_of_cores(self, memory: str) -> bool:
        """Whether the host and coherent cores compute in the memory, and nothing else does: functions in C,
        which take a tensor from any of its elements on.
        """
        described = self.memory(memory)
        coherent = _coherent(self.archs)
        return described.base is not None and bool(described.observers) and coherent >= {*described.observers}

    @cached_property
    def _memories(self) -> dict[str, Memory]:
        return {memory.name: memory for memory in self.memories}

    @cached_property
    def _instances(self) -> dict[str, Instance]:
        return {instance.name: instance for instance in self.instances}

    @cached_property
    def _own_lines(self) -> dict[str, int]:
        with_duties = {
            end for path in self.copies if path.cache != CacheDuty.NONE for end in (path.source, path.target)
        }
        coherent = _coherent(self.archs)
        return {
            memory.name: _own_line(memory, memory.name in with_duties, coherent) for memory in self.memories
        }

    def _instance(self, arch: TargetArch, index: int) -> Instance:
        replicas = {
            memory.replica_of: memory.name
            for memory in self.memories
            if memory.name == f"{memory.replica_of}_{index}"
        }
        own = {name: replicas.get(name, name) for name in (*arch.memory, *arch.buffers.values())}
        return Instance(
            arch=arch,
            index=index,
            device=DLDevice(type=arch.device.type, id=arch.device.id + index),
            memory=tuple(own[name] for name in arch.memory),
            buffers={buffer: own[name] for buffer, name in arch.buffers.items()},
        )


def _coherent(archs: Iterable[TargetArch]) -> frozenset[str]:
    """The target_archs whose instances are cores with coherent caches."""
    return frozenset(arch.name for arch in archs if arch.cores and arch.cores.coherent)


def _own_line(memory: Memory, duties: bool, coherent: Container[str]) -> int:
    others = any(observer not in coherent for observer in memory.observers)
    shared = memory.writable and memory.base is not None and others
    return memory.cache_line if memory.cached and (duties or shared) else 1


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def _named(values: tuple[_N, ...], name: str) -> _N:
    for value in values:
        if value.name == name:
            return value
    raise KeyError(name)
