"""Tasks: the steps of models with worst times, and when they run. Times are whole picoseconds."""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.plan.workloads.workload import Timing


@frozen(kw_only=True)
class TaskWork:
    """A step that keeps the host busy, or with a `timeline` an instance or a channel: then the host goes on
    after its own part, `host`, which comes first in any case.
    """

    takes: int
    timeline: str = ""
    host: int = 0


@frozen(kw_only=True)
class TaskWait:
    """A step in which the host waits until the first `value` steps of the job on a timeline are over, and
    then is busy for `host`.
    """

    timeline: str
    value: int
    host: int = 0


TaskStep = TaskWork | TaskWait


@frozen(kw_only=True, slots=False)
class TimedTask:
    """A model in time: its steps in the order in which the host takes them, between any two of which it may
    take steps of other jobs. Of its timelines the `channels` are those of DMA.
    """

    name: str
    timing: Timing
    steps: tuple[TaskStep, ...] = field(repr=False)
    channels: frozenset[str] = frozenset()

    @cached_property
    def timelines(self) -> frozenset[str]:
        """The timelines on which it has steps; the host is none."""
        return frozenset(step.timeline for step in self.steps if isinstance(step, TaskWork) and step.timeline)


@frozen(kw_only=True)
class TaskTimes:
    """Worst times of a task, alone on the chip.

    A job takes at most `cost`; `last` of it are its last step, where that is the host's and nothing is in
    flight with it, else 0. Of its steps number `longest_step` takes the longest, `longest`. Where it is
    preempted it loses overlap of its own steps: `loss` at most each time, and for any number of times so many
    of the `losses`, the largest first.
    `flights` are by timeline the longest step there, `flown` all of a job, `counts` how many they are, and
    `tails` the time from the first one to the end of the job. The host is busy for `hosted_steps`, the
    longest first, `hosted` together, and waits for steps of the job `pauses` times at most. `where` is the
    host or the timeline that is busy the longest, for `busy`.
    """

    cost: int
    last: int
    longest: int
    longest_step: int
    loss: int
    losses: tuple[int, ...] = field(repr=False)
    flights: Mapping[str, int] = field(repr=False)
    flown: Mapping[str, int] = field(repr=False)
    counts: Mapping[str, int] = field(repr=False)
    tails: Mapping[str, int] = field(repr=False)
    hosted: int
    hosted_steps: tuple[int, ...] = field(repr=False)
    pauses: int
    where: str
    busy: int

    def longer(self, busy: Mapping[str, int]) -> int:
        """By how much a job is longer where timelines are busy for so long when it begins."""
        late = (takes + self.tails[line] - self.cost for line, takes in busy.items() if line in self.tails)
        return max((0, *late))
