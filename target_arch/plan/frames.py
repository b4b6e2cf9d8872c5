"""Frames in flight: the steps of a model as a software pipeline.

Steps are issued round after round, for ever, from one table. Every round starts one frame, and each step of
it works for the frame that was started `stage` rounds before: so the prologue and the epilogue of the
pipeline are rounds in which some frames are absent, whose steps are skipped (the kernel-only code of Rau,
Schlansker and Tirumalai, "Code generation schema for modulo scheduled loops", MICRO 1992). Waits are never
skipped, and a step that was skipped counts as complete.

A buffer that lives longer than a round exists once for each frame that needs it at the same time. The table
has `rounds` rounds, after which the addresses are those of the first one again.
"""

from collections.abc import Mapping

from attrs import field, frozen

from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.steps import StepOrder


@frozen(kw_only=True)
class FrameBuffer:
    """The meaning of a buffer of the table: the buffer of a run, for frames that start in one of the rounds.

    `round` is None where all frames have the same bytes: constants and states.
    """

    of: str
    round: int | None


@frozen(kw_only=True)
class CurvePoint:
    """The pipeline with at most so many `frames`: seconds from one result to the next, and the bytes that the
    arenas take with it.
    """

    frames: int
    period: float
    bytes: Mapping[Arena, int]


@frozen(kw_only=True)
class FramePipeline:
    """The steps of a model with several frames in flight.

    `order` has the Loads, then `rounds` rounds of the same steps; `stages` has the stage of each step of a
    round, 0 for a Wait. A frame goes through `frames` stages, so many are in flight. An Event names the
    latest step with that number: if the table has not come to it yet, that of its last round trip. The inputs
    and outputs are those of the first round, of the second and so on. A frame is over after step `done` of a
    round, in its last stage; then none of its steps is in flight.

    Where frames take turns on equal `cores`, the first of the table on the first one, there are as many kinds
    of rounds, which take turns, too: `stages` has the steps of a round of each. The first core computes runs.

    The caller writes the inputs of a frame in the round before it is started, and has read its outputs at the
    end of the round that follows its last one.

    In steady state a result comes every `period` seconds, `latency` after its frame was started, by the
    simulated clock. No order of these steps has a shorter period than `bound`, the time in which `busiest`
    works for one frame, or as a memory has a buffer of it. `alone` is the simulated run of one frame.
    """

    order: StepOrder = field(repr=False)
    stages: tuple[int, ...] = field(repr=False)
    frames: int
    done: int
    rounds: int
    buffers: Mapping[str, FrameBuffer] = field(repr=False)
    plan: MemoryPlan = field(repr=False)
    period: float
    latency: float
    bound: float
    busiest: str
    alone: float
    cores: tuple[str, ...] = ()
    curve: tuple[CurvePoint, ...] = ()

    @property
    def kinds(self) -> int:
        """How many rounds there are, one after the other, that are not alike."""
        return max(len(self.cores), 1)

    @property
    def round_steps(self) -> int:
        """The number of steps of a round."""
        return len(self.stages) // self.kinds

    @property
    def loads(self) -> int:
        """The number of Loads and Fills before the first round."""
        return len(self.order.steps) - self.rounds * self.round_steps

    @property
    def gap(self) -> float:
        """How much longer the period is than its bound, as a part of the bound; 0 where the bound is 0."""
        return self.period / self.bound - 1 if self.bound else 0.0
