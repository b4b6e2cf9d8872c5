"""`src/<model>_constants.c`: the constants, at exactly the offsets the memory plan gave them.

One const struct per constants arena, a typed member per tensor, padding written out, and assertions that the
compiler put every member where the plan has it.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.emit.model.arenas import EmittedArena
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.emit.text.literals import literals
from target_arch.emit.text.names import comment, identifiers
from target_arch.emit.text.sections import define_section, section_macro
from target_arch.soc.rounding import round_up


@frozen(kw_only=True)
class _StructMember:
    name: str
    c_type: str
    items: Listing
    offset: int
    bytes: int
    what: str


def constants_source(inputs: EmitInputs, member: Member, constant: Sequence[EmittedArena]) -> str:
    """The C text. It defines one object per constants arena, named by its symbol; the object's type is
    `struct <symbol>_layout`.
    """
    out = Emitter()
    out.line(f"/* Constants of `{comment(member.name)}`. Every member is where the memory plan puts it. */")
    out.line("#include <target_arch/abi.h>")
    out.line()
    out.line(f'#include "{inputs.stem}_internal.h"')
    for pool in dict.fromkeys(arena.pool for arena in constant):
        out.line()
        define_section(out, pool)
    for arena in constant:
        out.line()
        _object(out, member, arena)
    return out.text()


def padded_bytes(arena: EmittedArena) -> int:
    """The size of the object: the arena's bytes, up to its alignment."""
    return round_up(arena.bytes, arena.alignment)


def constant_bytes(of: Member, arena: EmittedArena) -> bytes:
    """The bytes of the object, padding is 0."""
    parts, end = list[bytes](), 0
    for offset, buffer in arena.buffers:
        data = of.constant(buffer.tensor or buffer.name).data or b""
        parts += [bytes(offset - end), data]
        end = offset + len(data)
    return b"".join((*parts, bytes(padded_bytes(arena) - end)))


def _object(out: Emitter, of: Member, arena: EmittedArena) -> None:
    symbol = arena.symbol
    members = _members(of, arena)
    tag = f"struct {symbol}_layout"
    out.line(f"{tag} {{")
    with out.indent():
        _declare(out, members, padded_bytes(arena))
    out.line("};")
    for member in members:
        assertion = f"offsetof({tag}, {member.name}) == {member.offset}u"
        out.line(f"TA_STATIC_ASSERT({assertion}, {member.name}_offset);")
    out.line(f"TA_STATIC_ASSERT(sizeof({tag}) == {padded_bytes(arena)}u, {symbol}_size);")
    out.line()
    alignment = f"TA_ALIGNED({arena.alignment})"
    out.line(f"const {tag} {symbol} {section_macro(arena.pool)} {alignment} = {{")
    with out.indent():
        for member in members:
            out.line(f".{member.name} = {{ /* {member.what} */")
            with out.indent():
                out.wrapped(member.items)
            out.line("},")
    out.line("};")


def _declare(out: Emitter, members: Sequence[_StructMember], size: int) -> None:
    end = paddings = 0
    for member in members:
        if member.offset > end:
            out.line(f"uint8_t _padding_{paddings}[{member.offset - end}];")
            paddings += 1
        out.line(f"{member.c_type} {member.name}[{len(member.items)}];")
        end = member.offset + member.bytes
    if size > end:
        out.line(f"uint8_t _padding_{paddings}[{size - end}];")


def _members(of: Member, arena: EmittedArena) -> tuple[_StructMember, ...]:
    names: Mapping[str, str] = identifiers(buffer.tensor or buffer.name for _, buffer in arena.buffers)
    return tuple(
        _member(of, buffer.tensor or buffer.name, names, offset)
        for offset, buffer in arena.buffers
        if buffer.bytes
    )


def _member(of: Member, name: str, names: Mapping[str, str], offset: int) -> _StructMember:
    tensor = of.constant(name)
    written = literals(tensor)
    return _StructMember(
        name=names[name],
        c_type=written.c_type,
        items=written.items,
        offset=offset,
        bytes=tensor.bytes,
        what=comment(str(tensor)),
    )
