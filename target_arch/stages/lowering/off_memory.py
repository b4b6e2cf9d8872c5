"""Operators that leave a memory which overflows while they run, for instances whose tensors are elsewhere.

An accelerator that moves tiles takes them from whole tensors in a shared memory and leaves whole results
there. A core with a memory of its own, or an accelerator that takes whole tensors, needs no byte of it
between operators of its own.
"""

from collections.abc import Collection, Mapping

from attrs import frozen

from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.partitions import Choice, PartitionGraph
from target_arch.soc.model import Instance
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.paths.reach import memory_access
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting

ROUNDS = 8
"""How often the operators that run while a memory overflows are placed again."""


@frozen(kw_only=True)
class Leaving:
    """An operator that leaves a memory: the instance where it was, why it leaves, and the target_archs whose
    operands and results rest in that memory. `price` are the seconds that it costs more elsewhere.
    """

    operator: str
    instance: str
    reason: str
    archs: tuple[str, ...]
    price: float

    @property
    def attempt(self) -> Attempt:
        """The move as an attempt, before it is known where it leads."""
        kind = AttemptKind.REPLACE
        return Attempt(kind=kind, operator=self.operator, instance=self.instance, reason=self.reason)

    def under(self, rules: Rules) -> Rules:
        """The rules under which the operator leaves."""
        return rules.giving_up((self.operator, arch, self.reason) for arch in self.archs)

    def back(self, rules: Rules) -> Rules:
        """The rules under which it may return."""
        return rules.taking_back((self.operator, arch) for arch in self.archs)


def leaving(
    graph: PartitionGraph, setting: Setting, refusal: DoesNotFitError
) -> tuple[tuple[Leaving, ...], ...]:
    """The operators that can be placed elsewhere, by group of the crowd; without groups in which none can."""
    resting = {i.name: i.arch.name for i in setting.soc.instances if _reaches(setting, i, refusal.memory)}
    groups = (
        tuple(
            Leaving(
                operator=choice.operator,
                instance=choice.instance,
                reason=refusal.reason,
                archs=_archs(choice, resting),
                price=price,
            )
            for choice in map(graph.choice, group)
            if choice.instance in resting and (price := _price(choice, resting)) is not None
        )
        for group in refusal.crowd
    )
    return tuple(group for group in groups if group)


def _reaches(setting: Setting, instance: Instance, memory: str) -> bool:
    """True where operands or results of an instance rest in the memory."""
    whole = setting.touches_whole(instance.name)
    there = memory_access(setting.soc, setting.mode, instance, whole=whole)
    return memory in (*there.reads, *there.writes)


def _archs(choice: Choice, resting: Mapping[str, str]) -> tuple[str, ...]:
    """The target_archs that could take the operator and keep its tensors in the memory."""
    able = (each.instance for each in choice.candidates if each.cost is not None)
    return tuple(dict.fromkeys(resting[instance] for instance in able if instance in resting))


def _price(choice: Choice, resting: Collection[str]) -> float | None:
    """The seconds that the operator costs more on the cheapest instance off the memory; None where none can
    take it.
    """
    costs = {each.instance: each.cost.total for each in choice.candidates if each.cost is not None}
    others = [total for instance, total in costs.items() if instance not in resting]
    return min(others) - costs.get(choice.instance, 0.0) if others else None
