"""Several memory plans on one chip: the bytes of all together, and the bytes that some leave to another."""

from collections.abc import Mapping, Sequence

from attrs import evolve

from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import ModelPool, ModelPools, Pairs, Sharing
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up

ALIGNMENT = 16
"""The least alignment of an arena."""


def model_pools(
    soc: SoC, plans: Mapping[str, MemoryPlan], arenas: Sharing, apart: Pairs | None = None
) -> ModelPools:
    """The pools of the models (by name, in order), with shared or separate arenas; with `apart`, those of a
    workload, in which these pairs share nothing.

    If there are several models, the part of each is padded to the alignment, so that any other may follow it;
    the part of a single model is as in its plan.
    """
    known: dict[Arena, int] = {}
    for buffer in (buffer for plan in plans.values() for buffer in plan.buffers):
        known[buffer.arena] = max(buffer.alignment, known.get(buffer.arena, 0))
    pools = tuple(
        _pool(soc, arena, known[arena], tuple(plans.values()), arenas) for arena in sorted(known, key=str)
    )
    if apart is not None:
        pools = tuple(_kept_apart(soc, pool, tuple(plans), apart) for pool in pools)
    return ModelPools(models=tuple(plans), arenas=arenas, pools=pools, apart=apart)


def _kept_apart(soc: SoC, pool: ModelPool, models: Sequence[str], apart: Pairs) -> ModelPool:
    """The pool of a workload: each model, the largest first, is at the first offset at which it shares bytes
    with none that it has to be apart from.
    """
    if not pool.pool.shareable:
        return pool
    line = max(pool.alignment, soc.own_line(pool.memory))
    offsets = [0] * len(models)
    done: list[int] = []
    for number in sorted(range(len(models)), key=lambda number: (-pool.peaks[number], number)):
        others = [n for n in done if frozenset((models[n], models[number])) in apart]
        for offset in sorted((0, *(round_up(offsets[n] + pool.peaks[n], line) for n in others))):
            end = offset + pool.peaks[number]
            if all(end <= offsets[n] or offset >= offsets[n] + pool.peaks[n] for n in others):
                offsets[number] = offset
                break
        done.append(number)
    ends = [round_up(offsets[number] + pool.peaks[number], pool.alignment) for number in done]
    return evolve(pool, overlaid=True, offsets=tuple(offsets), bytes=max(ends))


def _pool(soc: SoC, arena: Arena, alignment: int, plans: Sequence[MemoryPlan], arenas: Sharing) -> ModelPool:
    """The pool of an arena whose buffers have this alignment at most."""
    memory = soc.memory(arena.memory)
    overlaid = arena.shareable and (arenas == Sharing.SHARED or memory.base is None)
    peaks = tuple(plan.peaks.get(arena, 0) for plan in plans)
    alignment = max(1 if arena.caller else ALIGNMENT, alignment)
    sizes = [round_up(peak, alignment) for peak in peaks] if len(peaks) > 1 else list(peaks)
    apart = sum(sizes)
    return ModelPool(
        pool=arena,
        capacity=memory.size,
        alignment=alignment,
        overlaid=overlaid,
        peaks=peaks,
        offsets=tuple(0 if overlaid else sum(sizes[:number]) for number in range(len(sizes))),
        bytes=max(sizes) if overlaid else apart,
        apart=apart,
    )


def taken_by_others(
    soc: SoC, others: Sequence[MemoryPlan], arenas: Sharing, *, beside: ModelPools | None = None
) -> dict[str, int]:
    """By memory, the bytes that the arenas of other models take from a model that is still to be planned; in
    a workload also those in the pools `beside` it, of the models that it shares nothing with.
    """
    shared = () if beside is None else (pool for pool in beside.pools if pool.pool.shareable)
    taken = {pool.memory: pool.bytes for pool in shared}
    for pool in model_pools(soc, _numbered(others), arenas).pools:
        if not (pool.overlaid or pool.pool.caller):
            taken[pool.memory] = taken.get(pool.memory, 0) + round_up(pool.apart, pool.alignment)
    return taken


def needed_in_turn(soc: SoC, others: Sequence[MemoryPlan], arenas: Sharing) -> dict[str, int]:
    """By memory, the bytes that other models take in their turns, where arenas are shared."""
    pools = model_pools(soc, _numbered(others), arenas).pools
    return {pool.memory: round_up(pool.bytes, pool.alignment) for pool in pools if pool.overlaid}


def reduced(soc: SoC, taken: Mapping[str, int]) -> SoC:
    """The chip with its memories reduced by these bytes."""
    memories = (evolve(m, size=max(m.size - taken.get(m.name, 0), 0)) for m in soc.memories)
    return evolve(soc, memories=tuple(memories))


def exceeds(soc: SoC, plan: MemoryPlan, taken: Mapping[str, int]) -> bool:
    """True if a plan needs more of a memory than others leave."""
    own = [p for p in model_pools(soc, _numbered((plan,)), Sharing.SHARED).pools if not p.pool.caller]
    used = dict(taken)
    for pool in own:
        used[pool.memory] = used.get(pool.memory, 0) + round_up(pool.bytes, pool.alignment)
    return any(used[pool.memory] > pool.capacity for pool in own)


def _numbered(plans: Sequence[MemoryPlan]) -> dict[str, MemoryPlan]:
    return {str(number): plan for number, plan in enumerate(plans)}
