"""The schedule of frames that cores compute alone: one call right after the other, on all cores at once."""

from target_arch.stages.frames.modulo import ModuloSchedule, in_order
from target_arch.stages.frames.problem import FrameProblem


def in_lockstep(problem: FrameProblem) -> ModuloSchedule | None:
    """A schedule in which calls begin as soon as their core and the frame before let them; None where others
    than the cores do something. No other has a shorter period, unless states leave cores without work.
    """
    if not _alone(problem):
        return None
    starts, ends = list[int](), list[int]()
    free = dict.fromkeys(problem.where, 0)
    begun: dict[str, int] = {}
    for task, where in enumerate(problem.where):
        starts.append(max((free[where], *(ends[other] for other in problem.before[task]))))
        ends.append(starts[-1] + problem.takes[task])
        free[where] = ends[-1]
        begun.setdefault(where, starts[-1])
    spans = (free[where] - begun[where] for where in begun)
    carried = (ends[one] - starts[other] for one, other in problem.carried)
    period = max((problem.bound, 1, *spans, *carried))
    return in_order(problem, period, starts, starts, [0] * len(starts))


def _alone(problem: FrameProblem) -> bool:
    """Whether each frame is all work of its own core."""
    frames: dict[str, set[int]] = {}
    for task, where in enumerate(problem.where):
        frames.setdefault(where, set()).add(problem.frame(task))
    return len(frames) == len(problem.cores) > 0 and all(len(own) == 1 for own in frames.values())
