"""The checker of memory that jobs of several models may use at the same time. It believes nothing of what
planned that, and finds out for itself whose jobs may be open at once.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

from target_arch.diagnostics import Diagnostic
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.workloads.answers import TimedTasks
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.errors import CheckError


def check_jobs(soc: SoC, pools: ModelPools, plans: Mapping[str, MemoryPlan], timed: TimedTasks) -> None:
    """Raises CheckError for every two models that share bytes of a memory, and one of which may come while a
    job of the other has begun and is not over.
    """
    faults = [
        Diagnostic(
            rule="overlap",
            place=f"model {other}",
            message=f"overlaps `{one}` in pool `{arena}`, and their jobs may be open at once",
        )
        for one, other in combinations(pools.models, 2)
        if _at_once(timed, one, other)
        for arena in _shared(soc, pools, plans, one, other)
    ]
    if faults:
        raise CheckError(tuple(faults))


def _at_once(timed: TimedTasks, one: str, other: str) -> bool:
    tasks = {task.name: (number, task) for number, task in enumerate(timed.tasks)}
    (first, here), (second, there) = tasks[one], tasks[other]
    if timed.analysis.table is None:
        low, high = sorted((here, there), key=lambda task: task.timing.priority)
        in_one_go = len(low.steps) == 1 and not _in_flight(low) and not _in_flight(high)
        return low.timing.priority < high.timing.priority and not in_one_go
    return _within(timed, first, here, second) or _within(timed, second, there, first)


def _in_flight(task: TimedTask) -> bool:
    """Whether the host goes on while a job of the task is at work elsewhere."""
    return any(step.timeline for step in task.steps)


def _within(timed: TimedTasks, number: int, task: TimedTask, other: int) -> bool:
    """Whether a slot of the other task is between the first and the last slot of a job of this one."""
    assert timed.analysis.table is not None
    slots = timed.analysis.table.slots
    for due in {slot.due for slot in slots if slot.task == number}:
        own = [at for at, slot in enumerate(slots) if (slot.task, slot.due) == (number, due)]
        if any(slot.task == other for slot in slots[own[0] : own[-1]]):
            return True
    return False


def _shared(
    soc: SoC, pools: ModelPools, plans: Mapping[str, MemoryPlan], one: str, other: str
) -> Iterator[Arena]:
    """The pools in which two models have bytes, or cache lines, in common."""
    for pool in pools.pools:
        line = soc.own_line(pool.memory)
        (start, end), (begin, past) = (
            (pool.offsets[number], pool.offsets[number] + round_up(_top(plans[name], pool.pool), line))
            for number, name in ((pools.models.index(name), name) for name in (one, other))
        )
        if start < past and begin < end and start < end and begin < past:
            yield pool.pool


def _top(plan: MemoryPlan, arena: Arena) -> int:
    return max((plan.offsets[b.name] + b.bytes for b in plan.buffers if b.arena == arena), default=0)
