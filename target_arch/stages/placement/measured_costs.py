"""Measured costs of operators from a cost file, in seconds and joules."""

from collections.abc import Iterable, Iterator
from math import prod

from target_arch.backend.contract import Question
from target_arch.diagnostics import Diagnostic, name_hint
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import facts_of
from target_arch.soc.costs import Costs, Measured
from target_arch.stages.errors import PlacementError


def measured_seconds(costs: Costs, question: Question) -> float | None:
    """Seconds of computing, None if not measured."""
    found = _measured(costs, question)
    if found is None:
        return None
    amount = found.amount * _count(found, question.operator, question.model)
    return amount / question.instance.arch.clock if found.cycles else amount


def measured_joules(costs: Costs, question: Question) -> float | None:
    """Joules of computing, None if not measured."""
    found = _measured(costs, question)
    if found is None or found.energy is None:
        return None
    return found.energy * _count(found, question.operator, question.model)


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
    elif measured.per == "mac" and facts_of(kind_of[name]).weight_taps is None:
        yield Diagnostic(
            rule="no-macs",
            place=place,
            message=f"`{kind_of[name]}` is not counted in multiply-accumulates",
            hint="give a time for the whole operator, or per element of its output",
        )


def _measured(costs: Costs, question: Question) -> Measured | None:
    names = (question.operator.id, question.operator.kind)
    return costs.measured(question.instance.arch, names)


def _count(found: Measured, operator: Operator, model: Model) -> int:
    """The number of units (`Measured.per`) that the operator counts."""
    if not found.per:
        return 1
    if found.per == "element":
        return prod(model.tensors[operator.output].shape)
    return model.macs(operator)
