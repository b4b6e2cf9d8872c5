"""Frames in flight of a model with two of everything: inputs, outputs, states, tiles and rounds of the table.
For a chip with accelerators, where two frames are in flight, and for a host, whose calls read states where
they are. And the changes that make something of a pipeline wrong.
"""

from collections.abc import Callable, Mapping

import pytest
from attrs import evolve, frozen

from target_arch.plan.frames import FrameBuffer, FramePipeline
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Step, Wait
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import SoC
from target_arch.stages.check.frames import check_frames
from target_arch.stages.errors import CheckError
from target_arch.stages.frames.blocks import TaskBlock, blocks_of
from target_arch.stages.frames.pipelined import pipelined
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.lowering.ladder import sizes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

ROWS = (
    ("a", "conv", ("p",), 512),
    ("b", "dense", ("q",), 512),
    ("s", "add", ("a", "c"), 512),
    ("t", "add", ("b", "d"), 512),
    ("u", "dense", ("s",), 512),
    ("v", "conv", ("t",), 512),
    ("y", "soft", ("u",), 512),
    ("z", "other", ("v", "u"), 512),
)


@frozen(kw_only=True)
class Frames:
    """The run of one frame, and its right pipeline, which can be changed."""

    soc: SoC
    run: Lowered
    right: FramePipeline

    def said(self, changed: FramePipeline) -> list[str]:
        """What the checker says of a pipeline in the place of the right one."""
        known, run = sizes(self.run.graph, self.run.kernels), (self.run.steps, self.run.plan)
        try:
            check_frames(self.soc, changed, self.run.graph, self.run.kernels, known, run)
        except CheckError as error:
            return str(error).split("\n\n")
        return []

    def order(self, **facts: object) -> FramePipeline:
        """Other facts of the order of steps."""
        return evolve(self.right, order=evolve(self.right.order, **facts))  # type: ignore[arg-type]

    def step(self, number: int, changed: Step) -> FramePipeline:
        """Another step in the place of one."""
        steps = self.right.order.steps
        return self.order(steps=(*steps[:number], changed, *steps[number + 1 :]))

    def exchanged(self, one: int, other: int) -> FramePipeline:
        """Two steps in each other's place."""
        steps = list(self.right.order.steps)
        steps[one], steps[other] = steps[other], steps[one]
        return self.order(steps=tuple(steps))

    def waiting(self, number: int, timeline: str, value: int) -> FramePipeline:
        """Another event for a wait."""
        assert isinstance(self.right.order.steps[number], Wait)
        return self.step(number, Wait(event=Event(timeline=timeline, value=value)))

    def signals(self, number: int, value: int) -> FramePipeline:
        """Another number for what a step signals."""
        changed = self.right.order.steps[number]
        assert isinstance(changed, Copy | Dispatch)
        assert changed.event is not None
        return self.step(number, evolve(changed, event=evolve(changed.event, value=value)))

    def copy(self, number: int, change: Callable[[Copy], Copy]) -> FramePipeline:
        """A copy changed."""
        changed = self.right.order.steps[number]
        assert isinstance(changed, Copy)
        return self.step(number, change(changed))

    def call(self, number: int, change: Callable[[Dispatch], Dispatch]) -> FramePipeline:
        """A call changed."""
        changed = self.right.order.steps[number]
        assert isinstance(changed, Dispatch)
        return self.step(number, change(changed))

    def stage(self, number: int, stage: int) -> FramePipeline:
        """Another stage of a step of the table."""
        stages = list(self.right.stages)
        stages[number - self.right.loads] = stage
        return evolve(self.right, stages=tuple(stages))

    def offset(self, name: str, offset: int) -> FramePipeline:
        """One buffer elsewhere."""
        offsets = {**self.right.plan.offsets, name: offset}
        return evolve(self.right, plan=evolve(self.right.plan, offsets=offsets))

    def buffer(self, name: str, **facts: object) -> FramePipeline:
        """Other facts of one buffer."""
        found: tuple[Buffer, ...] = tuple(
            evolve(each, **facts) if each.name == name else each  # type: ignore[arg-type]
            for each in self.right.order.buffers
        )
        return self.order(buffers=found)

    def meaning(self, name: str, of: str, turn: int | None) -> FramePipeline:
        """One buffer as that of another one of a run, or of another round."""
        buffers: Mapping[str, FrameBuffer] = {**self.right.buffers, name: FrameBuffer(of=of, round=turn)}
        return evolve(self.right, buffers=buffers)

    def filled(self, *numbers: int) -> FramePipeline:
        """The same with fills before the rounds, which are copies of the rounds."""
        fills = []
        for number in numbers:
            copy = self.right.order.steps[number]
            assert isinstance(copy, Copy)
            fills.append(Fill(copy=evolve(copy, event=None)))
        return self.order(steps=(*fills, *self.right.order.steps))


def _frames(soc: SoC) -> Frames:
    inputs = dict.fromkeys(("p", "q", "c", "d"), 512)
    model = evolve(chips.model(*ROWS, inputs=inputs, weights=64), outputs=("y", "z", "s", "t"))
    pairs = [StatePair(input=2, output=2), StatePair(input=3, output=3, initial=bytes(range(256)) * 2)]
    run = lowered(with_states(model, pairs, model.outputs), soc)
    work = PartialLowering(setting=chips.setting(soc), graph=run.graph, kernels=run.kernels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("target_arch.stages.frames.pipelined.blocks_of", _wide)
        found = pipelined(soc, run.steps, run.plan, Times(work), 2, 0.0)
    assert found is not None
    return Frames(soc=soc, run=run, right=found)


def _wide(problem: FrameProblem, *, narrow: bool = False) -> tuple[TaskBlock, ...]:
    """Blocks over all channels, narrow or not: of their pipeline the tests know the numbers of the steps."""
    del narrow
    return blocks_of(problem)


TWO, HOST = _frames(chips.EDGE), _frames(chips.ALONE)
