"""Faults planted, and what became of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from random import Random
from typing import Any, Protocol

from attrs import field, frozen

from tests.plan_faults.division import division
from tests.plan_faults.execution import NoRun
from tests.plan_faults.frames import frames
from tests.plan_faults.models import models
from tests.plan_faults.plans import plan, plan_with_residents
from tests.plan_faults.tables import tables


class Subject(Protocol):
    """Something right that faults are planted into, the kinds of them, what a compilation would accept, and
    what is computed with it.
    """

    @property
    def right(self) -> Any:
        """Without a fault."""

    @property
    def kinds(self) -> Mapping[str, Callable[[Random, Any], Any]]:
        """The faults by name; each is None where it has nothing to change."""

    def accepts(self, changed: Any) -> bool:
        """True where a compilation would end with it."""

    def outcomes(self, changed: Any, seed: int) -> object:
        """What it computes."""


SUBJECTS: Mapping[str, Callable[[int], Subject | None]] = {
    "steps": plan,
    "residents": plan_with_residents,
    "frames": frames,
    "division": division,
    "models": models,
    "tables": tables,
}
"""By number; None where there is none of that number."""


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


def planted(subject: Subject, number: int, seed: int, count: int) -> Planted:
    """So many faults in what has that number, each kind in its turn."""
    verdicts: Counter[tuple[str, Verdict]] = Counter()
    wrong: list[str] = []
    expected: list[object] = []
    kinds = list(subject.kinds)
    for turn in range(count):
        kind = kinds[(number * count + turn) % len(kinds)]
        random = Random(f"{seed} {number} {turn}")
        changed = subject.kinds[kind](random, subject.right)
        if changed is None or changed == subject.right:
            continue
        verdict = _verdict(subject, changed, seed, expected)
        verdicts[kind, verdict] += 1
        if verdict in (Verdict.WRONG, Verdict.FAILED):
            wrong.append(f"{verdict}: plan {number}, turn {turn} of {count}, {kind}")
    return Planted(verdicts=verdicts, wrong=tuple(wrong))


def _verdict(subject: Subject, changed: object, seed: int, expected: list[object]) -> Verdict:
    try:
        if not subject.accepts(changed):
            return Verdict.FOUND
    except Exception:  # whatever it is, it is a finding
        return Verdict.FAILED
    if not expected:
        expected.append(subject.outcomes(subject.right, seed))
    try:
        same = subject.outcomes(changed, seed) == expected[0]
    except NoRun:
        same = False
    return Verdict.HARMLESS if same else Verdict.WRONG
