"""The function that gives a model's states their initial values."""

from target_arch.emit.model.arenas import Arenas
from target_arch.emit.model.inputs import Member
from target_arch.emit.model.naming import bundle_symbol
from target_arch.plan.memory import Buffer

RESET = """
/* Give every state its initial value, as init does: the next run is the first of a new sequence. Needed after
 * a run that failed, which leaves the states undefined. Not while the model runs. The states:{states}
 */
void {model}_reset(void);"""


def reset_signature(member: Member) -> str:
    """The signature of its definition."""
    return f"void {member.stem}_reset(void)"


def reset_body(member: Member, arenas: Arenas) -> tuple[str, ...]:
    """Its statements; they need `string.h`."""
    buffers = {buffer.name: buffer for buffer in member.lowered.plan.buffers}
    lines: list[str] = []
    for state in member.lowered.steps.states:
        size = buffers[state.now].bytes
        there = _pointer(member, arenas, buffers[state.now])
        if state.initial is None:
            lines.append(f"(void)memset({there}, 0, {size}u);")
        else:
            source = _pointer(member, arenas, buffers[state.initial])
            lines += [f"(void)memcpy({there},", f"             {source}, {size}u);"]
    return tuple(lines)


def _pointer(member: Member, arenas: Arenas, buffer: Buffer) -> str:
    return f"ta_pointer(&{bundle_symbol(member)}, (ta_ref){arenas.ref(buffer.name)})"
