"""The printed form of workloads: response times, what would help, and the table of times."""

from itertools import combinations

from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import table
from target_arch.plan.workloads.answers import Analysis, Change, HelpfulChange, Response, TimeTable
from target_arch.plan.workloads.workload import PICO, Overload, Schedule, Timing


def verdict(analysis: Analysis) -> str:
    """One line: `schedulable: kws 3.1 of 33 ms, …`, or the tasks with jobs that may be late."""
    late = [each for each in analysis.responses if not each.met]
    if not late:
        return f"schedulable: {', '.join(map(_of_deadline, analysis.responses))}\n"
    return f"not schedulable: {', '.join(map(_of_deadline, late))}\n"


def response_times(analysis: Analysis) -> str:
    """The verdict, a line for each task, and what would help."""
    beside = any(each.beside for each in analysis.responses)
    head: tuple[str, ...] = (
        "model", "due", "deadline", "priority", "run", "longest step", "worst response", "of it blocked",
    )  # fmt: skip
    rows = [
        (
            each.task.name,
            _due(each.task.timing),
            duration(each.task.timing.deadline / PICO),
            str(each.task.timing.priority) if analysis.schedule is Schedule.PRIORITIES else "",
            duration(each.times.cost / PICO),
            duration(each.times.longest / PICO),
            _worst(each) + ("" if each.met else ", late"),
            f"{duration(each.blocked / PICO)} by {each.blocker}" if each.blocked else "",
            *((duration(each.beside / PICO) if each.beside else "",) if beside else ()),
        )
        for each in analysis.responses
    ]
    by = "priorities" if analysis.schedule is Schedule.PRIORITIES else "a table of times"
    said = f"{len(rows)} models by {by}; busy for {analysis.load:.1%} of the time at most\n"
    helps = "".join(f"would help: {remedy(analysis, each)}\n" for each in analysis.remedies)
    head = (*head, "others at once") if beside else head
    return verdict(analysis) + said + _at_once(analysis) + table(head, rows, (2, 3, 4, 5, 6)) + helps


def _at_once(analysis: Analysis) -> str:
    """The pairs of tasks neither of which waits for the other, as a line."""
    names = [each.task.name for each in analysis.responses]
    pairs = [
        f"{names[one]} and {names[other]}"
        for one, other in combinations(range(len(names)), 2)
        if analysis.waits and one not in analysis.waits[other] and other not in analysis.waits[one]
    ]
    return f"at once: {', '.join(pairs)}\n" if pairs else ""


def remedy(analysis: Analysis, change: HelpfulChange) -> str:
    """A change that helps, as a clause."""
    response = analysis.responses[change.task]
    name, limit, times = response.task.name, duration(change.limit / PICO), response.times
    match change.change:
        case Change.PRIORITIES:
            return "priorities by deadlines, the shortest one first"
        case Change.STEP:
            now = f"{duration(times.longest / PICO)} (step {times.longest_step})"
            return f"a `longest_step` of `{name}` of {limit} instead of {now}"
        case Change.COST:
            where = times.where or "the host"
            said = f"{duration(times.busy / PICO)} of it on {where}"
            return f"a run of `{name}` of {limit} instead of {duration(times.cost / PICO)}, {said}"
        case _:
            return f"a {change.change} of `{name}` of {limit}"


def time_table(times: TimeTable, names: tuple[str, ...]) -> str:
    """A line for each slot."""
    rows = [
        (
            str(number),
            duration(slot.start / PICO),
            duration(slot.end / PICO),
            names[slot.task],
            duration(slot.due / PICO),
            f"{slot.first} to {slot.past - 1}",
        )
        for number, slot in enumerate(times.slots)
    ]
    said = f"{len(rows)} slots of {duration(times.hyperperiod / PICO)}\n"
    return said + table(("slot", "from", "to", "model", "due", "steps"), rows, (0, 1, 2, 4))


def _of_deadline(response: Response) -> str:
    return f"{response.task.name} {_worst(response)} of {duration(response.task.timing.deadline / PICO)}"


def _worst(response: Response) -> str:
    return "without limit" if response.worst is None else duration(response.worst / PICO)


def _due(timing: Timing) -> str:
    said = f"every {duration(timing.period / PICO)}"
    if timing.demand:
        said = f"on demand, {duration(timing.period / PICO)} apart"
    if timing.offset:
        said += f" from {duration(timing.offset / PICO)}"
    if timing.jitter:
        said += f", {duration(timing.jitter / PICO)} late at most"
    return said if timing.overload is Overload.SKIP else f"{said}; {timing.overload}"
