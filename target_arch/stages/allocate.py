"""Offsets for all buffers of all memories: buffers and capacities in, a memory plan out."""

from collections.abc import Mapping, Sequence
from math import lcm

from target_arch.diagnostics import name_hint
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, PlanError, failure
from target_arch.stages.packing import ALGORITHMS, Algorithm, bound, live_bytes, peak


def capacities(soc: SoC) -> dict[str, int]:
    """The size of every memory in bytes."""
    return {memory.name: memory.size for memory in soc.memories}


def allocate(
    buffers: Sequence[Buffer],
    capacities: Mapping[str, int],
    algorithm: str = "best",
    algorithms: Mapping[str, Algorithm] = ALGORITHMS,
) -> MemoryPlan:
    """Give every buffer an offset in its arena.

    `capacities` are bytes per memory; the arenas `m` and `m.constants` share those of `m`, the constants
    first. Raises DoesNotFitError for the first memory (by name) that overflows, PlanError for an algorithm
    nobody registered.
    """
    if algorithm not in algorithms:
        hint = name_hint(algorithm, algorithms, "registered")
        raise failure(
            PlanError, "unknown-algorithm", "memory plan", f"there is no algorithm `{algorithm}`", hint
        )
    arenas: dict[str, list[Buffer]] = {}
    for buffer in buffers:
        arenas.setdefault(buffer.arena, []).append(buffer)
    offsets: dict[str, int] = {}
    for arena in sorted(arenas):
        offsets |= algorithms[algorithm](arenas[arena])
    plan = MemoryPlan(
        buffers=tuple(buffers),
        offsets=offsets,
        peaks={arena: peak(arenas[arena], offsets) for arena in sorted(arenas)},
        bounds={arena: bound(arenas[arena]) for arena in sorted(arenas)},
    )
    for memory in sorted({buffer.memory for buffer in buffers}):
        _fits(plan, memory, capacities[memory], arenas)
    return plan


def arena_capacity(plan: MemoryPlan, memory: str, size: int) -> int:
    """Bytes that the constants of a memory leave to everything else in it."""
    constants = plan.peaks.get(f"{memory}.constants", 0)
    alignment = lcm(*(buffer.alignment for buffer in plan.buffers if buffer.memory == memory))
    return size - -(-constants // alignment) * alignment


def _fits(plan: MemoryPlan, memory: str, size: int, arenas: Mapping[str, Sequence[Buffer]]) -> None:
    constants = plan.peaks.get(f"{memory}.constants", 0)
    if constants > size:
        raise _refusal(plan, f"{memory}.constants", size, arenas)
    available = arena_capacity(plan, memory, size)
    if plan.peaks.get(memory, 0) > available:
        raise _refusal(plan, memory, max(available, 0), arenas)


def _refusal(
    plan: MemoryPlan, arena: str, available: int, arenas: Mapping[str, Sequence[Buffer]]
) -> DoesNotFitError:
    live = live_bytes(arenas[arena])
    step = max(live, key=lambda step: (live[step], -step))
    alive = [buffer for buffer in arenas[arena] if buffer.first <= step <= buffer.last]
    largest = sorted(alive, key=lambda buffer: (-buffer.bytes, buffer.name))
    return DoesNotFitError(
        pool=arena,
        step=step,
        needed=plan.peaks[arena],
        available=available,
        bound=plan.bounds[arena],
        alive=tuple((buffer.name, buffer.bytes) for buffer in largest),
    )
