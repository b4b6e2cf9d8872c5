"""`src/<bundle>_deadline.c`: when each step has to be over, for a program that asks for it."""

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.naming import bundle_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.emit.text.names import comment
from target_arch.plan.step_ends import whole_microseconds

_DECLARATION = """
/* From the next run on, every step has to end within `percent` % of the time that the plan has for it; the
 * run of the plan takes {times}. 0: no deadline. {margin}
 * TA_ERROR_TIMEOUT where it waited for an event. `next`, where it is not NULL, is called before every
 * step, as the runtime's `watch` would be. Call it between runs, after init. Statuses: see
 * deadline/deadline.h. */
ta_status {bundle}_deadline(uint32_t percent, ta_watch next, void *context);"""
_UNKNOWN_MARGIN = """The plan's times are a model of the chip, no worst case:
 * take the margin from measurements. A run that is late ends with TA_ERROR_DEADLINE, or with"""
_KNOWN_MARGIN = """By the worst times that the costs state,
 * every step is over within {percent} % and the time of what else the host does meanwhile. A run that is
 * late ends with TA_ERROR_DEADLINE, or with"""


def has_deadlines(inputs: EmitInputs) -> bool:
    """Whether there is a simulated run of every model."""
    return all(member.due for member in inputs.members)


def deadline_declaration(inputs: EmitInputs) -> str:
    """The declaration for the header; nothing where nothing was simulated."""
    if not has_deadlines(inputs):
        return ""
    each = [f"{_microseconds(member)[-1]} us" for member in inputs.members]
    named = [f"{time} (`{comment(member.name)}`)" for time, member in zip(each, inputs.members, strict=True)]
    times = ", ".join(named if inputs.several else each)
    return _DECLARATION.format(bundle=inputs.stem, times=times, margin=_margin(inputs))


def _margin(inputs: EmitInputs) -> str:
    """The sentences about the margin that steps need."""
    percents = [member.worst_percent for member in inputs.members if member.worst_percent is not None]
    if len(percents) < len(inputs.members):
        return _UNKNOWN_MARGIN
    return _KNOWN_MARGIN.format(percent=max(percents))


def deadline_source(inputs: EmitInputs) -> str:
    """The C text: a table for every model, and the function that has them watched."""
    out = Emitter()
    out.line(f"/* When the steps of `{comment(inputs.name)}` have to be over, in the simulated run. */")
    out.lines((f"#include <{inputs.stem}.h>", "", '#include "deadline/deadline.h"'))
    out.lines((f'#include "{inputs.stem}_internal.h"', ""))
    for member in inputs.members:
        out.line(
            "/* Microseconds to the end of each step, or of the next that is waited for; then of the run. */"
        )
        out.line(f"static const uint32_t {member.stem}_due_us[] = {{")
        with out.indent():
            out.wrapped(Listing.of(map(str, _microseconds(member))))
        out.lines(("};", ""))
    rows = [f"{{&{bundle_symbol(member)}, {member.stem}_due_us}}," for member in inputs.members]
    out.line("static const ta_due due[] = {")
    with out.indent():
        out.lines(rows)
    out.lines(("};", "", "static ta_deadline deadline;", ""))
    out.line(f"ta_status {inputs.stem}_deadline(uint32_t percent, ta_watch next, void *context)")
    out.line("{")
    with out.indent():
        out.lines(("deadline.next = next;", "deadline.next_context = context;"))
        out.line(f"return ta_deadline_set(&deadline, {inputs.stem}_runtime(), due, {len(rows)}, percent);")
    out.line("}")
    return out.text()


def _microseconds(member: Member) -> list[int]:
    return [whole_microseconds(end) for end in member.due]
