"""Other kernels of a placed model, where its frames come faster with them: of two that are at work for two
frames at once, neither may have more of a memory than leaves room for the other, nor may constants that stay,
nor may the host be at work itself while nobody starts what others could do.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Protocol

from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.frames import FramePipeline
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import BufferKind
from target_arch.plan.objective import Objective
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.division.choose import with_bound
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import divisible, host_pieces
from target_arch.stages.errors import NOT_LOWERED, CheckError
from target_arch.stages.frames.cores import spare_cores
from target_arch.stages.setting import Setting

PARTS = (12, 48)
"""The slices of the host are at most that part of the bound of a period, tried in this order."""
NEAR = 0.01
"""The part by which a period is above its bound if anything is tried, and that it has to save."""
HANDED = 0.05
"""The part of a period that has to be saved by frames that go from core to core: what another core wrote
comes later than what is in a cache of one's own, which no cost says, and each waits for the slower one.
"""

Limits = Mapping[str, int]
"""The most bytes that a kernel may have of memories."""
NO_LIMITS: Limits = {}

InFlight = Callable[[Lowered], Lowered]
"""Finds the frames of a model, and checks them."""


class LowerAgain(Protocol):
    """Lowers a placed model, for the chip or for one that differs. Raises DoesNotFitError where it does not
    fit.
    """

    def __call__(
        self, graph: PartitionGraph, chip: Setting | None = None, limits: Limits = NO_LIMITS
    ) -> Lowered: ...


def with_halves(lowered: Lowered, soc: SoC, lower: LowerAgain, in_flight: InFlight) -> Lowered:
    """The model with kernels that have at most half of each memory, where its frames come faster so."""
    most = _most(lowered)
    limits = {memory: half for memory, half in _halves(soc).items() if most[memory] > half}
    if not limits or _frames(lowered).gap <= NEAR:
        return lowered
    return _better(lowered, lambda: in_flight(lower(lowered.graph, limits=limits)))


def with_room(lowered: Lowered, setting: Setting, lower: LowerAgain, in_flight: InFlight) -> Lowered:
    """The model with fewer constants that stay, so that the two kernels with the largest buffers have room at
    once, where its frames come faster so.
    """
    held, most = _of_two(lowered), _most(lowered)
    if not held or _frames(lowered).gap <= NEAR:
        return lowered
    chip = evolve(setting, held={**setting.held, **held})
    limits = {memory: half for memory, half in _halves(setting.soc).items() if most[memory] <= half}
    return _better(lowered, lambda: in_flight(lower(lowered.graph, chip, limits)))


def with_host_slices(
    whole: Lowered, graphs: DividedGraphs, lower: LowerAgain, in_flight: InFlight
) -> Lowered:
    """The model with long operators of the host in slices, where its frames come faster so."""

    def sliced(graph: PartitionGraph) -> Lowered:
        return in_flight(with_bound(lower(graph), whole))

    best = whole
    for graph in _sliced(whole, graphs):
        if _frames(best).gap <= NEAR:
            break
        best = _better(best, partial(sliced, graph))
    return best


def with_turns(best: Lowered, setting: Setting, lower: Callable[[Collection[str]], Lowered]) -> Lowered:
    """The model on one of equal cores, on all of which its frames take turns, where they come faster so, or
    nearly as fast: then no core waits for another one. `lower` gets the other cores. Where runs are to be
    short, theirs must not be longer.
    """
    spare = tuple(spare_cores(setting.soc))
    if not spare:
        return best
    short = setting.objective is not Objective.THROUGHPUT
    try:
        made = lower(spare)
    except CheckError:
        raise
    except DiagnosticError:
        return best
    if short and made.makespan > best.makespan:
        return best
    return made if _frames(made).period < _frames(best).period * (1 + HANDED) else best


def _better(best: Lowered, lower: Callable[[], Lowered]) -> Lowered:
    """The model as it is lowered then, where it fits and its frames come faster; else the best so far."""
    try:
        made = lower()
    except NOT_LOWERED:
        return best
    return made if _frames(made).period < _frames(best).period * (1 - NEAR) else best


def _sliced(whole: Lowered, graphs: DividedGraphs) -> Iterator[PartitionGraph]:
    setting = graphs.setting
    able = divisible(whole.graph, setting.part_alignments, setting.soc)
    for parts in PARTS:
        division = host_pieces(able, setting.soc.host.name, _frames(whole).bound / parts)
        graph = graphs.graph(division) if division else None
        if graph is not None:
            yield graph


def _halves(soc: SoC) -> Limits:
    return {memory.name: memory.size // 2 for memory in soc.memories}


def _most(lowered: Lowered) -> Counter[str]:
    """The most bytes that a kernel has of each memory for its own buffers."""
    return Counter({memory: max(own) for memory, own in _own_bytes(lowered).items()})


def _of_two(lowered: Lowered) -> dict[str, int]:
    """The bytes of the two kernels with the largest buffers, in each memory where constants stay, too."""
    full = {buffer.memory for buffer in lowered.steps.buffers if buffer.kind is BufferKind.RESIDENT}
    own = _own_bytes(lowered)
    return {memory: sum(sorted(own[memory])[-2:]) for memory in sorted(full & own.keys())}


def _own_bytes(lowered: Lowered) -> dict[str, list[int]]:
    """By memory what kernels have there for their own buffers."""
    found: dict[str, list[int]] = {}
    for kernel in lowered.kernels.values():
        own = Counter[str]()
        for buffer in kernel.buffers:
            own[buffer.memory] += buffer.bytes
        for memory, bytes in own.items():
            found.setdefault(memory, []).append(bytes)
    return found


def _frames(lowered: Lowered) -> FramePipeline:
    assert lowered.frames is not None
    return lowered.frames
