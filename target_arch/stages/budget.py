"""What is left for a partition about to be lowered, per call site and pool."""

from collections.abc import Iterable
from math import lcm

from attrs import evolve

from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget, Buffer, MemoryPlan, PoolBudget
from target_arch.plan.partitions import Partition
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages import access
from target_arch.stages.allocate import arena_capacity

_UNIT = 16
"""A guaranteed block starts at a multiple of this, at least."""


def budget(partition: Partition, steps: StepOrder, plan: MemoryPlan, soc: SoC) -> Budget:
    """The budget of a partition from the plan of everything else.

    The steps hold a stand-in for the partition at each of its call sites (operators). `remaining` is the
    capacity less what is live there; `guaranteed` is the largest free block of the plan over those steps.
    """
    instance = soc.instance(partition.instance)
    sites = {operator.id: _steps_of(partition.id, operator.id, steps) for operator in partition.operators}
    return Budget(
        partition=partition.id,
        sites={
            site: tuple(_pool(soc, plan, memory, *span) for memory in access.owned(instance))
            for site, span in sites.items()
        },
    )


def with_used(given: Budget, kernel: Kernel) -> Budget:
    """The budget with the bytes that the kernel's local buffers really took."""

    def filled(pool: PoolBudget) -> PoolBudget:
        return evolve(
            pool, used=sum(buffer.bytes for buffer in kernel.buffers if buffer.memory == pool.memory)
        )

    return evolve(
        given, sites={site: tuple(filled(pool) for pool in pools) for site, pools in given.sites.items()}
    )


def _steps_of(partition: str, operator: str, steps: StepOrder) -> tuple[int, int]:
    """First and last step of a call site."""
    numbers = [
        number
        for number, step in enumerate(steps.steps)
        if isinstance(step, Dispatch) and (step.partition, step.operator) == (partition, operator)
    ]
    return numbers[0], numbers[-1]


def _pool(soc: SoC, plan: MemoryPlan, memory: str, first: int, last: int) -> PoolBudget:
    size = soc.memory(memory).size
    there = [b for b in plan.buffers if b.memory == memory and b.first <= last and first <= b.last]
    most = max(
        (sum(b.bytes for b in there if b.first <= step <= b.last) for step in range(first, last + 1)),
        default=0,
    )
    free = arena_capacity(plan, memory, size)
    unit = lcm(_UNIT, *(buffer.alignment for buffer in plan.buffers if buffer.memory == memory))
    largest = _largest_gap([b for b in there if b.kind != "constant"], plan, free, unit)
    return PoolBudget(memory=memory, live=most, remaining=max(size - most, 0), guaranteed=max(largest, 0))


def _largest_gap(buffers: Iterable[Buffer], plan: MemoryPlan, capacity: int, unit: int) -> int:
    taken = sorted(
        (plan.offsets[buffer.name], plan.offsets[buffer.name] + buffer.bytes) for buffer in buffers
    )
    largest, end = 0, 0
    for start, stop in (*taken, (capacity, capacity)):
        largest, end = max(largest, start - end), max(end, -(-stop // unit) * unit)
    return largest
