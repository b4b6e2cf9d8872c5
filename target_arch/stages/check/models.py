"""The checker of several models on one chip. It believes nothing of `model_pools` and shares no code with it;
nor does it believe the peaks that a plan states.

Each plan was checked for itself; here every byte that more than one model could want is looked at.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from target_arch.diagnostics import Diagnostic
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import ModelPool, ModelPools, Sharing
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.errors import CheckError


def check_models(
    soc: SoC, pools: ModelPools, plans: Mapping[str, MemoryPlan], whole: SoC | None = None
) -> None:
    """Raises CheckError with every fault: a pool that is there twice, a buffer of some model outside its pool
    or not where it is aligned, models that must be apart and are not, memories that the arenas together
    exceed, or in `whole` (by default the same chip) the arenas and the buffers of the caller.
    """
    faults = [
        *_twice(pools),
        *_placed(pools, plans),
        *_apart(soc, pools, plans),
        *_capacities(soc, pools, whole or soc),
    ]
    if faults:
        raise CheckError(tuple(faults))


def _twice(pools: ModelPools) -> list[Diagnostic]:
    named = Counter(pool.pool for pool in pools.pools)
    return [
        Diagnostic(
            rule="duplicate-pool", place="memory of all models", message=f"pool `{arena}` is there twice"
        )
        for arena, count in named.items()
        if count > 1
    ]


def _placed(pools: ModelPools, plans: Mapping[str, MemoryPlan]) -> list[Diagnostic]:
    known = {pool.pool: pool for pool in pools.pools}
    faults = []
    for number, name in enumerate(pools.models):
        for buffer in plans[name].buffers:
            pool = known.get(buffer.arena)
            if pool is None:
                said = f"nobody has the pool `{buffer.arena}` of `{buffer.name}`"
                faults.append(_fault("no-pool", name, said))
                continue
            start = pool.offsets[number] + plans[name].offsets[buffer.name]
            if start < 0 or start + buffer.bytes > pool.bytes:
                faults.append(
                    _fault("out-of-bounds", name, f"buffer `{buffer.name}` ends outside pool `{pool.pool}`")
                )
            if start % buffer.alignment:
                message = f"buffer `{buffer.name}` at {start} is not aligned to {buffer.alignment} B"
                faults.append(_fault("misaligned", name, message))
    return faults


def _apart(soc: SoC, pools: ModelPools, plans: Mapping[str, MemoryPlan]) -> list[Diagnostic]:
    """Constants and states never share bytes, and workspace does not where a model keeps it. A model has the
    bytes of its buffers, and those of the peak that it states where this is more.
    """
    faults = []
    for pool in pools.pools:
        seen = soc.memory(pool.memory).base is not None
        if pool.pool.shareable and (pools.apart is not None or pools.arenas == Sharing.SHARED or not seen):
            continue
        line = soc.own_line(pool.memory)
        ends = [max(pool.peaks[i], _top(plans[name], pool.pool)) for i, name in enumerate(pools.models)]
        there = sorted(
            (start, start + round_up(end, line), name)
            for start, end, name in zip(pool.offsets, ends, pools.models, strict=True)
            if end
        )
        for (_, end, one), (start, _, other) in pairwise(there):
            if start < end:
                faults.append(_fault("overlap", other, f"overlaps `{one}` in pool `{pool.pool}`"))
    return faults


def _top(plan: MemoryPlan, arena: Arena) -> int:
    """The bytes of the arena up to the end of the last buffer, whatever peak the plan states."""
    return max((plan.offsets[b.name] + b.bytes for b in plan.buffers if b.arena == arena), default=0)


def _capacities(soc: SoC, pools: ModelPools, whole: SoC) -> list[Diagnostic]:
    faults = []
    for memory in soc.memories:
        ends: list[ModelPool] = [pool for pool in pools.pools if pool.memory == memory.name]
        line, size = soc.own_line(memory.name), whole.memory(memory.name).size
        own, lent = (
            sum(
                round_up(pool.bytes, pool.alignment if pool.pool.constant else line)
                for pool in ends
                if bool(pool.pool.caller) == of_caller
            )
            for of_caller in (False, True)
        )
        if own > memory.size:
            message = f"`{memory.name}` needs {own:,} B for all models, it has {memory.size:,} B"
            faults.append(Diagnostic(rule="over-capacity", place="memory of all models", message=message))
        elif own + lent > size:
            message = f"`{memory.name}` needs {own:,} B for all models and {lent:,} B of their caller"
            message += f", it has {size:,} B"
            faults.append(Diagnostic(rule="over-capacity", place="memory of all models", message=message))
    return faults


def _fault(rule: str, model: str, message: str) -> Diagnostic:
    return Diagnostic(rule=rule, place=f"model {model}", message=message)
