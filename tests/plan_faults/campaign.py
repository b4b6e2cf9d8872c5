"""Faults planted, and what became of them."""

from collections import Counter
from enum import StrEnum
from random import Random

from attrs import field, frozen

from target_arch.plan.lowered import Lowered
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import sizes
from tests.plan_faults.execution import NoRun, outcomes
from tests.plan_faults.faults import FAULTS
from tests.plan_faults.plans import RightPlan, plan


class Verdict(StrEnum):
    """The checker refuses it, or fails, or accepts it and it computes the same, or something else."""

    FOUND = "found"
    HARMLESS = "harmless"
    WRONG = "accepted and wrong"
    FAILED = "exception"


@frozen(kw_only=True)
class Planted:
    """The faults of one plan: their verdicts by kind, and those that were accepted and wrong or that ended
    in an exception.
    """

    verdicts: Counter[tuple[str, Verdict]] = field(factory=Counter)
    wrong: tuple[str, ...] = ()


def accepted(right: RightPlan, changed: Lowered) -> bool:
    """True where a compilation would end with this plan."""
    model = right.lowered.graph.model
    known = sizes(right.lowered.graph, right.lowered.kernels)
    try:
        check(right.soc, changed.steps, changed.plan, known, parts(model), model.states)
        check_meaning(changed.graph, changed.kernels, changed.steps, changed.plan)
    except CheckError:
        return False
    return True


def planted(number: int, seed: int, count: int) -> Planted | None:
    """So many faults in the plan of that number, each kind in its turn; None where there is no plan."""
    right = plan(number)
    if right is None:
        return None
    verdicts: Counter[tuple[str, Verdict]] = Counter()
    wrong: list[str] = []
    expected: dict[int, list[list[bytes]]] = {}
    kinds = list(FAULTS)
    for turn in range(count):
        kind = kinds[(number * count + turn) % len(kinds)]
        random = Random(f"{seed} {number} {turn}")
        changed = FAULTS[kind](random, right.lowered)
        if changed is None or changed == right.lowered:
            continue
        verdict = _verdict(right, changed, seed, expected)
        verdicts[kind, verdict] += 1
        if verdict in (Verdict.WRONG, Verdict.FAILED):
            wrong.append(f"{verdict}: plan {number}, turn {turn} of {count}, {kind}")
    return Planted(verdicts=verdicts, wrong=tuple(wrong))


def _verdict(
    right: RightPlan, changed: Lowered, seed: int, expected: dict[int, list[list[bytes]]]
) -> Verdict:
    try:
        if not accepted(right, changed):
            return Verdict.FOUND
    except Exception:  # whatever it is, it is a finding
        return Verdict.FAILED
    if seed not in expected:
        expected[seed] = outcomes(right.lowered, seed)
    try:
        same = outcomes(changed, seed) == expected[seed]
    except NoRun:
        same = False
    return Verdict.HARMLESS if same else Verdict.WRONG
