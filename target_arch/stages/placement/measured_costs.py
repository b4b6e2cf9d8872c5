"""Measured and fitted costs of operators from a cost file, in seconds and joules."""

from collections.abc import Iterable, Iterator
from math import prod

from attrs import frozen

from target_arch.backend.contract import Backend, Question
from target_arch.diagnostics import Diagnostic, name_hint
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import facts_of
from target_arch.plan.signature import signature
from target_arch.soc.costs import Costs, FittedCosts, Measured, MeasuredTime
from target_arch.stages.errors import PlacementError
from target_arch.stages.placement.work_units import work_parts


@frozen(kw_only=True)
class KnownCost:
    """The cost of one operator at one instance by a cost file: seconds, and joules where it has them.

    `fitted` where the operator itself was not measured, `scaled` where nothing like it was: then it is the
    backend's estimate times a factor, and no error is known of it. `low` and `high` are the seconds between
    which the file expects it: both are `seconds` where it was measured, or states no error.
    """

    seconds: float
    energy: float | None = None
    fitted: bool = False
    scaled: bool = False
    low: float
    high: float
    kernel: str = ""


def known_cost(costs: Costs, question: Question, backend: Backend) -> KnownCost | None:
    """The cost of an operator; None where the file says nothing about it."""
    arch, operator = question.instance.arch, question.operator
    exact = _of_signature(costs, question)
    if exact is not None and costs.stated(arch, (operator.id,)) is None:
        return exact
    stated = costs.stated(arch, (operator.id, operator.kind))
    if stated is not None and stated.time is not None:
        return _stated(stated.time, stated.energy, question)
    fitted = costs.fitted.get(arch.name)
    return None if fitted is None else _fitted(fitted, question, backend)


def worst_seconds(costs: Costs, question: Question) -> float | None:
    """The most seconds that an operator takes, where a cost file states them; None where it does not."""
    operator = question.operator
    worst = costs.worst(question.instance.arch, (operator.id, operator.kind))
    return None if worst is None else _seconds(worst, _count(worst, operator, question.model), question)


def _stated(time: MeasuredTime, energy: float | None, question: Question) -> KnownCost:
    count = _count(time, question.operator, question.model)
    seconds = _seconds(time, count, question)
    joules = None if energy is None else energy * count
    return KnownCost(seconds=seconds, energy=joules, low=seconds, high=seconds)


def _of_signature(costs: Costs, question: Question) -> KnownCost | None:
    """The cost of an operator that ran in some model."""
    table = costs.measured.get(question.instance.arch.name, {})
    found = table.get(signature(question.operator, question.model)) if table else None
    if found is None:
        return None
    seconds = _seconds(found.time, 1, question)
    return KnownCost(seconds=seconds, energy=found.energy, low=seconds, high=seconds, kernel=found.kernel)


def _fitted(fitted: FittedCosts, question: Question, backend: Backend) -> KnownCost:
    """The sum of an operator's units at their rates; a share of the backend's estimate where one has none."""
    parts = work_parts(question, backend)
    amount = fitted.amount({unit: part.count for unit, part in parts.items()})
    if amount is None:
        seconds = fitted.share * backend.cost(question)
    else:
        seconds = _seconds(MeasuredTime(amount=amount, cycles=fitted.cycles), 1, question)
    if not fitted.rates.keys() >= parts.keys():
        return KnownCost(seconds=seconds, scaled=True, low=seconds, high=seconds)
    low, high = (1.0, 1.0) if fitted.error is None else (fitted.error.low, fitted.error.high)
    return KnownCost(seconds=seconds, fitted=True, low=seconds * low, high=seconds * high)


def _seconds(time: MeasuredTime, count: float, question: Question) -> float:
    amount = time.amount * count
    return amount / question.instance.arch.clock if time.cycles else amount


def check_costs(costs: Costs, model: Model, kinds: Iterable[str]) -> None:
    """Raises PlacementError with every entry that names neither one of these kinds nor an operator of the
    model, or counts multiply-accumulates of a kind that has none.
    """
    kind_of = {kind: kind for kind in kinds} | {operator.id: operator.kind for operator in model.operators}
    found = [
        problem
        for owner in costs.operators
        for name, measured in costs.operators[owner].items()
        for problem in _problems(f"{costs.origin}: operators.{owner}.{name}", name, measured, kind_of)
    ]
    if found:
        raise PlacementError(found)


def _problems(place: str, name: str, measured: Measured, kind_of: dict[str, str]) -> Iterator[Diagnostic]:
    if name not in kind_of:
        yield Diagnostic(
            rule="unknown-operator",
            place=place,
            message=f"there is no operator and no kind of operator `{name}`",
            hint=name_hint(name, kind_of, "known here"),
        )
    elif any(time.per == "mac" for time in measured.times) and facts_of(kind_of[name]).weight_taps is None:
        yield Diagnostic(
            rule="no-macs",
            place=place,
            message=f"`{kind_of[name]}` is not counted in multiply-accumulates",
            hint="give a time for the whole operator, or per element of its output",
        )


def _count(time: MeasuredTime, operator: Operator, model: Model) -> int:
    """The number of units (`MeasuredTime.per`) that the operator counts."""
    if not time.per:
        return 1
    if time.per == "element":
        return prod(model.tensors[operator.output].shape)
    return model.macs(operator)
