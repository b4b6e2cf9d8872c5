"""The C text of the functions for frames in flight: of the header and of the source."""

from collections.abc import Mapping, Sequence

from target_arch.emit.model.inputs import Member, Terminal, terminals
from target_arch.emit.model.naming import pipeline_symbol
from target_arch.plan.frames import FramePipeline
from target_arch.plan.memory import BufferKind
from target_arch.plan.printed.reasoning import duration

_CONTRACT = """
/* Frames in flight: up to {frames} at a time, and one that waits to be started. By the costs that it was
 * planned with, a result comes every {period}, {latency} after its frame was started; {model}_run
 * takes {alone}.
 *
 * {model}_submit copies the inputs, {model}_result the outputs: memory of the caller is in use
 * during these calls alone. Results come in the order of the frames, each with the status of its own frame.
 * An event loop calls
 *
 *   {model}_submit   with every frame; TA_ERROR_BUSY: full, submit it again later
 *   {model}_poll     whenever something may have happened; it never waits
 *   {model}_result   until it answers TA_ERROR_BUSY or TA_ERROR_STATE
 *
 * and a program that has nothing else to do calls {model}_wait, which sleeps as the port does. While
 * frames are in flight {model}_run answers TA_ERROR_STATE; what it left in its inputs and outputs is
 * lost when a frame is submitted. No function of this header may be called from an interrupt; a call from a
 * second thread while one is at work is refused with TA_ERROR_STATE. For all answers see
 * target_arch/frames.h. */
typedef struct {model}_frame_inputs {{
{inputs}
}} {model}_frame_inputs;

/* Where results go; NULL for an output that is not wanted. */
typedef struct {model}_frame_outputs {{
{outputs}
}} {model}_frame_outputs;

/* Take a frame; `number` (may be NULL) is how many came before it. See ta_frames_submit. */
ta_status {model}_submit(const {model}_frame_inputs *inputs, uint32_t *number);

/* Go on without waiting. TA_OK: there may be a result, or nothing is in flight; TA_ERROR_BUSY: poll again.
 * See ta_frames_poll. */
ta_status {model}_poll(void);

/* As poll, but wait until the oldest frame is over. See ta_frames_wait. */
ta_status {model}_wait(void);

/* Take the result of the oldest frame, and its status. `frame` (may be NULL) says which frame it is, and
 * what failed. See ta_frames_result. */
ta_status {model}_result(const {model}_frame_outputs *outputs, ta_frame *frame);"""

_STATES = """

/* After a frame failed, all behind it answer TA_ERROR_STATE, as the states are undefined. When all results
 * were taken: give every state its initial value, and take frames again. TA_ERROR_STATE: too early. */
ta_status {model}_recover(void);"""


def declarations(member: Member, pipeline: FramePipeline) -> str:
    """The contract and the declarations of the header."""
    ins, outs = _split(member)
    text = _CONTRACT + (_STATES if pipeline.order.states else "")
    return text.format(
        model=member.stem,
        frames=pipeline.frames,
        period=duration(pipeline.period),
        latency=duration(pipeline.latency),
        alone=duration(pipeline.alone),
        inputs="\n".join(f"    const {one.c_type} *{one.member};" for one in ins),
        outputs="\n".join(f"    {one.c_type} *{one.member};" for one in outs),
    )


def functions(member: Member, pipeline: FramePipeline) -> Mapping[str, tuple[str, ...]]:
    """The statements of the functions by signature."""
    model = member.stem
    ins, outs = _split(member)
    found = {
        f"ta_status {model}_submit(const {model}_frame_inputs *inputs, uint32_t *number)": (
            "if (inputs == NULL)",
            "    return TA_ERROR_ARGUMENT;",
            "const void *const starts[] = {",
            *(f"    inputs->{one.member}," for one in ins),
            "};",
            "return ta_frames_submit(&frames, starts, number);",
        ),
        f"ta_status {model}_poll(void)": ("return ta_frames_poll(&frames);",),
        f"ta_status {model}_wait(void)": ("return ta_frames_wait(&frames);",),
        f"ta_status {model}_result(const {model}_frame_outputs *outputs, ta_frame *frame)": (
            f"const {model}_frame_outputs none = {{{', '.join('NULL' for _ in outs)}}};",
            f"const {model}_frame_outputs *to = outputs == NULL ? &none : outputs;",
            "void *const starts[] = {",
            *(f"    to->{one.member}," for one in outs),
            "};",
            "return ta_frames_result(&frames, starts, frame);",
        ),
    }
    if pipeline.order.states:
        found[f"ta_status {model}_recover(void)"] = (
            "const ta_status status = ta_frames_recover(&frames);",
            "if (status == TA_OK)",
            f"    {model}_reset();",
            "return status;",
        )
    return found


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
