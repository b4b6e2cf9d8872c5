"""The period of rounds that are replayed."""

from target_arch.plan.steps import StepOrder
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.frames.replay import replayed
from target_arch.stages.frames.rounds import Round, RoundTask, RoundWait


def test_a_channel_that_falls_behind_sets_the_period_before_anybody_waits_for_it() -> None:
    """Its copies are waited for three rounds later: 200 rounds are over before the host does."""
    takes = {"dma.0": 101, "dma.1": 100}
    problem = FrameProblem(
        run=StepOrder(steps=(), buffers=(), inputs=(), outputs=()),
        steps=(),
        takes=tuple(takes.values()),
        where=("dma", "dma"),
        before=((), ()),
        carried=(),
        widths={"dma": 2},
    )
    tasks = (RoundTask(task=number, stage=0, timeline=timeline) for number, timeline in enumerate(takes))
    waits = (
        RoundWait(timeline=timeline, back=back, place=1) for timeline, back in (("dma.0", 3), ("dma.1", 0))
    )
    steps = (*tasks, *waits)
    counts = dict.fromkeys(takes, 1)
    one = Round(steps=steps, frames=1, stages=1, done=len(steps) - 1, lives={}, counts=counts)
    assert replayed(problem, one).period == 101
