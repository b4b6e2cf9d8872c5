"""The C text about inputs and outputs in memory of the caller: the value that a run takes, and the tables by
which the runtime knows its addresses.
"""

from collections.abc import Mapping, Sequence

from target_arch.emit.model import promises
from target_arch.emit.model.arenas import EmittedArena
from target_arch.emit.model.inputs import EmitInputs, Member, Terminal, terminals
from target_arch.emit.model.naming import bundle_symbol, soc_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import Copy, Dispatch
from target_arch.soc.rounding import round_up

HEAD = """\
/* The model `{name}` on {soc}.
 *
 * There is one of it per program. Inputs and outputs are memory of the caller, everything between is in
 * static memory. Calls come from one thread at a time and not from interrupts. Statuses are those of
 * target_arch/abi.h.
 */"""

SHARED = """\
 * They share their arenas. Inputs and outputs are memory of the caller."""

SEPARATE = """\
 * Their arenas are separate. Inputs and outputs are memory of the caller."""

_TYPE = """
/* The memory of a run. Each address is a multiple of its _ALIGNMENT, and _ROOM bytes from there on belong to
 * the run, of which _BYTES have the elements. Inputs are only read, and may share bytes. The bytes of an
 * output are no other member's. */"""

RUN = """
/* Execute the model once. Blocks until the outputs are there. `io` and the memory that it names are in use
 * until return, and if something had to be cancelled (see ta_run) the memory is until stop. Before return,
 * and after a failure, the outputs are undefined; inputs keep their bytes.
 * TA_ERROR_ARGUMENT: NULL, or memory other than asked for above (see ta_lend); nothing was run. For all else
 * see {run}. */
ta_status {model}_run(const {type} *io);"""


_LEND = """

/* Lend memory for a job: the hook `begin` of the workload calls it, for the job that begins. From TA_OK until
 * the hook `end` is called, or the workload is stopped, inputs must not change and outputs must not be
 * touched; after TA_ERROR_TIMEOUT until the bundle is stopped. Compiled with -DTA_LENT_CHECK, a job whose
 * inputs have changed ends with TA_ERROR_CORRUPT.
 *   TA_ERROR_ARGUMENT  as of run
 *   TA_ERROR_STATE     memory is lent already */
{signature};"""


def io_type(member: Member) -> str:
    """The C type of the value that a run takes."""
    return f"{member.stem}_io"


def run_signature(member: Member) -> str:
    """The signature of the function that runs a model."""
    return f"ta_status {member.stem}_run({f'const {io_type(member)} *io' if member.lends else 'void'})"


def lend_signature(member: Member) -> str:
    """The signature of the function that lends memory for a job of a workload."""
    return f"ta_status {member.stem}_lend(const {io_type(member)} *io)"


def declaration(inputs: EmitInputs, member: Member) -> str:
    """The definition of the type, and the declaration of the function, with the contracts of both."""
    every = {one: f"{pointee(one)} *{one.member};" for one in terminals(member)}
    width = max(map(len, every.values()))
    lines = [f"    {text:{width}} /* {_where(inputs, member, one)} */" for one, text in every.items()]
    called = "ta_models_run" if inputs.several else "ta_run"
    run = RUN.format(model=member.stem, type=io_type(member), run=called)
    run += _LEND.format(signature=lend_signature(member)) if inputs.timed is not None else ""
    return "\n".join((_TYPE, f"typedef struct {io_type(member)} {{", *lines, f"}} {io_type(member)};", run))


def pointee(terminal: Terminal) -> str:
    """The type of its elements for a caller: of arenas, outputs are only read; of what a caller lends, the
    model only reads inputs.
    """
    theirs = terminal.kind == BufferKind.OUTPUT
    return f"const {terminal.c_type}" if theirs != terminal.buffer.caller else terminal.c_type


def macros(out: Emitter, inputs: EmitInputs, terminal: Terminal) -> None:
    """Alignment and bytes of its memory."""
    if terminal.buffer.caller:
        room = round_up(terminal.buffer.bytes, inputs.soc.own_line(terminal.buffer.memory))
        out.line(f"#define {terminal.macro}_ALIGNMENT {terminal.buffer.alignment}u")
        out.line(f"#define {terminal.macro}_ROOM {room}u")


def _where(inputs: EmitInputs, member: Member, one: Terminal) -> str:
    if is_bound(inputs, member, one.buffer.name):
        return f"in memory `{comment(one.buffer.memory)}`"
    able = "reads" if one.kind == BufferKind.INPUT else "reads and writes"
    return f"in memory `{comment(one.buffer.memory)}`, or any other that the host {able}"


def functions(inputs: EmitInputs, member: Member, run: str) -> Mapping[str, tuple[str, ...]]:
    """The statements of the functions by signature; `run` is the call of the runtime."""
    if inputs.timed is None:
        return {run_signature(member): _run_body(inputs, member, run)}
    return {
        run_signature(member): (
            f"ta_status status = {member.stem}_lend(io);",
            "if (status == TA_OK) {",
            f"    status = {run};",
            f"    ta_give_back(&{bundle_symbol(member)});",
            "}",
            "return status;",
        ),
        lend_signature(member): _lend_body(inputs, member),
    }


def _run_body(inputs: EmitInputs, member: Member, run: str) -> tuple[str, ...]:
    bundle = bundle_symbol(member)
    return (
        "ta_status status = TA_ERROR_ARGUMENT;",
        "if (io != NULL) {",
        "    const void *const starts[] = {",
        *(f"        io->{one.member}," for one in terminals(member)),
        "    };",
        f"    status = ta_lend(&{bundle}, &{soc_symbol(inputs)}, starts);",
        "}",
        *promises.lent_check(member),
        "if (status == TA_OK)",
        f"    status = {run};",
        f"ta_give_back(&{bundle});",
        "return status;",
    )


def _lend_body(inputs: EmitInputs, member: Member) -> tuple[str, ...]:
    bundle = bundle_symbol(member)
    return (
        "if (io == NULL)",
        "    return TA_ERROR_ARGUMENT;",
        f"if (!ta_is_missing(&{bundle}))",
        "    return TA_ERROR_STATE;",
        "const void *const starts[] = {",
        *(f"    io->{one.member}," for one in terminals(member)),
        "};",
        *promises.given_body(member, "io", f"ta_lend(&{bundle}, &{soc_symbol(inputs)}, starts)"),
    )


def lent_tables(out: Emitter, inputs: EmitInputs, every: Sequence[EmittedArena]) -> None:
    """The table `lent`, and where addresses are kept during a run; nothing where all arenas are the
    bundle's.
    """
    lent = [arena for arena in every if arena.pool.caller]
    if not lent:
        return
    members = {member.name: member for member in inputs.members}
    rows = []
    for number, arena in enumerate(lent):
        ((_, buffer),) = arena.buffers
        written = int(buffer.kind == BufferKind.OUTPUT)
        bound = int(is_bound(inputs, members[arena.owner], _of_run(members[arena.owner], buffer.name)))
        note = comment(arena.name)
        rows.append(f"{{&starts[{number}], {buffer.alignment}, {written}, {bound}}}, /* {note} */")
    out.lines(("", f"static const void *starts[{len(lent)}];"))
    out.table("static const ta_lent lent", rows)


def _of_run(member: Member, buffer: str) -> str:
    """The buffer of a run that one of frames in flight is."""
    frames = member.lowered.frames
    return buffer if frames is None or buffer not in frames.buffers else frames.buffers[buffer].of


def is_bound(inputs: EmitInputs, member: Member, buffer: str) -> bool:
    """True where something else than the host touches the buffer, so that its memory matters."""
    for step in member.lowered.steps.steps:
        if isinstance(step, Copy) and step.event is not None:
            touched = {step.source.of, step.target.of}
        elif isinstance(step, Dispatch) and not inputs.soc.instance(step.instance).arch.host:
            touched = {operand.of for operand in step.operands}
        else:
            continue
        if buffer in touched:
            return True
    return False
