"""A SoC of backends alone, put together from the defaults of each.

It is for trying a backend before a chip is described: a host with memory, every other target_arch with its
own memories behind a DMA engine of its own, numbers and addresses given in order.
`target_arch.soc.files.toml_writer` writes it as a file to continue with.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.backend.contract import DefaultArch
from target_arch.soc.model import (
    CopyPath,
    Cores,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    SoC,
    TargetArch,
)
from target_arch.soc.rounding import round_up
from target_arch.soc.words import CacheDuty, DLDeviceType, InstructionSet, OperandRule

HOST_DEVICE = DLDeviceType.CPU

_HOST_BASE, _HOST_STEP = 0x1000_0000, 0x10_0000
_OWN_STEP = 0x1_0000
_CORES = Cores(stack=64 * 2**10, wake=4e-7, coherent=True, line=2e-8)
"""Further cores of the host: threads of a computer, which share its memory behind coherent caches. As they
look for work, a call and its end are handed over in about as many seconds (docs/frames.md). For
a line, see docs/parallel.md.
"""

Option = int | float | str | bool


@frozen(kw_only=True)
class WantedArch:
    """One target_arch to build: its kind, and settings that replace its defaults.

    `sizes` are bytes by name of a memory of `default`; `clock` is in hertz. A host may have several `cores`,
    one of which is the host; kernels are laid out for its `isa`.
    """

    name: str
    backend: str
    default: DefaultArch
    clock: float | None = None
    isa: InstructionSet = InstructionSet.GENERIC
    cores: int = 1
    sizes: Mapping[str, int] = field(factory=dict)
    options: Mapping[str, Option] = field(factory=dict)


def default_soc(wanted: Sequence[WantedArch], host: str) -> SoC:
    """The SoC of these target_archs, of which the one named `host` runs the bundle; their order is the
    partitioning order.

    The host's default must have memories. Contradictions between the values are found by `check_soc`.
    """
    owner = next(each for each in wanted if each.name == host)
    shared = _placed_in_order(owner)
    further = _further_cores(owner, wanted)
    users = {each.name for each in wanted if not each.default.memories} | {arch.name for arch in further}
    seen = tuple(
        evolve(memory, observers=dict.fromkeys(sorted(users), memory.base or 0)) for memory in shared
    )
    own = {each.name: _private(each) for each in wanted if each.name != host}
    programs = _visible([each for each in wanted if each.name != host], shared, own)
    names = tuple(memory.name for memory in shared)
    return SoC(
        name="_".join(each.name for each in wanted),
        memories=(*seen, *(memory for memories in own.values() for memory in memories), *programs),
        dmas=tuple(
            Dma(name=f"{each.name}_dma", channels=each.default.channels)
            for each in wanted
            if own.get(each.name)
        ),
        copies=tuple(
            path
            for each in wanted
            for memory in own.get(each.name, ())
            for path in _paths(each, memory, names)
        ),
        archs=(*(_arch(each, host, names, _number(wanted, host, each)) for each in wanted), *further),
        modes=(MemoryMode(name="default", workspace=names, constants=names, io=names),),
        partitioning=(*(each.name for each in wanted), *(arch.name for arch in further)),
    )


def _further_cores(owner: WantedArch, wanted: Sequence[WantedArch]) -> tuple[TargetArch, ...]:
    """The cores of the host beside the one that issues steps, as a target_arch of their own."""
    if owner.cores == 1:
        return ()
    numbered = sum(each.default.device == owner.default.device for each in wanted)
    memories = tuple(f"{owner.name}_{memory.name}" for memory in owner.default.memories)
    likewise = _arch(owner, owner.name, memories, numbered)
    core = evolve(
        likewise,
        name=f"{owner.name}_cores",
        host=False,
        instances=owner.cores - 1,
        operands=OperandRule.OUTPUTS,
        cores=_CORES,
    )
    return (core,)


def _placed_in_order(owner: WantedArch) -> tuple[Memory, ...]:
    """The host's memories, one after the other in its address space."""
    placed: list[Memory] = []
    base = _HOST_BASE
    for memory in owner.default.memories:
        placed.append(evolve(_sized(owner, memory), base=base, observers={}))
        base += round_up(placed[-1].size, _HOST_STEP)
    return tuple(placed)


def _private(owner: WantedArch) -> tuple[Memory, ...]:
    """The memories that only this target_arch sees, from its address 0 on."""
    placed: list[Memory] = []
    address = 0
    for memory in owner.default.memories:
        placed.append(evolve(_sized(owner, memory), base=None, observers={owner.name: address}, cached=False))
        address += round_up(placed[-1].size, _OWN_STEP)
    return tuple(placed)


def _visible(
    owners: Sequence[WantedArch], shared: Sequence[Memory], own: Mapping[str, Sequence[Memory]]
) -> tuple[Memory, ...]:
    """The memories that target_archs share with the host: behind its own in its address space, and behind
    those of each in that of each.
    """
    placed: list[Memory] = []
    base = max((memory.base or 0) + round_up(memory.size, _HOST_STEP) for memory in shared)
    for owner in owners:
        address = sum(round_up(memory.size, _OWN_STEP) for memory in own[owner.name])
        for memory in owner.default.visible.values():
            placed.append(evolve(_sized(owner, memory), base=base, observers={owner.name: address}))
            base += round_up(placed[-1].size, _HOST_STEP)
            address += round_up(placed[-1].size, _OWN_STEP)
    return tuple(placed)


def _sized(owner: WantedArch, memory: Memory) -> Memory:
    size = owner.sizes.get(memory.name, memory.size)
    return evolve(memory, name=f"{owner.name}_{memory.name}", size=size)


def _paths(owner: WantedArch, memory: Memory, shared: tuple[str, ...]) -> tuple[CopyPath, ...]:
    like = evolve(owner.default.copy, engine=f"{owner.name}_dma", cache=CacheDuty.NONE)
    ends = [(one, memory.name) for one in shared] + [(memory.name, one) for one in shared]
    return tuple(evolve(like, source=source, target=target) for source, target in ends)


def _arch(wanted: WantedArch, host: str, shared: tuple[str, ...], number: int) -> TargetArch:
    default, is_host = wanted.default, wanted.name == host
    own = tuple(f"{wanted.name}_{memory.name}" for memory in default.memories)
    return TargetArch(
        name=wanted.name,
        backend=wanted.backend,
        device=DLDevice(type=default.device, id=number),
        host=is_host,
        clock=default.clock if wanted.clock is None else wanted.clock,
        isa=wanted.isa,
        memory=own or shared,
        buffers={buffer: f"{wanted.name}_{name}" for buffer, name in default.buffers.items()},
        operands=default.operands,
        load=LoadProcess() if is_host else default.load,
        options={
            **{option: f"{wanted.name}_{memory.name}" for option, memory in default.visible.items()},
            **wanted.options,
        },
    )


def _number(wanted: Sequence[WantedArch], host: str, one: WantedArch) -> int:
    """The DLDevice number: the host is the first of its type, the others follow in order."""
    of_type = [each.name for each in wanted if each.default.device == one.default.device]
    return sorted(of_type, key=lambda name: (name != host, of_type.index(name))).index(one.name)
