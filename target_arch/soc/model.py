"""The values a SoC description consists of.

The reader (`files/soc_file.py`) makes them from TOML, rules (`rules/`) check relations between several of
them, and anyone may build them in Python. They describe the chip and nothing about a model. Units are SI:
bytes, bytes per second, seconds, hertz.
"""

from collections.abc import Container, Mapping
from functools import cached_property
from typing import Protocol, TypeVar

from attrs import field, frozen

from target_arch.soc.chip.chip import Chip
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

HOST_ENGINE = "cpu"
"""The engine name of a copy path that the host CPU itself performs (synchronous)."""

PHASES = ("graph", "s-tir", "ns-tir", "codegen")
"""The phases of lowering, in order."""


@frozen(kw_only=True, order=True)
class DLDevice:
    """The pair (device_type, device_id) of DLPack."""

    type: DLDeviceType = field(converter=device_type)
    id: int

    @property
    def code(self) -> int:
        """The number of the device type in `dlpack.h`."""
        return self.type.code

    def __str__(self) -> str:
        return f"{self.type}:{self.id}"


@frozen(kw_only=True)
class Memory:
    """A physical memory.

    `base` is the host's address of its first byte, None where the host cannot see it. Where it is `cached`,
    `cache_line` are the bytes of a line of the host's cache. `observers` gives the
    address at which a target_arch sees it; the host observes every memory that has a base. `replica_of` names
    the declaration that a per-instance memory was expanded from (`conv_bram_2` has `replica_of="conv_bram"`).
    """

    name: str
    size: int
    base: int | None = None
    observers: Mapping[str, int] = field(factory=dict)
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    latency: float = 0.0
    cached: bool = False
    cache_line: int = 64
    writable: bool = True
    replica_of: str | None = None


@frozen(kw_only=True)
class Dma:
    """A DMA engine: `channels` copies may be in flight at once, each channel in order."""

    name: str
    channels: int = 1


@frozen(kw_only=True, cache_hash=True)
class CopyPath:
    """A declared way from one memory to another.

    `alignment` holds for both start addresses and for 2-D strides; `max_bytes` bounds one transfer (one row
    of a 2-D one); `dimensions` is 1 or 2; `cache` is the duty of the core that starts it.
    """

    source: str
    target: str
    engine: str = HOST_ENGINE
    bandwidth: float | None = None
    setup: float = 0.0
    alignment: int = 1
    max_bytes: int | None = None
    dimensions: int = 1
    cache: CacheDuty = field(default=CacheDuty.NONE, converter=cache_duty)

    @property
    def is_async(self) -> bool:
        """True where a DMA engine copies behind the host's back and an event tells the end."""
        return self.engine != HOST_ENGINE


@frozen(kw_only=True)
class LoadProcess:
    """How an instance gets its program: `process` names a value of `target_arch.backend.load_process`."""

    process: str = LINKED
    image: str | None = None
    bytes: int = 0
    time: float = 0.0


@frozen(kw_only=True)
class Cores:
    """The cores that instances of a target_arch are: they execute C functions, each on a stack of its own.

    Each has `stack` bytes in the memory `stack_memory`, by default the first of its target_arch. `wake` are
    the seconds from the signal of the host until a core that sleeps executes. If they are `coherent`, each
    sees what the others and the host wrote, without maintenance of a cache.
    """

    stack: int
    stack_memory: str = ""
    wake: float = 0.0
    coherent: bool = False


@frozen(kw_only=True)
class TargetArch:
    """The description of one named compute element (all its instances).

    `memory` is the order of preference in which its operands are placed. `buffers` maps the local buffer
    names of its backend (`inp`, `wgt`, `acc`) to memories; TVM code refers to them as scope
    `local.<buffer>_buffer`. It has `cores` if its instances are cores beside the host's. `options` are the
    backend's own, checked by the backend. `clock` is in hertz, `isa` the instruction set that kernels in C
    are laid out for.
    """

    name: str
    backend: str
    device: DLDevice
    host: bool = False
    instances: int = 1
    clock: float = 0.0
    isa: InstructionSet = field(default=InstructionSet.GENERIC, converter=instruction_set)
    memory: tuple[str, ...] = ()
    buffers: Mapping[str, str] = field(factory=dict)
    operands: OperandRule = field(default=OperandRule.IN_AND_OUT, converter=operand_rule)
    load: LoadProcess = LoadProcess()
    cores: Cores | None = None
    options: Mapping[str, int | float | str | bool] = field(factory=dict)

    @property
    def wake(self) -> float:
        """Seconds from the signal of the host until an instance executes."""
        return self.cores.wake if self.cores else 0.0

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
class MemoryMode:
    """How a product uses the memories: for each purpose the memories in order of preference."""

    name: str
    workspace: tuple[str, ...]
    constants: tuple[str, ...]
    io: tuple[str, ...]


@frozen(kw_only=True)
class Port:
    """Where a port of the C runtime that brings its own linker script puts a program.

    `name` is the port's (`target_arch.backend.port`). `machine` is one of its machines, `code` the memory of
    vectors, code and read-only data, `data` that of variables and of the stack, which has `stack` bytes.
    """

    name: str
    machine: str
    code: str
    data: str
    stack: int


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
    schema: int = 1

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
        coherent = {arch.name for arch in self.archs if arch.cores and arch.cores.coherent}
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
