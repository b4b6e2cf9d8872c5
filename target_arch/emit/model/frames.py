"""The C text of the functions for frames in flight: of the header and of the source."""

from collections.abc import Mapping, Sequence

from target_arch.emit.model import promises
from target_arch.emit.model.inputs import Member, Terminal, terminals
from target_arch.emit.model.lent import io_type
from target_arch.emit.model.naming import pipeline_symbol
from target_arch.plan.frames import FramePipeline
from target_arch.plan.memory import BufferKind
from target_arch.plan.printed.reasoning import duration

_CONTRACT = """
/* Frames in flight: up to {frames} at a time, and one that waits to be started. By the costs that it was
 * planned with, a result comes every {period}, {latency} after its frame was started; {model}_run
 * takes {alone}.
 *
{ownership} Results come in the order of the frames, each with the status of its own frame.
 * An event loop calls
 *
 *   {model}_submit   with every frame; TA_ERROR_BUSY: full, submit it again later
 *   {model}_poll     whenever something may have happened; it never waits
 *   {model}_result   until it answers TA_ERROR_BUSY or TA_ERROR_STATE
 *
 * and a program that has nothing else to do calls {model}_wait, which sleeps as the port does. So that
 * frames follow each other at once, submit the next one before every call of {model}_poll or
 * {model}_wait: as soon as one is started there is a place for it. Or call {model}_exchange
 * with each: it takes a frame, and gives the oldest result, in the shortest time. While
 * frames are in flight {model}_run answers TA_ERROR_STATE{calls}
 * second thread while one is at work is refused with TA_ERROR_STATE. For all answers see
 * target_arch/frames.h. */{types}

/* Take a frame; `number` (may be NULL) is how many came before it. See ta_frames_submit. */
ta_status {submit};

/* Go on without waiting. TA_OK: there may be a result, or a frame would be started now, or nothing is in
 * flight; TA_ERROR_BUSY: poll again. See ta_frames_poll. */
ta_status {model}_poll(void);

/* As poll, but wait until the oldest frame is over, or, after TA_ERROR_BUSY of {model}_submit, until there
 * is a place for the next one. See ta_frames_wait. */
ta_status {model}_wait(void);

/* Take the result of the oldest frame, and its status. `frame` (may be NULL) says which frame it is, and
 * what failed. See ta_frames_result. */
ta_status {result};

/* Both at once: take a frame, go on until there is a place for the next one, and give the result of the
 * oldest one if it is over, else `frame->status` is TA_ERROR_BUSY. NULL for the frame: take none, and wait
 * for the oldest one. What is returned is about the frame that is taken. See ta_frames_exchange. */
ta_status {exchange};"""

_COPIES = """\
 * {model}_submit copies the inputs, {model}_result the outputs: memory of the caller is in use
 * during these calls alone."""
_LENDS = """\
 * Inputs and outputs are memory of the caller, which nothing is copied from or to: {model}_submit lends
 * it, each frame its own, and {model}_result gives it back. From TA_OK of the one until the other has
 * answered for the frame, inputs must not change, not even by a DMA engine that records the next ones, and
 * outputs must not be touched; when the device of a frame had to be cancelled, until {model}_stop. So that
 * as many frames can be in flight as may be, a program has memory for {sets} of them. Inputs of several
 * frames may be the same bytes; outputs share none with anything else that is lent. Compiled with
 * -DTA_LENT_CHECK, {model}_result answers TA_ERROR_CORRUPT for a frame whose inputs have changed.
 *"""

_CALLS = """. No function of this header may be
 * called from an interrupt; a call from a"""
_CALLS_AFTER_RUN = """; what it left in its inputs and outputs is
 * lost when a frame is submitted. No function of this header may be called from an interrupt; a call from a\
"""

_TYPES = """
typedef struct {model}_frame_inputs {{
{inputs}
}} {model}_frame_inputs;

/* Where results go; NULL for an output that is not wanted. */
typedef struct {model}_frame_outputs {{
{outputs}
}} {model}_frame_outputs;"""

_STATES = """

/* After a frame failed, all behind it answer TA_ERROR_STATE, as the states are undefined. When all results
 * were taken: give every state its initial value, and take frames again. TA_ERROR_STATE: too early. */
ta_status {model}_recover(void);"""


def declarations(member: Member, pipeline: FramePipeline) -> str:
    """The contract and the declarations of the header."""
    submit, result, exchange = _signatures(member)
    ownership = _LENDS if member.lends else _COPIES
    text = _CONTRACT + (_STATES if pipeline.order.states else "")
    return text.format(
        model=member.stem,
        frames=pipeline.frames,
        period=duration(pipeline.period),
        latency=duration(pipeline.latency),
        alone=duration(pipeline.alone),
        ownership=ownership.format(model=member.stem, sets=held_at_once(pipeline)),
        calls=_CALLS if member.lends else _CALLS_AFTER_RUN,
        types="" if member.lends else _types(member),
        submit=submit,
        result=result,
        exchange=exchange,
    )


def held_at_once(pipeline: FramePipeline) -> int:
    """The most frames that a caller has memory lent for: those in flight, one that is over and whose result
    was not taken, and one that waits to be started.
    """
    return pipeline.frames + 2


def _types(member: Member) -> str:
    """The types of what is copied."""
    ins, outs = _split(member)
    return _TYPES.format(
        model=member.stem,
        inputs="\n".join(f"    const {one.c_type} *{one.member};" for one in ins),
        outputs="\n".join(f"    {one.c_type} *{one.member};" for one in outs),
    )


def _signatures(member: Member) -> tuple[str, str, str]:
    """The signatures of the functions that take a frame, give a result, and do both."""
    model = member.stem
    if member.lends:
        given, taken = f"const {io_type(member)} *io", "ta_frame *frame"
    else:
        given = f"const {model}_frame_inputs *inputs"
        taken = f"const {model}_frame_outputs *outputs, ta_frame *frame"
    return (
        f"{model}_submit({given}, uint32_t *number)",
        f"{model}_result({taken})",
        f"{model}_exchange({given}, {taken})",
    )


def functions(member: Member, pipeline: FramePipeline) -> Mapping[str, tuple[str, ...]]:
    """The statements of the functions by signature."""
    model = member.stem
    submit, result, exchange = _signatures(member)
    found = {
        f"ta_status {submit}": _submit(member),
        f"ta_status {model}_poll(void)": ("return ta_frames_poll(&frames);",),
        f"ta_status {model}_wait(void)": ("return ta_frames_wait(&frames);",),
        f"ta_status {result}": _result(member),
        f"ta_status {exchange}": _exchange(member),
    }
    if pipeline.order.states:
        found[f"ta_status {model}_recover(void)"] = (
            "const ta_status status = ta_frames_recover(&frames);",
            "if (status == TA_OK)",
            f"    {model}_reset();",
            "return status;",
        )
    return found


def _submit(member: Member) -> tuple[str, ...]:
    return (
        f"if ({_given(member)} == NULL)",
        "    return TA_ERROR_ARGUMENT;",
        *_starts(member),
        *promises.given_body(member, _given(member), "ta_frames_submit(&frames, starts, number)"),
    )


def _result(member: Member) -> tuple[str, ...]:
    ends, where = _ends(member)
    return (*ends, f"return ta_frames_result(&frames, {where}, frame);")


def _exchange(member: Member) -> tuple[str, ...]:
    ends, where = _ends(member)
    call = f"ta_frames_exchange(&frames, {{}}, {where}, frame)"
    return (
        *ends,
        f"if ({_given(member)} == NULL)",
        f"    return {call.format('NULL')};",
        *_starts(member),
        *promises.given_body(member, _given(member), call.format("starts")),
    )


def _given(member: Member) -> str:
    """The argument with a frame."""
    return "io" if member.lends else "inputs"


def _starts(member: Member) -> tuple[str, ...]:
    """Where a frame is: its inputs, and its outputs where they are lent."""
    given = terminals(member) if member.lends else _split(member)[0]
    return (
        "const void *const starts[] = {",
        *(f"    {_given(member)}->{one.member}," for one in given),
        "};",
    )


def _ends(member: Member) -> tuple[tuple[str, ...], str]:
    """Where outputs are copied to: statements, and what they define."""
    if member.lends:
        return (), "NULL"
    _, outs = _split(member)
    text = (
        f"const {member.stem}_frame_outputs none = {{{', '.join('NULL' for _ in outs)}}};",
        f"const {member.stem}_frame_outputs *to = outputs == NULL ? &none : outputs;",
        "void *const ends[] = {",
        *(f"    to->{one.member}," for one in outs),
        "};",
    )
    return text, "ends"


DECLARATION = "static ta_frames frames;"


def init(member: Member) -> tuple[str, ...]:
    """The statements that follow the runtime's init, whose answer is in `status`."""
    return (
        "if (status != TA_OK)",
        "    return status;",
        f"status = ta_frames_init(&frames, &{pipeline_symbol(member)}, &runtime);",
        "if (status != TA_OK) {",
        "    (void)ta_stop(&runtime);",
        "    return status;",
        "}",
    )


STOP = (
    "const ta_status status = ta_frames_stop(&frames);",
    "return status != TA_OK ? status : ta_stop(&runtime);",
)


def _split(member: Member) -> tuple[Sequence[Terminal], Sequence[Terminal]]:
    every = terminals(member)
    ins = [one for one in every if one.kind == BufferKind.INPUT]
    return ins, [one for one in every if one.kind != BufferKind.INPUT]
