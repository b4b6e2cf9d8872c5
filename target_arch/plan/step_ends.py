"""When the steps of a simulated run are over, as far as the host notices."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import ceil

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.steps import Copy, Dispatch, Step


def step_ends(
    steps: Sequence[Step], spans: Iterable[Activity], waits: Iterable[Activity], makespan: float
) -> tuple[float, ...]:
    """Seconds from the start of a run to the end of each step that the host waits for; of any other step, to
    the end of the next one that it waits for. The run's end is last.
    """
    blocking = [(each.step, each.end) for each in spans if _blocks(steps[each.step])]
    seen = [(each.step, each.end) for each in waits if each.kind is not ActivityKind.ORDER]
    ends = dict((*seen, *blocking))
    backwards = (ends.get(number, makespan) for number in reversed(range(len(steps) + 1)))
    return tuple(accumulate(backwards, min))[::-1]


def whole_microseconds(end: float) -> int:
    """Rounded up; a picosecond is nothing that a sum of floats could be blamed for."""
    return ceil(end * 1e6 - 1e-6)


def _blocks(step: Step) -> bool:
    """Whether the host goes on only when the step is over."""
    return isinstance(step, Copy | Dispatch) and step.event is None
