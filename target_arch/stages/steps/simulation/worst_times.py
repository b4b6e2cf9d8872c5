"""The times of steps at worst, in whole picoseconds: as costs state them, else estimates and a margin."""

from collections.abc import Callable

from attrs import evolve

from target_arch.plan.kernels import Kernel
from target_arch.plan.partitions import Candidate, Choice, Partition
from target_arch.soc.model import CopyPath
from target_arch.stages.paths.routes import PICO
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.orders import Orders, orders_of
from target_arch.stages.steps.simulation.times import Times

Margins = Callable[[str], float]
"""By instance, the part of an estimate that a worst time has on top."""


class WorstTimes(Times):
    """The worst times of the steps of a placed and lowered model.

    An operator takes its `worst`; else its estimate, and what estimates of a calibrated target_arch were
    exceeded by at most, or `margin` times as much on top. So does a copy over a path, and an order to a
    device, of which no `worst` is stated.
    """

    def __init__(self, work: PartialLowering, margin: float) -> None:
        self._margin = margin
        self._setting = work.setting
        super().__init__(_at_worst(work, margin))

    def _ordered(self, work: PartialLowering) -> Orders:
        def seconds(device: str) -> tuple[float, float]:
            cost = self._setting.costs.order(device)
            start, end = (
                usual * (1 + self._margin) if most is None else max(usual, most)
                for usual, most in zip(cost.usual, cost.longest, strict=True)
            )
            return start, end

        return orders_of(work.soc, seconds)

    def transfer(self, path: CopyPath, bytes: int) -> int:
        usual, slowest = super().transfer(path, bytes), self._setting.costs.slowest(path)
        if slowest is None:
            return round(usual * (1 + self._margin))
        return max(usual, round(self._routes.seconds(slowest, bytes, 1) * PICO))


def _at_worst(work: PartialLowering, margin: float) -> PartialLowering:
    """The model whose operators take their worst times in place of the usual ones."""
    margins = _margins(work.setting, margin)
    choices = {choice.operator: _slowed(choice, margins) for choice in work.graph.choices}
    graph = evolve(work.graph, choices=tuple(choices.values()))
    before = {choice.operator: choice for choice in work.graph.choices}
    kernels = {
        partition.id: _kernel(work.kernels[partition.id], partition, (before, choices), margins)
        for partition in work.graph.partitions
        if partition.id in work.kernels
    }
    return PartialLowering(setting=work.setting, graph=graph, kernels=kernels)


def _margins(setting: Setting, margin: float) -> Margins:
    fitted = setting.costs.fitted
    exceeded = {arch: fit.error.exceeded for arch, fit in fitted.items() if fit.error is not None}
    archs = {instance.name: instance.arch.name for instance in setting.soc.instances}

    def of_instance(instance: str) -> float:
        known = exceeded.get(archs[instance])
        return margin if known is None else known

    return of_instance


def _slowed(choice: Choice, margins: Margins) -> Choice:
    return evolve(choice, candidates=tuple(_candidate(each, margins) for each in choice.candidates))


def _candidate(candidate: Candidate, margins: Margins) -> Candidate:
    cost = candidate.cost
    if cost is None:
        return candidate
    compute = cost.compute * (1 + margins(candidate.instance)) if cost.worst is None else cost.worst
    return evolve(candidate, cost=evolve(cost, compute=compute))


def _kernel(
    kernel: Kernel,
    partition: Partition,
    choices: tuple[dict[str, Choice], dict[str, Choice]],
    margins: Margins,
) -> Kernel:
    """A kernel that states its own time takes as many times as much as its operators do, before and at
    worst.
    """
    if kernel.seconds is None:
        return kernel
    usual, worst = (
        sum(known[each.id].compute(partition.instance) for each in partition.operators if each.id in known)
        for known in choices
    )
    factor = worst / usual if usual else 1 + margins(partition.instance)
    return evolve(kernel, seconds=kernel.seconds * factor)
