"""The workload of a request, if there is one: its tasks, the answer about them, and what may share memory."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.diagnostics import refusal
from target_arch.pipeline.preparation import PreparedModel
from target_arch.pipeline.request import ModelsRequest
from target_arch.pipeline.short_steps import steps_over
from target_arch.plan.lowered import Lowered
from target_arch.plan.model_pools import Sharing
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.workloads import remedy, verdict
from target_arch.plan.workloads.answers import Analysis
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, PICO, Schedule, Workload
from target_arch.soc.rounding import ceil_div
from target_arch.stages.check.table import check_table
from target_arch.stages.check.waiting import check_responses, check_waits
from target_arch.stages.setting import Setting
from target_arch.stages.workloads.long_steps import is_long
from target_arch.stages.workloads.remedies import advised
from target_arch.stages.workloads.simulation import periodic, simulated
from target_arch.stages.workloads.table import MOST_JOBS, jobs_of_table, tabled
from target_arch.stages.workloads.tasks import timed_task

_DRAWN = 400
"""Times that a picture shows."""


def require_workload(request: ModelsRequest) -> None:
    """DiagnosticError for options that a workload rules out."""
    for option, why, wrong in (
        ("workload", "a workload is of several models, and this has one", len(request.models) == 1),
        ("arenas", "in a workload, who may preempt whom says who shares memory", _separate(request)),
        ("frames", "frames in flight are those of one model alone", any(r.frames for r in request.models)),
        (
            "images",
            "the jobs of a workload need the same program on an instance: none is loaded between two steps",
            any(each.images != request.models[0].images for each in request.models),
        ),
    ):
        if wrong:
            raise refusal("bad-workload", option, why)


def _separate(request: ModelsRequest) -> bool:
    return request.arenas is not Sharing.SHARED


def limited(workload: Workload, prepared: Sequence[PreparedModel]) -> tuple[PreparedModel, ...]:
    """The models with the most that their steps may take in a workload."""
    return tuple(
        evolve(each, step_limit=workload.limit(model))
        for model, each in zip(workload.models, prepared, strict=True)
    )


def require_short_steps(
    workload: Workload,
    prepared: Sequence[PreparedModel],
    lowered: Sequence[Lowered],
    tasks: Sequence[TimedTask],
) -> None:
    """DiagnosticError for a model with a step that takes longer than it may, by the task that it is."""
    for ready, made, task in zip(prepared, lowered, tasks, strict=True):
        limit = ready.step_limit
        if limit is None or not any(is_long(limit, step) for step in task.steps):
            continue
        over = steps_over(limit, ready.setting, made)
        longest, asked = (duration(time / PICO) for time in (over[0].takes, limit.longest))
        said = f"{over[0].words} takes {longest} at worst, and steps of `{ready.model.name}` may take {asked}"
        least = ceil_div(over[0].takes, MICROSECOND)
        hint = f'write `longest_step = "{least} us"`, or forbid the device: the step is not divided further'
        raise refusal("long-step", f"workload {workload.name}", said, hint)


def tasks_of(
    workload: Workload, settings: Sequence[Setting], lowered: Sequence[Lowered]
) -> tuple[TimedTask, ...]:
    """The tasks of planned models."""
    return tuple(
        timed_task(workload.worst, model, setting, each)
        for model, setting, each in zip(workload.models, settings, lowered, strict=True)
    )


def answered(workload: Workload, tasks: Sequence[TimedTask]) -> Analysis:
    """The analysis of a workload in which no job is late. DiagnosticError for any other, with what helps."""
    if workload.schedule is Schedule.TABLE and jobs_of_table(tasks) > MOST_JOBS:
        said = f"the table of times would have {jobs_of_table(tasks):,} jobs, {MOST_JOBS:,} are allowed"
        hint = "make the periods multiples of each other, or take priorities"
        raise refusal("long-table", f"workload {workload.name}", said, hint)
    analysis = tabled(tasks) if workload.schedule is Schedule.TABLE else advised(tasks)
    if not analysis.schedulable:
        helps = "; ".join(remedy(analysis, each) for each in analysis.remedies)
        raise refusal(
            "not-schedulable",
            f"workload {workload.name}",
            verdict(analysis).strip(),
            f"any of these would help: {helps}" if helps else None,
        )
    return analysis


def checked(tasks: Sequence[TimedTask], analysis: Analysis) -> tuple[tuple[int, int, int], ...]:
    """The times in which the host or a device is at work for a job: those of two of the longest periods, or
    of the table, as far as these are not too many to be drawn. Raises CheckError where the answer is wrong.
    """
    if analysis.table is not None:
        check_table(tasks, analysis.table)
        return tuple((slot.task, slot.start, slot.end) for slot in analysis.table.slots)[:_DRAWN]
    check_waits(tasks, analysis.waits)
    until = 2 * max(task.timing.period for task in tasks)
    jobs = sum(until // task.timing.period for task in tasks)
    until = until if jobs <= _DRAWN else until * _DRAWN // jobs
    replayed = simulated(tasks, [periodic(task, until) for task in tasks], analysis.waits)
    check_responses(tasks, analysis, replayed)
    return replayed.spans[:_DRAWN]
