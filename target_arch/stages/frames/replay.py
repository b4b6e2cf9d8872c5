"""The simulated period of a round: rounds one after the other, as one host thread issues them."""

from collections import Counter
from collections.abc import Iterator

from attrs import frozen

from target_arch.plan.steps import Event
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.frames.rounds import Round, RoundTask
from target_arch.stages.steps.simulation.clock import Clock

WARM = 4
"""Times the stages of a frame, after which rounds are counted, and again as many that are."""


@frozen(kw_only=True)
class FrameTimes:
    """Picoseconds in steady state, with a frame in every round: from one result to the next, and from the
    start of a frame to its result. A timeline that a round keeps busy for longer than results are apart falls
    behind a little each time, maybe for more rounds than are replayed: in the end results come as it does.
    """

    period: float
    latency: float


def replayed(problem: FrameProblem, one: Round) -> FrameTimes:
    """The times of a round. Steps take what they take in the run."""
    clock, values = Clock(orders=problem.orders, joining=problem.joining), dict[str, int]()
    following = tuple(_following(problem, one))
    begins, ends = list[int](), list[int]()
    rounds, length = WARM * (one.stages + 1), len(one.steps) // one.frames
    for turn in range(2 * rounds):
        for number, step in enumerate(one.steps):
            if number % length == 0:
                begins.append(clock.now)
            if isinstance(step, RoundTask):
                event = None
                if step.timeline is not None:
                    values[step.timeline] = values.get(step.timeline, 0) + 1
                    event = Event(timeline=step.timeline, value=values[step.timeline])
                clock.issue(event, problem.takes[step.task], follows=following[number])
            elif turn >= step.back:
                value = (turn - step.back) * one.counts[step.timeline] + step.place
                clock.wait(Event(timeline=step.timeline, value=value))
            if number % length == one.done:
                ends.append(clock.now)
    counted = range(rounds * one.frames, 2 * rounds * one.frames)
    latency = max(ends[part] - begins[part - one.stages + 1] for part in counted)
    apart = (ends[-1] - ends[counted[0] - 1]) / len(counted)
    return FrameTimes(period=max(apart, _busiest(problem, one) / one.frames), latency=latency)


def _busiest(problem: FrameProblem, one: Round) -> int:
    """How long a round keeps a timeline busy that has the most to do."""
    busy = Counter[str]()
    for step in one.steps:
        if isinstance(step, RoundTask) and step.timeline is not None:
            busy[step.timeline] += problem.takes[step.task]
    return max(busy.values(), default=0)


def _following(problem: FrameProblem, one: Round) -> Iterator[bool]:
    """Whether each step of a round is handed over with the one before: both are calls for the same frame on
    one instance that takes several as one order.
    """
    last: tuple[str, int, int] | None = None
    for step in one.steps:
        there = None
        if isinstance(step, RoundTask) and step.timeline in problem.joining:
            there = (step.timeline, step.stage, problem.frame(step.task))
        yield there is not None and there == last
        last = there
