"""`src/<bundle>_workload.c`: the tables of a workload, and the functions of the header that run it."""

from collections.abc import Collection
from math import ceil

from target_arch.emit.model import promises
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.steps import Load
from target_arch.plan.workloads.answers import TimedTasks
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.plan.workloads.workload import MICROSECOND, PICO, Overload

_RULES = {
    Overload.SKIP: "TA_OVERLOAD_SKIP",
    Overload.QUEUE: "TA_OVERLOAD_QUEUE",
    Overload.DROP_OLDEST: "TA_OVERLOAD_DROP_OLDEST",
}

_DECLARATIONS = """
/* The tasks of the workload, numbered as in this list. By the costs that it was planned with, the worst time
 * from when a job is due until it is over is, without what hooks take:
 *
{tasks}
 */
enum {{ {numbers} }};

/* Run the models in time, from now on. The functions in `hooks` {hooks}
 * No model may be run by another function until stop. See ta_workload_start. */
ta_status {bundle}_workload_start(const ta_workload_hooks *hooks);

/* Do what is next; `*sleep_us` says for how long there is nothing to do. One thread, or the main loop, calls
 * it again and again. See ta_workload_turn. */
ta_status {bundle}_workload_turn(uint32_t *sleep_us);

/* A job of a task on demand is due. See ta_workload_request. */
ta_status {bundle}_workload_request(uint32_t task);

/* How many jobs of a task were on time, late, dropped, and the longest times; NULL for an unknown task. */
const ta_task_counts *{bundle}_workload_counts(uint32_t task);

/* Wait for what is in flight, and forget all jobs. See ta_workload_stop. */
ta_status {bundle}_workload_stop(void);"""

_WRITE = """\
write the inputs of a job when it begins, and
 * read its outputs when it is over: between that, and at no other time, its bytes are its own."""
_LEND = """\
lend memory for the inputs and outputs of a
 * job when it begins, and have it back when it is over: between that inputs must not change, and outputs must
 * not be touched."""

_FUNCTIONS = """
ta_status {bundle}_workload_start(const ta_workload_hooks *hooks)
{{
{start}
}}

ta_status {bundle}_workload_turn(uint32_t *sleep_us)
{{
    return ta_workload_turn(&workload, sleep_us);
}}

ta_status {bundle}_workload_request(uint32_t task)
{{
    return ta_workload_request(&workload, task);
}}

const ta_task_counts *{bundle}_workload_counts(uint32_t task)
{{
    return ta_workload_counts(&workload, task);
}}

ta_status {bundle}_workload_stop(void)
{{
    return ta_workload_stop(&workload);
}}"""


_START = """\
    return ta_workload_start(&workload, &{bundle}_models, &schedule, states, lines, progress, hooks);"""
_CHECKED_START = (
    """\
#ifdef TA_INPUTS_CHECK
    const ta_workload_hooks none = {{NULL, NULL, NULL}};
    const ta_workload_hooks asked = hooks != NULL ? *hooks : none;
    const ta_workload_hooks checked = {{begin, asked.end, asked.context}};
    const ta_status status =
        ta_workload_start(&workload, &{bundle}_models, &schedule, states, lines, progress, &checked);
    if (status == TA_OK)
        callers = asked;
    return status;
#else
"""
    + _START
    + """
#endif"""
)


def workload_declarations(inputs: EmitInputs, timed: TimedTasks) -> str:
    """The declarations for the header of the bundle."""
    told = (
        f" *   {comment(each.task.name)}: {duration((each.worst or 0) / PICO)}"
        f" of {duration(each.task.timing.deadline / PICO)}"
        for each in timed.analysis.responses
    )
    names = (
        f"{inputs.stem.upper()}_TASK_{member.stem.upper()} = {number}"
        for number, member in enumerate(inputs.members)
    )
    hooks = _LEND if inputs.lends else _WRITE
    return _DECLARATIONS.format(
        bundle=inputs.stem, tasks="\n".join(told), numbers=", ".join(names), hooks=hooks
    )


def workload_source(inputs: EmitInputs, timed: TimedTasks) -> str:
    """The C text."""
    out, count = Emitter(), len(timed.tasks)
    out.line(f"/* The workload of `{comment(inputs.name)}`: when its models run. */")
    out.lines((f"#include <{inputs.soc.name}_soc.h>", f"#include <{inputs.stem}.h>", ""))
    out.lines(('#include "target_arch/workload.h"', "", f'#include "{inputs.stem}_internal.h"', ""))
    out.lines(("static const ta_task tasks[] = {", *map(_task, timed.tasks), "};", ""))
    table = timed.analysis.table
    if table is not None:
        loads = [_loads(inputs, number) for number in range(count)]
        rows = (
            f"    {{{ceil(slot.start / MICROSECOND)}u, {slot.due // MICROSECOND}u, {slot.task}, "
            f"{loads[slot.task] + slot.first}, {loads[slot.task] + slot.past}}},"
            for slot in table.slots
        )
        out.lines(("static const ta_slot slots[] = {", *rows, "};", ""))
    else:
        rows = (f"    {{{_row(waits, count)}}}," for waits in timed.analysis.waits)
        out.lines((f"static const uint8_t waits[{count}][{count}] = {{", *rows, "};", ""))
    lending = "&ta_lending_of_caller" if inputs.lends else "NULL"
    when = (
        f"waits[0], NULL, {count}, 0, 0u"
        if table is None
        else f"NULL, slots, {count}, {len(table.slots)}, {table.hyperperiod // MICROSECOND}u"
    )
    out.line(f"static const ta_schedule schedule = {{tasks, {when}, {lending}}};")
    timelines = f"{inputs.soc.name.upper()}_TIMELINE_COUNT"
    out.line(f"static ta_task_state states[{count}];")
    out.line(f"static ta_line lines[{timelines}];")
    out.line(f"static ta_progress progress[{count} * {timelines}];")
    out.line("static ta_workload workload;")
    hook = promises.hooks_check(inputs.members)
    out.lines(hook)
    start = (_CHECKED_START if hook else _START).format(bundle=inputs.stem)
    out.block(_FUNCTIONS.format(bundle=inputs.stem, start=start))
    return out.text()


def _task(task: TimedTask) -> str:
    timing = task.timing
    times = ", ".join(f"{time // MICROSECOND}u" for time in (timing.period, timing.deadline, timing.offset))
    rule, demand = _RULES[timing.overload], int(timing.demand)
    return (
        f"    {{{times}, {timing.priority}, {timing.places}, {rule}, {demand}}}, /* {comment(task.name)} */"
    )


def _row(waits: Collection[int], count: int) -> str:
    """Whether a task waits for each of all."""
    return ", ".join(str(int(other in waits)) for other in range(count))


def _loads(inputs: EmitInputs, number: int) -> int:
    steps = inputs.members[number].lowered.steps.steps
    return sum(isinstance(step, Load) for step in steps)
