"""Steps that take longer than a model's may, and what they are."""

from collections.abc import Iterator

from attrs import frozen

from target_arch.plan.lowered import Lowered
from target_arch.plan.steps import Copy, Dispatch
from target_arch.plan.workloads.tasks import TaskStep, TaskWork
from target_arch.plan.workloads.workload import StepLimit
from target_arch.stages.setting import Setting
from target_arch.stages.workloads.tasks import worst_steps


@frozen(kw_only=True)
class LongStep:
    """A step, and how long it takes at worst. Times are whole picoseconds."""

    number: int
    step: Copy | Dispatch
    takes: int

    @property
    def words(self) -> str:
        """Its operator and instance, or what it copies."""
        if isinstance(self.step, Dispatch):
            return f"`{self.step.operator}` on `{self.step.instance}`"
        return f"a copy of `{self.step.source.of.split('@')[0]}`"


def is_long(limit: StepLimit, step: TaskStep) -> bool:
    """Whether a step of a task is over a limit; waits are no steps that take time."""
    return isinstance(step, TaskWork) and step.host + step.takes > limit.longest


def long_steps(limit: StepLimit, setting: Setting, lowered: Lowered) -> Iterator[LongStep]:
    """The steps of a model over a limit, with their numbers in its task."""
    for number, (step, worst) in enumerate(worst_steps(limit.worst, setting, lowered)):
        if is_long(limit, worst):
            assert isinstance(step, Copy | Dispatch)
            assert isinstance(worst, TaskWork)
            yield LongStep(number=number, step=step, takes=worst.host + worst.takes)
