"""`src/runner.c`: a program that reads frames until they end, and writes the outputs of each.

A frame has the inputs of every model, which run in turn.
"""

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.programs import bare_metal, host
from target_arch.emit.programs.buffers import lent_buffers
from target_arch.emit.programs.frames import frame_functions, reader, writer
from target_arch.emit.programs.streaming import streaming
from target_arch.emit.programs.turns import in_turn, names, run
from target_arch.emit.text.emitter import Emitter

_END = " */"
_END_OF_SEVERAL = "\n * A frame is one of each of these models, which run in turn. */"


def runner_source(inputs: EmitInputs) -> str:
    """The C text."""
    machine = inputs.port.bare_metal is not None
    out = Emitter()
    if machine:
        _machine_head(out, inputs)
    else:
        _host_head(out, inputs)
    for member in inputs.members:
        lent_buffers(out, member)
        frame_functions(out, inputs, member)
        if inputs.has_frames and inputs.port.hosted.simulates:
            streaming(out, inputs, member)
    out.lines(("", "int main(void);") if machine else ("",))
    out.lines((f"int main({'int argc, char **argv' if inputs.port.hosted.simulates else 'void'})", "{"))
    with out.indent():
        if machine:
            _machine_body(out, inputs)
        else:
            _host_body(out, inputs)
    out.line("}")
    return out.text()


def _head(out: Emitter, inputs: EmitInputs, head: str) -> None:
    end = _END_OF_SEVERAL if inputs.several else _END
    out.block(head.format(names=names(inputs.members)) + end)


def _host_head(out: Emitter, inputs: EmitInputs) -> None:
    _head(out, inputs, host.RUNNER_HEAD)
    out.line("#include <stdio.h>")
    if inputs.port.hosted.simulates:
        out.lines(("#include <stdlib.h>", "#include <string.h>"))
    out.lines(("", f"#include <{inputs.stem}.h>"))
    if inputs.port.hosted.simulates or inputs.port.hosted.complains:
        out.lines(("", inputs.port.include))
    if inputs.port.hosted.simulates:
        out.block(host.arguments(inputs))
    out.block(host.failed(inputs, "(int)status"))


def _machine_head(out: Emitter, inputs: EmitInputs) -> None:
    _head(out, inputs, bare_metal.RUNNER_HEAD)
    out.lines((f"#include <{inputs.stem}.h>", "", inputs.port.include))
    out.lines(bare_metal.bundles(inputs))
    out.block(bare_metal.profile(inputs))
    out.block(bare_metal.failed(inputs, "(int)status"))


def _host_body(out: Emitter, inputs: EmitInputs) -> None:
    out.lines(("int frame;", "ta_status status;"))
    if inputs.port.hosted.simulates:
        out.lines(("if (!arguments(argc, argv))", "    return 65;"))
    out.line(f"status = {inputs.stem}_init(&ta_port_{inputs.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    if inputs.has_frames and inputs.port.hosted.simulates:
        out.lines(("if (in_flight && (frame = stream()) != 0)", "    return frame;"))
    _loop(out, inputs)
    out.line(f"status = {inputs.stem}_stop();")
    out.line("return frame < 0 || fflush(stdout) != 0 ? 64 : (int)status;")


def _machine_body(out: Emitter, inputs: EmitInputs) -> None:
    port = inputs.port.prefix
    out.line(f'int frames = {port}_open("frames", 0), results = {port}_open("results", 1), frame;')
    out.line(f"ta_status status = {inputs.stem}_init(&ta_port_{inputs.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    out.lines(("if (frames < 0 || results < 0)", "    return 64;"))
    _loop(out, inputs, ("uint32_t word;", "uint64_t since;", *bare_metal.CLEAR.split("\n")))
    out.line(f"status = {inputs.stem}_stop();")
    out.lines((f"if (frame < 0 || {port}_close(results) != 0 || !write_profile())", "    return 64;"))
    out.line("return (int)status;")


def _loop(out: Emitter, inputs: EmitInputs, begin: tuple[str, ...] = ()) -> None:
    """A round for each frame; reading the first model's inputs tells whether there is one."""
    first = inputs.members[0]

    def read(member: Member) -> list[str]:
        if member is first:
            return []
        return [f"if ({reader(inputs, member)} != 1)", "    return 64;"]

    def write(member: Member) -> list[str]:
        return [f"if (!{writer(inputs, member)})", "    return 64;"]

    out.line(f"while ((frame = {reader(inputs, first)}) == 1) {{")
    with out.indent():
        out.lines(begin)
        out.lines(in_turn(inputs, inputs.members, (read, lambda member: run(inputs, member), write)))
    out.line("}")
