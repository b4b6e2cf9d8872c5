"""A workload: models that run again and again on one chip, and what is asked of their times.

Times are whole picoseconds. `workload_file.py` reads workloads.
"""

from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from target_arch.soc.words import member_or_text

PICO = 10**12
"""Picoseconds of a second."""
MICROSECOND = 10**6
"""Picoseconds: what the runtime counts."""

MOST_JOBS = 8
"""Jobs of a model that may be released and not over: TA_MOST_JOBS of the runtime."""


class Overload(StrEnum):
    """The fate of a job that is released while an earlier one of its model is not over.

    `skip`: it is dropped. `queue`: it waits. `drop_oldest`: it waits, and one that waits already is dropped.
    """

    SKIP = "skip"
    QUEUE = "queue"
    DROP_OLDEST = "drop_oldest"


class Schedule(StrEnum):
    """How the arbiter decides: by priorities between steps, or by a table of times over the hyperperiod."""

    PRIORITIES = "priorities"
    TABLE = "table"


class WorkloadPlacement(StrEnum):
    """How models are placed: each as if it were alone, or so that the responses of all are best."""

    ALONE = "alone"
    TOGETHER = "together"


def overload(text: str) -> Overload:
    """Converter: the rule of that text."""
    return member_or_text(Overload, text)


def workload_placement(text: str) -> WorkloadPlacement:
    """Converter: the placement of that text."""
    return member_or_text(WorkloadPlacement, text)


def schedule(text: str) -> Schedule:
    """Converter: the schedule of that text."""
    return member_or_text(Schedule, text)


@frozen(kw_only=True)
class Timing:
    """When a model runs.

    A job is due every `period` from `offset` on, or with `demand` when the program asks, `period` apart at
    least. It is released up to `jitter` after it was due, and has to be over `deadline` after it was due. Of
    two jobs the one with the larger `priority` goes first, of equal ones the one that was released first.
    """

    period: int
    deadline: int
    offset: int = 0
    jitter: int = 0
    priority: int = 0
    demand: bool = False
    overload: Overload = field(default=Overload.SKIP, converter=overload)

    @property
    def places(self) -> int:
        """The number of jobs of the model that may be released and not over."""
        if self.overload is Overload.SKIP:
            return 1
        return 2 if self.overload is Overload.DROP_OLDEST else max(2, -(-self.deadline // self.period))


@frozen(kw_only=True)
class TimedModel:
    """A model of a workload, with its file. No step of it takes longer than `longest_step` at worst, if
    there is one.
    """

    name: str
    file: Path
    timing: Timing
    longest_step: int | None = None


@frozen(kw_only=True)
class WorstRule:
    """How long a step takes at worst: its estimate and `margin` times as much on top, where the costs state
    nothing worse, and the host's `overhead`.
    """

    margin: float
    overhead: int


@frozen(kw_only=True)
class StepLimit:
    """The most that a step of a model takes at worst."""

    longest: int
    worst: WorstRule


@frozen(kw_only=True)
class Workload:
    """The models in the order of their file.

    Worst times are estimates and `margin` times as much on top, where the costs state nothing worse. Every
    step takes the host `overhead` beside its own time.
    """

    name: str
    models: tuple[TimedModel, ...]
    schedule: Schedule = field(default=Schedule.PRIORITIES, converter=schedule)
    placement: WorkloadPlacement = field(default=WorkloadPlacement.ALONE, converter=workload_placement)
    margin: float = 0.2
    overhead: int = 0

    @property
    def worst(self) -> WorstRule:
        """How long steps take at worst."""
        return WorstRule(margin=self.margin, overhead=self.overhead)

    def limit(self, model: TimedModel) -> StepLimit | None:
        """The most that a step of one of the models takes; None where the workload does not say."""
        if model.longest_step is None:
            return None
        return StepLimit(longest=model.longest_step, worst=self.worst)
