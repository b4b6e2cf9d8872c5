"""Models lowered for an objective: of several placements the one whose steps are best, and in time."""

from collections.abc import Callable, Sequence
from functools import partial

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.plan.lowered import Lowered
from target_arch.plan.objective import Objective
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.resident import Resident
from target_arch.stages.placement.aims import PLAIN, PlacementTrial
from target_arch.stages.placement.staying import room_for_constants
from target_arch.stages.setting import Setting

TRIES = 4
"""The most placements for a limit of time: the search model approximates the run that has to keep it."""

COUNTED_ON = 2
"""The most placements that count on resident constants."""

LowerTrial = Callable[[PlacementTrial], Lowered]
"""Places for the objective and lowers. Raises DiagnosticError where that does not fit."""


def lowered_for(setting: Setting, lower: LowerTrial) -> Lowered:
    """The model lowered for the objective of the setting. DiagnosticError where it takes longer than the
    limit, or does not fit.
    """
    often = setting.objective is Objective.THROUGHPUT
    lowered = _most_frames(lower) if often else lower(PLAIN)
    if setting.objective is not Objective.ENERGY and setting.resident is Resident.AUTO:
        lowered = _with_residents(setting, lower, lowered, _frame if often else _run)
    if setting.objective is Objective.ENERGY and setting.within is not None:
        lowered = _in_time(lowered, setting.within, lower)
    require_in_time(setting, lowered)
    return lowered


def require_in_time(setting: Setting, lowered: Lowered) -> None:
    """DiagnosticError where a run, or a frame in flight, takes longer than the limit of the setting."""
    limit, time = setting.within, _time(lowered)
    if limit is None or time <= limit:
        return
    what = "a run" if lowered.frames is None else "a frame in flight"
    said = (
        f"{what} takes {duration(time)}, {duration(time - limit)} ({time / limit - 1:.1%}) more than the "
        f"{duration(limit)} that it may take"
    )
    raise refusal("too-slow", f"model {lowered.model.name}", said, _advice(setting, lowered, limit))


def _advice(setting: Setting, lowered: Lowered, limit: float) -> str | None:
    """The reason why it is not in time, or a way that helps; None where neither is known."""
    run = lowered.execution
    if run is not None and run.division_bound > limit:
        return f"no division of its operators over this chip takes less than {duration(run.division_bound)}"
    if lowered.frames is not None and run is not None and run.makespan <= limit:
        return f"a single run takes {duration(run.makespan)}: fewer frames in flight wait less for each other"
    if setting.objective is not Objective.LATENCY:
        return "the objective `latency` looks for the shortest run"
    return None


def _time(lowered: Lowered) -> float:
    """Seconds from the start of a run, or of a frame in flight, to the result."""
    if lowered.frames is not None:
        return lowered.frames.latency
    return 0.0 if lowered.execution is None else lowered.execution.makespan


def _with_residents(
    setting: Setting, lower: LowerTrial, best: Lowered, length: Callable[[Lowered], tuple[float, ...]]
) -> Lowered:
    """The shortest of placements that count on constants which stay: on none, which is `best`, on those for
    which memories have room, then on those that stayed in the placement before.
    """
    whole = best.graph if best.whole is None else best.whole
    staying = room_for_constants(whole.model, setting.soc)
    for _ in range(COUNTED_ON):
        try:
            tried = lower(PlacementTrial(staying=staying))
        except DiagnosticError:
            break
        best = min(best, tried, key=length)
        if tried.staying == staying:
            break
        staying = tried.staying
    return best


def _most_frames(lower: LowerTrial) -> Lowered:
    """The placement for throughput, or that of a short run where its steps have the shorter period: kernels
    can do better than the search model knows.
    """
    return most_often([partial(lower, PLAIN), partial(lower, PlacementTrial(improved=False))])


def with_choice(setting: Setting, undivided: Lowered, divided: Lowered) -> list[Lowered]:
    """The lowerings whose frames are compared: for throughput the undivided one, too, as slices need bytes
    that frames in flight may lack.
    """
    if divided is undivided or setting.objective is not Objective.THROUGHPUT:
        return [divided]
    return [undivided, divided]


def most_often(ways: Sequence[Callable[[], Lowered]]) -> Lowered:
    """The lowering whose frames have the shortest period, the first of equal ones; of one way, its own.
    Raises the first DiagnosticError where every way is refused.
    """
    made, refusals = list[Lowered](), list[DiagnosticError]()
    for way in ways:
        try:
            made.append(way())
        except DiagnosticError as refused:
            refusals.append(refused)
    if not made:
        raise refusals[0]
    return min(made, key=_period) if len(made) > 1 else made[0]


def _run(lowered: Lowered) -> tuple[float, ...]:
    return (lowered.makespan,)


def _frame(lowered: Lowered) -> tuple[float, ...]:
    """The period, then what the search made of it: of equal ones that which counted on what stays."""
    facts = None if lowered.graph.facts is None else lowered.graph.facts.objective
    return _period(lowered), 0.0 if facts is None else facts.value


def _period(lowered: Lowered) -> float:
    assert lowered.frames is not None
    return lowered.frames.period


def _in_time(lowered: Lowered, within: float, lower: LowerTrial) -> Lowered:
    """The one of least energy that is in time, else the fastest: the limit of the search model is moved by
    what the run took.
    """
    tried, limit, best = [lowered], within, lowered
    while len(tried) < TRIES and not _is_least(best, within):
        limit *= within / _time(tried[-1])
        try:
            other = lower(PlacementTrial(limit=limit))
        except DiagnosticError:
            break
        if any(other.graph.choices == each.graph.choices for each in tried):
            break
        tried.append(other)
        best = min(tried, key=lambda each: (max(0.0, _time(each) - within), _energy(each), _time(each)))
    return best


def _is_least(lowered: Lowered, within: float) -> bool:
    facts = None if lowered.graph.facts is None else lowered.graph.facts.objective
    return facts is not None and facts.value <= facts.bound and _time(lowered) <= within


def _energy(lowered: Lowered) -> float:
    facts = None if lowered.graph.facts is None else lowered.graph.facts.objective
    return 0.0 if facts is None else facts.value
