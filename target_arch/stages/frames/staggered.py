"""The schedule of frames that cores compute alone, in which no core waits for another one.

In lockstep all cores begin together, and stand still from the end of their frames to the beginning of the
next ones, while results are taken and inputs come. Here each begins a part of the period after the core
before it, has the first calls of its next frame before it ends the present one, and its frame is waited for a
while later, so that a core that is late for once makes nobody wait. That takes a frame more, or several.
"""

from attrs import evolve

from target_arch.stages.frames.ahead import issued_ahead
from target_arch.stages.frames.lockstep import in_lockstep
from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.problem import FrameProblem

REWARD = 0.01
"""The part of the period that a further frame has to save."""
_STILL = 6
"""Wakes of a core in the time in which one stands still between frames where all wait for each other: on a
computer with two that is 2.5 us, as measured.
"""


def staggered(problem: FrameProblem) -> ModuloSchedule | None:
    """The schedule; None where others than the cores do something, a frame needs what another one left, or
    cores that stand still in between lose less than a frame more is worth.
    """
    together = in_lockstep(problem)
    if together is None or problem.carried:
        return None
    period = together.period
    if _STILL * problem.wake <= REWARD * period:
        return None
    late = evolve(together, starts=tuple(start + period for start in together.starts))
    issues = issued_ahead(problem, evolve(late, issues=late.starts), at_once=True).issues
    firsts: dict[str, int] = {}
    for issue, where in zip(issues, problem.where, strict=True):
        firsts[where] = min(issue, firsts.get(where, issue))
    moves = {
        where: turn * period // len(firsts) - first for turn, (where, first) in enumerate(firsts.items())
    }
    starts = tuple(start + moves[where] for start, where in zip(late.starts, problem.where, strict=True))
    patience = period // (2 * len(firsts))
    return evolve(
        together,
        starts=starts,
        issues=tuple(issue + moves[where] for issue, where in zip(issues, problem.where, strict=True)),
        end=max(start + takes for start, takes in zip(starts, problem.takes, strict=True)) + patience,
        patience=patience,
    )
