"""`src/test_vectors.h`: one input of every model that has a vector, and what the reference makes of it."""

from attrs import evolve

from target_arch.emit.model.inputs import EmitInputs, Member, SelfTest, Terminal, Tolerance
from target_arch.emit.programs.program_table import split
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import literals
from target_arch.emit.text.names import comment, string

VECTORS = "src/test_vectors.h"
"""Its path in a bundle."""


def test_vectors(inputs: EmitInputs) -> str:
    """The C text."""
    guard = f"{inputs.stem.upper()}_TEST_VECTORS_H"
    out = Emitter()
    out.line("/* One input of each model, and what the reference makes of it.")
    tested = [(member, member.self_test) for member in inputs.members if member.self_test is not None]
    for member, test in tested:
        out.line(f" * Reference of `{comment(member.name)}`: {comment(test.reference)}.")
    out.lines((" */", f"#ifndef {guard}", f"#define {guard}", "", '#include "program_table.h"'))
    out.line('#include "programs/elements.h"')
    for member, test in tested:
        _vector(out, inputs, member, test)
    numbers = (number for number, member in enumerate(inputs.members) if member.self_test is not None)
    rows = [_row(inputs, number) for number in numbers]
    out.table("static const ta_vector test_vectors", rows)
    missing = [member for member in inputs.members if member.self_test is None]
    said = (string(f"{member.name}: no self-test: {member.no_self_test}") for member in missing)
    out.table("static const char *const missing", [f"{text}," for text in said])
    pointers = ("test_vectors" if tested else "NULL", "missing" if missing else "NULL")
    values = f"{pointers[0]}, {pointers[1]}, {len(tested)}u, {len(missing)}u"
    out.lines(("", f"static const ta_vectors vectors = {{{values}}};", "", "#endif"))
    return out.text()


def _vector(out: Emitter, inputs: EmitInputs, member: Member, test: SelfTest) -> None:
    """The arrays of a model, and the tables that name them."""
    prefix = inputs.prefix(member)
    ins, outs = split(member)
    for one, data in zip(ins, test.inputs, strict=True):
        _array(out, f"{prefix}input_{one.number}", one, data)
    for one, data in zip(outs, test.outputs, strict=True):
        _array(out, f"{prefix}expected_{one.number}", one, data)
    out.table(f"static const void *const {prefix}inputs", [f"{prefix}input_{one.number}," for one in ins])
    rows = [_expected(inputs, member, *pair) for pair in zip(outs, test.tolerances, strict=True)]
    out.table(f"static const ta_expected {prefix}outputs", rows)


def _array(out: Emitter, name: str, terminal: Terminal, data: bytes) -> None:
    """A static const array of the bytes of one input or output."""
    vector = literals(evolve(terminal.tensor, data=data))
    out.lines(("", f"static const {vector.c_type} {name}[] = {{"))
    with out.indent():
        out.wrapped(vector.items)
    out.line("};")


def _expected(inputs: EmitInputs, member: Member, one: Terminal, tolerance: Tolerance) -> str:
    label = string(inputs.qualified(member, one.tensor.name))
    values = f"{inputs.prefix(member)}expected_{one.number}, {one.macro}_ELEMENTS, ta_{one.tensor.dtype}_at"
    return f"{{{label}, {values}, {tolerance.absolute!r}, {tolerance.relative!r}}},"


def _row(inputs: EmitInputs, number: int) -> str:
    member = inputs.members[number]
    prefix = inputs.prefix(member)
    given = f"{prefix}inputs" if split(member)[0] else "NULL"
    return f"{{{number}u, {given}, {prefix}outputs}},"
