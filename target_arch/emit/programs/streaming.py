"""The function with which a runner keeps frames in flight: `--in-flight`."""

from target_arch.emit.model.inputs import EmitInputs, Member, Terminal
from target_arch.emit.programs.frames import split
from target_arch.emit.text.emitter import Emitter

_STREAM = """
/* All frames, as many in flight as there may be. The exit code, or 0. */
static int stream(void)
{{
    const {model}_frame_inputs inputs = {{{inputs}}};
    const {model}_frame_outputs outputs = {{{outputs}}};
    ta_frame frame;
    int more = read_flying(), full, left = 0;
    while (more == 1 || left > 0) {{
        ta_status status = more == 1 ? {model}_submit(&inputs, NULL) : TA_ERROR_BUSY;
        full = status == TA_ERROR_BUSY;
        if (status == TA_OK) {{
            left++;
            more = read_flying();
        }} else if (!full)
            return failed("submit", status);
        status = full ? {model}_wait() : {model}_poll();
        if (status != TA_OK && status != TA_ERROR_BUSY)
            return failed("frames", status);
        while ((status = {model}_result(&outputs, &frame)) == TA_OK) {{
            left--;
            if (!write_flying())
                return 64;
        }}
        if (status != TA_ERROR_BUSY && left > 0) {{
            fprintf(stderr, "frame %lu: ", (unsigned long)frame.number);
            {model}_runtime()->failed_step = frame.failed_step;
            return failed("result", status);
        }}
    }}
    return more < 0 ? 64 : 0;
}}
"""


def streaming(out: Emitter, inputs: EmitInputs, member: Member) -> None:
    """The function and the memory of its frames."""
    ins, outs = split(member)
    out.line()
    for one in (*ins, *outs):
        out.line(f"static {one.c_type} {_memory(one)}[{one.macro}_ELEMENTS];")
    for verb, every, file in (("read", ins, "stdin"), ("write", outs, "stdout")):
        sizes = " + ".join(f"{one.macro}_BYTES" for one in every)
        out.lines(("", f"static int {verb}_flying(void)", "{"))
        with out.indent():
            out.line("size_t count = 0;")
            for one in every:
                out.line(f"count += f{verb}({_memory(one)}, 1, {one.macro}_BYTES, {file});")
            whole = f"count == {sizes}"
            out.line(f"return {whole} ? 1 : count == 0 ? 0 : -1;" if verb == "read" else f"return {whole};")
        out.line("}")
    out.block(
        _STREAM.format(
            model=member.stem,
            inputs=", ".join(map(_memory, ins)),
            outputs=", ".join(map(_memory, outs)),
        )
    )


def _memory(one: Terminal) -> str:
    return f"flying_{one.member}"
