"""The seals of a model: what of its bytes never changes, and its CRC-32C.

Tables that hold addresses have none, since only the linker knows their bytes.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from target_arch.emit.crc32c import crc32c
from target_arch.emit.model.arenas import EmittedArena, constants_of
from target_arch.emit.model.constants import constant_bytes
from target_arch.emit.model.inputs import Member
from target_arch.emit.model.naming import seals_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.constants_form import ConstantsForm


def seals(
    out: Emitter,
    member: Member,
    every: Sequence[EmittedArena],
    fixed: Mapping[str, bytes],
    linked: Sequence[str],
    form: ConstantsForm,
) -> None:
    """The `ta_seals` of a model: its constants, the tables `fixed` without addresses by name, and those with
    addresses by where they start, `linked`. Weights files have CRCs of their own; where they are linked, the
    program only sees to it that they stay as they are.
    """
    own = constants_of(member, every)
    constants = {arena.symbol: constant_bytes(member, arena) for arena in own if form is ConstantsForm.TEXT}
    weights = [arena.symbol for arena in own if form is ConstantsForm.SECTION]
    sealed_tables(out, seals_symbol(member), fixed, (*linked, *weights), constants)


def sealed_tables(
    out: Emitter,
    symbol: str,
    fixed: Mapping[str, bytes],
    linked: Sequence[str],
    constants: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """The `ta_seals` of that symbol."""
    sealed = {f"&{name}": (f"{len(content)}u", content) for name, content in constants.items()}
    sealed |= {name: (f"sizeof {name}", content) for name, content in fixed.items() if content}
    rows = [f"{{{start}, {size}, 0x{crc32c(content):08x}u, 0}}," for start, (size, content) in sealed.items()]
    rows += [f"{{{start}, sizeof {start.lstrip('&')}, 0, 1}}," for start in linked]
    out.table("static const ta_seal seals", rows)
    out.line()
    out.line(f"const ta_seals {symbol} = {{seals, {len(rows)}}};")
