"""Tasks of random models for schedules, written one after the other."""

from collections.abc import Mapping
from random import Random

from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.stages.frames.problem import FrameProblem


class Chain:
    """The tasks and buffers of a problem; subclasses write them. `widths` are the channels of engines."""

    widths: Mapping[str, int]

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.steps: list[Copy | Dispatch] = []
        self.before: list[tuple[int, ...]] = []
        self.takes: list[int] = []
        self.where: list[str] = []
        self.buffers: list[Buffer] = []

    def add(self, step: Copy | Dispatch, where: str, takes: int, *before: int) -> int:
        """The number of a task that comes after those."""
        self.steps.append(step)
        self.before.append(before)
        self.takes.append(takes)
        self.where.append(where)
        return len(self.steps) - 1

    @property
    def problem(self) -> FrameProblem:
        return FrameProblem(
            run=StepOrder(steps=tuple(self.steps), buffers=tuple(self.buffers), inputs=(), outputs=()),
            steps=tuple(self.steps),
            takes=tuple(self.takes),
            where=tuple(self.where),
            before=self.before,
            carried=(),
            widths=self.widths,
        )
