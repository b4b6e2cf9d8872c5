"""The memory that a program lends its models, where their inputs and outputs are in memory of the caller."""

from collections.abc import Sequence

from target_arch.emit.model.inputs import Member, terminals
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.sections import define_section, section_macro
from target_arch.plan.memory import Arena


def lent_buffers(out: Emitter, member: Member) -> None:
    """The arrays of the inputs and outputs of a model, each in the section of its memory, and the value that
    `run_call` takes; nothing where they are in arenas.
    """
    if not member.lends:
        return
    held = terminals(member)
    for one in held:
        pool = Arena(one.buffer.memory)
        out.line()
        define_section(out, pool)
        out.lines(lent_array(one.c_type, one.function, f"{section_macro(pool)} "))
    out.line()
    out.lines(lent_value(member.stem, [one.function for one in held]))


def lent_array(c_type: str, name: str, section: str = "") -> tuple[str, ...]:
    """The definition of the array of an input or output, which is called as its macros begin."""
    macro = name.upper()
    return (
        f"static {c_type} {name}[{macro}_ROOM / sizeof({c_type})]",
        f"    {section}TA_ALIGNED({macro}_ALIGNMENT);",
    )


def lent_value(stem: str, arrays: Sequence[str]) -> tuple[str, ...]:
    """The definition of the value with these arrays that a run of the model with that C name takes."""
    members = (f"    {name}," for name in arrays)
    return f"static const {stem}_io {stem}_lent = {{", *members, "};"


def run_call(member: Member) -> str:
    """The C expression that runs a model once."""
    return f"{member.stem}_run({f'&{member.stem}_lent' if member.lends else ''})"
