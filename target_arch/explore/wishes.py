"""Limits in words, `latency=12ms`, and what keeps a point from being good.

Tests: `tests/explore/test_fit.py`.
"""

from collections.abc import Iterable, Sequence

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint, refusal
from target_arch.explore.measures import PERIOD, measure, measures, precisely
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.space import Limit
from target_arch.explore.summary import first_line
from target_arch.plan.objective import Objective
from target_arch.soc.faults import Fault

_PLACE = "limits"


def limits(texts: Iterable[str], models: Sequence[str], memories: Sequence[str]) -> tuple[Limit, ...]:
    """The limits of texts `MEASURE=VALUE`. Raises DiagnosticError with every mistake."""
    wrong: list[Diagnostic] = []
    found = [_limit(text, models, memories, wrong) for text in texts]
    if wrong:
        raise DiagnosticError(wrong)
    return tuple(each for each in found if each is not None)


def _limit(
    text: str, models: Sequence[str], memories: Sequence[str], wrong: list[Diagnostic]
) -> Limit | None:
    name, equals, value = text.partition("=")
    known = measure(name, models) if name in set(measures(models, memories)) else None
    if not equals:
        said, hint = f"`{text}` lacks a value", "`latency=12ms`"
        wrong.append(Diagnostic(rule="unknown-measure", place=_PLACE, message=said, hint=hint))
        return None
    if known is None:
        said = f"`{name}` is nothing that is measured"
        hint = name_hint(name, measures(models, memories), "there are")
        wrong.append(Diagnostic(rule="unknown-measure", place=_PLACE, message=said, hint=hint))
        return None
    faults: list[Fault] = []
    most = known.kind.read((name,), value, faults)
    wrong += [Diagnostic(rule=f.rule, place=_PLACE, message=f.message, hint=f.hint) for f in faults]
    return None if most is None else Limit(measure=name, most=float(most), shown=value)


def objective_for(names: Iterable[str], models: Sequence[str]) -> Objective:
    """The objective of placement where these measures are asked for: throughput for a period, which frames in
    flight have, else latency. Raises DiagnosticError for a period of several models.
    """
    known = (measure(name, models) for name in names)
    if not any(each is not None and each.what == PERIOD for each in known):
        return Objective.LATENCY
    if len(models) > 1:
        said = "a period is that of frames in flight of one model, here are several"
        raise refusal("no-frames", _PLACE, said, "name one model")
    return Objective.THROUGHPUT


def shortcoming(outcome: PointOutcome, wanted: Iterable[Limit], models: Sequence[str]) -> str | None:
    """Why a point is not good, in a line: the refusal, or the limits that it does not keep; None where it is
    good.
    """
    if not outcome.fits:
        return f"{outcome.status}: {first_line(outcome.reason)}"
    over = []
    for limit in wanted:
        known = measure(limit.measure, models)
        value = None if known is None else known.of(outcome)
        if value is None or value > limit.most:
            over.append(f"{limit.measure} {precisely(limit.measure, value, models)} instead of {limit.shown}")
    return ", ".join(over) or None
