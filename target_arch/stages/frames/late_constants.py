"""Copies of constants, no earlier than in the period before they are read.

Schedules place each task as early as possible: what copies a constant when the frame starts, so that the copy
would be kept through all stages up to the one that reads it. But a constant may be copied at any time.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from target_arch.plan.steps import Copy
from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.problem import FrameProblem, constants_of


@frozen(kw_only=True)
class ConstantCopy:
    """A task that copies a constant, and those of the same frame that need it to have ended."""

    task: int
    takes: int
    followers: tuple[int, ...]


def copies_of_constants(problem: FrameProblem) -> list[ConstantCopy]:
    """Copies that something needs, each after its followers."""
    followers = _followers(problem)
    return [
        ConstantCopy(task=task, takes=problem.takes[task], followers=tuple(followers[task]))
        for task in reversed(_copying(problem))
        if followers[task]
    ]


def with_late_constants(schedule: ModuloSchedule, copies: Sequence[ConstantCopy]) -> ModuloSchedule:
    """The schedule in which copies of constants are as many periods later as what needs them allows. In a
    period they keep their places.
    """
    starts, issues = list(schedule.starts), list(schedule.issues)
    for copy in copies:
        spare = min(issues[other] for other in copy.followers) - starts[copy.task] - copy.takes
        late = max(spare // schedule.period, 0) * schedule.period
        starts[copy.task] += late
        issues[copy.task] += late
    return evolve(schedule, starts=tuple(starts), issues=tuple(issues))


def _copying(problem: FrameProblem) -> list[int]:
    """The copies of what is the same for all frames, also by way of another memory; of no state."""
    same = set(constants_of(problem.run))
    sources, found = _sources(problem), list[int]()
    for number, step in enumerate(problem.steps):
        if isinstance(step, Copy) and step.source.of in same:
            found.append(number)
            if sources[step.target.of] <= same:
                same.add(step.target.of)
    return found


def _sources(problem: FrameProblem) -> dict[str, set[str | None]]:
    """By buffer what is copied there; None where a call writes it."""
    found: dict[str, set[str | None]] = {}
    for step in problem.steps:
        if isinstance(step, Copy):
            found.setdefault(step.target.of, set()).add(step.source.of)
        else:
            for operand in step.operands:
                if operand.access.writes:
                    found.setdefault(operand.of, set()).add(None)
    return found


def _followers(problem: FrameProblem) -> list[list[int]]:
    """By task those that need it to have ended."""
    found: list[list[int]] = [[] for _ in problem.steps]
    for task, before in enumerate(problem.before):
        for other in before:
            found[other].append(task)
    return found
