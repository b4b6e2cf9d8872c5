"""The functions with which a runner reads the inputs of a frame and writes the outputs of one model."""

from target_arch.emit.model.inputs import EmitInputs, Member, Terminal, terminals
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.memory import BufferKind


def split(member: Member) -> tuple[tuple[Terminal, ...], tuple[Terminal, ...]]:
    """The inputs and the outputs of a model."""
    every = terminals(member)
    ins = tuple(terminal for terminal in every if terminal.kind == BufferKind.INPUT)
    return ins, every[len(ins) :]


def reader(inputs: EmitInputs, member: Member) -> str:
    """The call that reads the inputs of a model."""
    return f"read_{inputs.prefix(member)}frame({'frames' if inputs.port.bare_metal else ''})"


def writer(inputs: EmitInputs, member: Member) -> str:
    """The call that writes the outputs of a model."""
    return f"write_{inputs.prefix(member)}frame({'results' if inputs.port.bare_metal else ''})"


def frame_functions(out: Emitter, inputs: EmitInputs, member: Member) -> None:
    """The functions that `reader` and `writer` call: on standard input and output, or on files of the
    computer that emulates the machine, which they are given open.
    """
    name = f"{inputs.prefix(member)}frame"
    machine = inputs.port.prefix if inputs.port.bare_metal else None
    ins, outs = split(member)
    kind, frames, results = "size_t", "void", "void"
    if machine:
        kind, frames, results = "int32_t", "int frames", "int results"
    out.lines(("", "/* 1: all read, 0: the end, -1: cut short. */", f"static int read_{name}({frames})", "{"))
    with out.indent():
        if ins:
            out.line(f"{kind} got = 0;")
        else:
            out.lines(_without_inputs(inputs, member))
        out.lines(f"got += {_transfer('read', one, machine)};" for one in ins)
        if ins:
            out.line(f"return got == {_bytes(ins, machine)} ? 1 : got == 0 ? 0 : -1;")
    out.lines(("}", "", f"static int write_{name}({results})", "{"))
    with out.indent():
        out.line(f"{kind} put = 0;")
        out.lines(f"put += {_transfer('write', one, machine)};" for one in outs)
        out.line(f"return put == {_bytes(outs, machine)};")
    out.line("}")


def _without_inputs(inputs: EmitInputs, member: Member) -> tuple[str, ...]:
    """The body of a reader without inputs. That of the first model says whether there is a frame: one, or
    as many as others have inputs for.
    """
    unused = ("(void)frames;",) if inputs.port.bare_metal else ()
    if member is not inputs.members[0]:
        return (*unused, "return 1;")
    if inputs.port.bare_metal or not any(split(each)[0] for each in inputs.members):
        return ("static int left = 1;", *unused, "return left-- > 0;")
    return ("int next = getc(stdin);", "return ungetc(next, stdin) != EOF;")


def _transfer(verb: str, one: Terminal, machine: str | None) -> str:
    """The call that reads or writes the bytes of one input or output.

    `machine` is the prefix of the port's functions, where files are those of the emulating computer.
    """
    if machine:
        file = "frames" if verb == "read" else "results"
        return f"{machine}_{verb}({file}, {one.place}, {one.macro}_BYTES)"
    stream = "stdin" if verb == "read" else "stdout"
    return f"f{verb}({one.place}, 1, {one.macro}_BYTES, {stream})"


def _bytes(terminals: tuple[Terminal, ...], machine: str | None) -> str:
    """The sum of their sizes in bytes, as a C expression."""
    cast = "(int32_t)" if machine else ""
    return " + ".join(f"{cast}{terminal.macro}_BYTES" for terminal in terminals)
