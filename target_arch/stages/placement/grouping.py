"""Grouping of placed operators into partitions: runs of operators on one instance."""

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend, Question
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Choice, Partition, PartitionGraph
from target_arch.soc.model import Instance
from target_arch.stages.setting import Setting


@frozen(kw_only=True)
class Grouping:
    """Decides which operators share a partition. An accelerator that takes no chains gets one operator at a
    time.
    """

    model: Model = field(repr=False)
    setting: Setting
    backends: Mapping[str, Backend] = field(repr=False)

    def partitions(self, order: Sequence[Operator], choices: Mapping[str, Choice]) -> tuple[Partition, ...]:
        """The partitions of the operators in their order; `choices` are by operator id."""
        runs: list[list[int]] = []
        made = [choices[operator.id] for operator in order]
        instances = {instance.name: instance for instance in self.setting.soc.instances}
        for number, choice in enumerate(made):
            same = bool(runs) and made[runs[-1][0]].instance == choice.instance
            if same and self._joined(instances[choice.instance], order, runs[-1], number):
                runs[-1].append(number)
            else:
                runs.append([number])
        return tuple(
            Partition(
                id=f"p{number}",
                instance=made[run[0]].instance,
                operators=tuple(order[index] for index in run),
                reason=_together([made[index].reason for index in run]),
            )
            for number, run in enumerate(runs)
        )

    def moved(self, graph: PartitionGraph, operator: str, instance: str) -> PartitionGraph:
        """The graph with one operator on another instance, in the same order."""
        choices = tuple(
            evolve(choice, instance=instance) if choice.operator == operator else choice
            for choice in graph.choices
        )
        order = [each for partition in graph.partitions for each in partition.operators]
        by_id = {choice.operator: choice for choice in choices}
        return PartitionGraph(model=graph.model, partitions=self.partitions(order, by_id), choices=choices)

    def _joined(self, instance: Instance, order: Sequence[Operator], run: Sequence[int], number: int) -> bool:
        """Whether an operator belongs to the partition of its predecessors on the same instance."""
        backend = self.backends.get(instance.arch.name)
        if backend is None or backend.joins is None:
            return self.setting.is_function(instance.name)
        soc, goal = self.setting.timed, self.setting.goal
        questions = (
            Question(operator=order[index], model=self.model, instance=instance, soc=soc, goal=goal)
            for index in (*run, number)
        )
        return backend.joins(tuple(questions)) is None


def _together(reasons: list[str]) -> str:
    """The reason of a partition: that of its first operator, and how many others there are."""
    more = len(reasons) - 1
    return reasons[0] + (f"; and {more} more operator{'s' if more > 1 else ''} there" if more else "")
