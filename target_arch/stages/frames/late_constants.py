"""Copies of constants, no earlier than in the period before they are read.

Schedules place each task as early as possible: what copies a constant when the frame starts, so that the copy
would be kept through all stages up to the one that reads it. But a constant may be copied at any time.
"""

from attrs import evolve

from target_arch.plan.steps import Copy
from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.problem import FrameProblem, common


def with_late_constants(problem: FrameProblem, schedule: ModuloSchedule) -> ModuloSchedule:
    """The schedule in which copies of constants are as many periods later as what needs them allows. In a
    period they keep their places.
    """
    starts, issues = list(schedule.starts), list(schedule.issues)
    followers = _followers(problem)
    for task in reversed(_copies_of_constants(problem)):
        if followers[task]:
            end = starts[task] + problem.takes[task]
            spare = min(issues[other] for other in followers[task]) - end
            late = max(spare // schedule.period, 0) * schedule.period
            starts[task], issues[task] = starts[task] + late, issues[task] + late
    return evolve(schedule, starts=tuple(starts), issues=tuple(issues))


def _copies_of_constants(problem: FrameProblem) -> list[int]:
    """The copies of what is the same for all frames, also by way of another memory; of no state."""
    states = {name for state in problem.run.states for name in (state.now, state.next)}
    same = common(problem.run).keys() - states
    sources, found = _sources(problem), list[int]()
    for number, step in enumerate(problem.steps):
        if isinstance(step, Copy) and step.source.of in same:
            found.append(number)
            if sources[step.target.of] <= same:
                same |= {step.target.of}
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
    """By task those of the same frame that need it to have ended."""
    found: list[list[int]] = [[] for _ in problem.steps]
    for task, before in enumerate(problem.before):
        for other in before:
            found[other].append(task)
    return found
