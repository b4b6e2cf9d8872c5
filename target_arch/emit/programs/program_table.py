"""`src/program_table.h`: what runner and self-test know about their bundle.

`runtime_c/programs/program.h` says what it has to define.
"""

from collections.abc import Iterable, Mapping, Sequence

from target_arch.emit.model.frames import held_at_once
from target_arch.emit.model.inputs import EmitInputs, Member, Terminal, terminals
from target_arch.emit.model.lent import io_type
from target_arch.emit.model.naming import bundle_symbol
from target_arch.emit.programs.buffers import lent_buffers, run_call
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.memory import BufferKind
from target_arch.plan.model_pools import Sharing

PROFILE_HEAD = 3
"""Words of 64 bits in a profile before those of the steps: ticks of the last run, bytes of the stack used,
bytes it has."""

_RESULT = (
    "ta_frame frame = {0, TA_OK, 0};",
    "const ta_status status = {model}_result({outputs}&frame);",
    "*number = frame.number;",
    "*failed_step = frame.failed_step;",
    "return status;",
)


def program_table(inputs: EmitInputs) -> str:
    """The C text."""
    guard = f"{inputs.stem.upper()}_PROGRAM_TABLE_H"
    out = Emitter()
    out.line(f"/* What runner and self-test know about `{comment(inputs.name)}`. */")
    out.lines((f"#ifndef {guard}", f"#define {guard}", "", f"#include <{inputs.stem}.h>", ""))
    hosted = inputs.port.hosted
    if inputs.port.bare_metal or hosted.simulates or hosted.complains:
        out.line(inputs.port.include)
    out.lines(('#include "programs/program.h"', ""))
    out.lines(f"#define TA_PROGRAM_{name} {value}" for name, value in _macros(inputs).items())
    _models(out, inputs)
    _lifecycle(out, inputs)
    if inputs.has_frames and hosted.simulates:
        (streamed,) = inputs.members
        _flight(out, streamed)
    services = "machine" if inputs.port.bare_metal else "hosted"
    out.lines(("", f'#include "programs/{services}.h"', "", "#endif"))
    return out.text()


def split(member: Member) -> tuple[tuple[Terminal, ...], tuple[Terminal, ...]]:
    """The inputs and the outputs of a model."""
    every = terminals(member)
    ins = tuple(terminal for terminal in every if terminal.kind == BufferKind.INPUT)
    return ins, every[len(ins) :]


def _macros(inputs: EmitInputs) -> Mapping[str, str]:
    macros = {
        "MODELS": f"{len(inputs.members)}u",
        "SEPARATE": f"{inputs.pools.arenas != Sharing.SHARED:d}",
        "STEPS": f"{sum(len(member.lowered.steps.steps) for member in inputs.members)}u",
    }
    if inputs.port.prefix:
        macros["PORT(name)"] = f"{inputs.port.prefix}_##name"
    return macros | ({"SIMULATES": "1"} if inputs.port.hosted.simulates else {})


def _models(out: Emitter, inputs: EmitInputs) -> None:
    """The tables of all models, and the functions that run and reset each."""
    out.line()
    out.lines(f"extern const ta_bundle {bundle_symbol(member)};" for member in inputs.members)
    bundles = [f"&{bundle_symbol(member)}," for member in inputs.members]
    out.table("static const ta_bundle *const ta_program_bundles", bundles)
    for member in inputs.members:
        lent_buffers(out, member)
        if member.lends:
            memory = [f"{terminal.function}," for terminal in terminals(member)]
            out.table(f"static void *const {_memory(member)}", memory)
    out.table("static void *const *const ta_program_lent", [f"{_memory(each)}," for each in inputs.members])
    runs = [f"return {run_call(member)};" for member in inputs.members]
    others = [line for number, run in list(enumerate(runs))[1:] for line in _of_model(number, run)]
    _function(out, "ta_status ta_program_run(uint32_t model)", ("(void)model;", *others, runs[0]))
    states = [(number, member) for number, member in enumerate(inputs.members) if member.model.states]
    resets = [line for number, member in states for line in _of_model(number, f"{member.stem}_reset();")]
    _function(out, "void ta_program_reset(uint32_t model)", ("(void)model;", *resets))


def _memory(member: Member) -> str:
    return f"{member.stem}_memory" if member.lends else "NULL"


def _of_model(number: int, statement: str) -> tuple[str, str]:
    return f"if (model == {number}u)", f"    {statement}"


def _lifecycle(out: Emitter, inputs: EmitInputs) -> None:
    """The functions of the bundle, and those that say more about a failure."""
    stem, port = inputs.stem, inputs.port
    damaged = "NULL" if inputs.constants is ConstantsForm.TEXT else f"{stem}_damaged_weights()"
    complaint = f"{port.prefix}_complaint()" if port.hosted.complains else '""'
    for signature, value in {
        "ta_status ta_program_init(void)": f"{stem}_init(&ta_port_{port.name})",
        "ta_status ta_program_stop(void)": f"{stem}_stop()",
        "ta_runtime *ta_program_runtime(void)": f"{stem}_runtime()",
        "const char *ta_program_damaged_weights(void)": damaged,
        "const char *ta_program_complaint(void)": complaint,
    }.items():
        _function(out, signature, (f"return {value};",))


def _flight(out: Emitter, member: Member) -> None:
    """The memory of a model's frames in flight, and the functions on it."""
    if member.lends:
        _lent_frames(out, member)
    else:
        _copied_frames(out, member)
    for name in ("poll", "wait"):
        _function(out, f"ta_status ta_program_{name}(void)", (f"return {member.stem}_{name}();",))
    result = "ta_status ta_program_result(uint32_t *number, uint32_t *failed_step)"
    words = {"{model}": member.stem, "{outputs}": "" if member.lends else "&flying_outputs, "}
    _function(out, result, (_filled(line, words) for line in _RESULT))


def _filled(line: str, words: Mapping[str, str]) -> str:
    for word, text in words.items():
        line = line.replace(word, text)
    return line


def _copied_frames(out: Emitter, member: Member) -> None:
    """One set of memory, from and to which all frames are copied."""
    ins, outs = split(member)
    out.lines(("", "#define TA_PROGRAM_IN_FLIGHT 1", ""))
    for one in (*ins, *outs):
        out.line(f"static {one.c_type} {_flying(one)}[{one.macro}_ELEMENTS];")
    out.line()
    for kind, every in (("inputs", ins), ("outputs", outs)):
        memory = ", ".join(map(_flying, every))
        out.line(f"static const {member.stem}_frame_{kind} flying_{kind} = {{{memory}}};")
    _sets(out, [[_flying(one) for one in (*ins, *outs)]])
    submit = f"return {member.stem}_submit(&flying_inputs, NULL);"
    _function(out, "ta_status ta_program_submit(uint32_t set)", ("(void)set;", submit))


def _lent_frames(out: Emitter, member: Member) -> None:
    """A set of memory for every frame that is lent some, and for the one that is read."""
    assert member.lowered.frames is not None
    count, every = held_at_once(member.lowered.frames) + 1, terminals(member)
    out.lines(("", f"#define TA_PROGRAM_IN_FLIGHT {count}", ""))
    for number in range(count):
        for one in every:
            name = f"{_flying(one)}_{number}"
            out.line(f"static {one.c_type} {name}[{one.macro}_ROOM / sizeof({one.c_type})]")
            out.line(f"    TA_ALIGNED({one.macro}_ALIGNMENT);")
    sets = [[f"{_flying(one)}_{number}" for one in every] for number in range(count)]
    out.table(f"static const {io_type(member)} flying", [f"{{{', '.join(names)}}}," for names in sets])
    _sets(out, sets)
    submit = f"return {member.stem}_submit(&flying[set], NULL);"
    _function(out, "ta_status ta_program_submit(uint32_t set)", (submit,))


def _sets(out: Emitter, sets: Sequence[Sequence[str]]) -> None:
    out.lines(("", f"static void *const ta_program_flying[][{len(sets[0])}] = {{"))
    with out.indent():
        out.lines(f"{{{', '.join(names)}}}," for names in sets)
    out.line("};")


def _flying(one: Terminal) -> str:
    return f"flying_{one.member}"


def _function(out: Emitter, signature: str, statements: Iterable[str]) -> None:
    out.lines(("", f"static inline {signature}", "{"))
    with out.indent():
        out.lines(statements)
    out.line("}")
