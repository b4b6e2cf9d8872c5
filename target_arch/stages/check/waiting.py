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
    """Raises CheckError for every two models that use one device, or have one priority, and may run at once,
    for two that copy on one channel at once while another has the chip in turn with both, and for each that
    waits for a less urgent one.
    """
    faults = [*_missing(tasks, waits), *_upside_down(tasks, waits)]
    if faults:
        raise CheckError(tuple(faults))


def _missing(tasks: Sequence[TimedTask], waits: Sequence[Collection[int]]) -> Iterator[Diagnostic]:
    groups = [_reached(waits, number) for number in range(len(tasks))]
    for one, other in combinations(range(len(tasks)), 2):
        low, high = sorted((one, other), key=lambda number: tasks[number].timing.priority)
        equal = tasks[low].timing.priority == tasks[high].timing.priority
        why = "both have one priority" if equal else _in_turn(tasks, groups, low, high)
        if why and high not in waits[low]:
            yield _fault("no-wait", tasks[low], f"does not wait for `{tasks[high].name}`, and {why}")
        elif equal and low not in waits[high]:
            yield _fault("no-wait", tasks[high], f"does not wait for `{tasks[low].name}`, and {why}")


def _in_turn(tasks: Sequence[TimedTask], groups: Sequence[Collection[int]], low: int, high: int) -> str:
    """Why two models that use the same timeline may not run at once; empty where they may."""
    shared = _used(tasks[low]) & _used(tasks[high])
    devices = shared - (tasks[low].channels & tasks[high].channels)
    if devices:
        return f"both take steps on `{min(devices)}`"
    third = next((number for number, group in enumerate(groups) if low in group and high in group), None)
    if shared and third is not None:
        return f"both copy on `{min(shared)}`, and are in the group of `{tasks[third].name}`"
    return ""


def _reached(waits: Sequence[Collection[int]], number: int) -> set[int]:
    """A model, those for which it waits, for which these wait, and so on: its group."""
    reached, edge = {number}, {number}
    while edge:
        edge = set[int]().union(*(waits[one] for one in edge)) - reached
        reached |= edge
    return reached


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
