"""The costs that a lowered model rests on."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from target_arch.backend.contract import Backend, Question
from target_arch.plan.code_identity import code_hashes
from target_arch.plan.costs_used import CostsUsed
from target_arch.plan.execution import ActivityKind
from target_arch.plan.lowered import Lowered
from target_arch.soc.costs import NOTHING_MEASURED
from target_arch.soc.model import SoC
from target_arch.stages.placement.measured_costs import KnownCost, known_cost
from target_arch.stages.setting import Setting


def costs_used(lowered: Lowered, setting: Setting, backends: Mapping[str, Backend]) -> CostsUsed | None:
    """The origin and the error of the costs of a lowered model; None without a cost file."""
    costs = setting.costs
    if costs == NOTHING_MEASURED:
        return None
    known = {
        question.operator.id: known_cost(costs, question, backends[question.instance.arch.name])
        for question in _questions(lowered, setting)
    }
    told = [cost for cost in known.values() if cost is not None and not cost.scaled]
    fitted = sum(cost.fitted for cost in told)
    low, high = _interval(lowered, told, whole=len(told) == len(known))
    return CostsUsed(
        origin=Path(costs.origin).name,
        about="" if costs.calibration is None else str(costs.calibration),
        measured=len(told) - fitted,
        fitted=fitted,
        estimated=len(known) - len(told),
        error=_error(setting, {p.instance for p in lowered.graph.partitions}),
        low=low,
        high=high,
        changed=tuple(_changed(lowered, setting.soc, backends, known)),
    )


def _questions(lowered: Lowered, setting: Setting) -> Iterator[Question]:
    for partition in lowered.graph.partitions:
        for operator in partition.operators:
            yield Question(
                operator=operator,
                model=lowered.model,
                instance=setting.soc.instance(partition.instance),
                soc=setting.timed,
                goal=setting.goal,
            )


def _error(setting: Setting, instances: set[str]) -> str:
    """The stated errors of the target_archs that compute something."""
    archs = {setting.soc.instance(name).arch.name for name in instances}
    fitted = setting.costs.fitted
    stated = {arch: fit.error for arch, fit in fitted.items() if arch in archs and fit.error is not None}
    several = len(stated) > 1
    return "; ".join(f"{arch} {error}" if several else str(error) for arch, error in stated.items())


def _interval(lowered: Lowered, told: list[KnownCost], *, whole: bool) -> tuple[float, float]:
    """The makespan, shorter and longer by what all operators together may be off, as a part of all work; the
    makespan alone where the error of some operator is not known.
    """
    run = lowered.execution
    if run is None:
        return 0.0, 0.0
    copies = sum(span.end - span.start for span in run.spans if span.kind is ActivityKind.COPY)
    work = copies + sum(cost.seconds for cost in told)
    if not work or not whole:
        return run.makespan, run.makespan
    low = 1 - sum(cost.seconds - cost.low for cost in told) / work
    high = 1 + sum(cost.high - cost.seconds for cost in told) / work
    return run.makespan * min(low, 1.0), run.makespan * max(high, 1.0)


def _changed(
    lowered: Lowered, soc: SoC, backends: Mapping[str, Backend], known: Mapping[str, KnownCost | None]
) -> Iterator[str]:
    """Operators with a call of their own whose code is another than the measured one."""
    for kernel in lowered.kernels.values():
        runtime = backends[soc.instance(kernel.instance).arch.name].runtime
        hashes = code_hashes(kernel, {**runtime.files(), **runtime.simulator()})
        for operator, code in hashes.items():
            cost = known.get(operator)
            if cost is not None and cost.kernel and cost.kernel != code:
                yield operator
