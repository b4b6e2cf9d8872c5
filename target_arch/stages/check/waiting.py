"""The checker of jobs that run at once. It believes nothing of the analysis: who has to wait for whom it sees
in the steps, and no job of a simulation may be over later than the analysis says.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from target_arch.diagnostics import Diagnostic
from target_arch.plan.workloads.answers import Analysis, Replayed
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.stages.errors import CheckError


def check_waits(tasks: Sequence[TimedTask], waits: Sequence[Collection[int]]) -> None:
    """Raises CheckError for every two tasks that use one timeline, or have one priority, and may run at once,
    and for each that waits for a less urgent one.
    """
    faults = [*_missing(tasks, waits), *_upside_down(tasks, waits)]
    if faults:
        raise CheckError(tuple(faults))


def _missing(tasks: Sequence[TimedTask], waits: Sequence[Collection[int]]) -> Iterator[Diagnostic]:
    for one, other in combinations(range(len(tasks)), 2):
        low, high = sorted((one, other), key=lambda number: tasks[number].timing.priority)
        equal = tasks[low].timing.priority == tasks[high].timing.priority
        shared = _used(tasks[low]) & _used(tasks[high])
        if (equal or shared) and high not in waits[low]:
            why = f"both take steps on `{min(shared)}`" if shared else "both have one priority"
            yield _fault("no-wait", tasks[low], f"does not wait for `{tasks[high].name}`, and {why}")
        elif equal and low not in waits[high]:
            yield _fault(
                "no-wait", tasks[high], f"does not wait for `{tasks[low].name}`, and both have one priority"
            )


def _used(task: TimedTask) -> set[str]:
    return {step.timeline for step in task.steps} - {""}


def _upside_down(tasks: Sequence[TimedTask], waits: Sequence[Collection[int]]) -> Iterator[Diagnostic]:
    for number, task in enumerate(tasks):
        for other in sorted(waits[number]):
            if tasks[other].timing.priority < task.timing.priority:
                yield _fault("no-wait", task, f"waits for `{tasks[other].name}`, which is less urgent")


def check_responses(tasks: Sequence[TimedTask], analysis: Analysis, replayed: Replayed) -> None:
    """Raises CheckError for every task of which a simulated job was over later than its worst response."""
    faults = []
    for number, (task, response) in enumerate(zip(tasks, analysis.responses, strict=True)):
        times = [job.end - job.due for job in replayed.jobs if job.task == number and job.end is not None]
        if response.worst is not None and max(times, default=0) > response.worst:
            took, most = (f"{time / 1e6:.9g} us" for time in (max(times), response.worst))
            said = f"a job takes {took} in the simulation, and {most} at most by the analysis"
            faults.append(_fault("late-job", task, said))
    if faults:
        raise CheckError(tuple(faults))


def _fault(rule: str, task: TimedTask, message: str) -> Diagnostic:
    return Diagnostic(rule=rule, place=f"model {task.name}", message=message)
