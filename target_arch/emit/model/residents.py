"""The seals of residents: the constants that init copies to where they stay, and their CRC-32C there."""

from collections.abc import Iterator, Mapping, Sequence

from target_arch.emit.crc32c import crc32c
from target_arch.emit.model.arenas import EmittedArena, placed
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.naming import resident_seals_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.kernels import Slice
from target_arch.plan.steps import Fill

Runs = Mapping[tuple[int, int], bytes]
"""Bytes one behind the other, by the number of an arena and the offset of the first."""


def sealed_residents(inputs: EmitInputs, every: Sequence[EmittedArena]) -> Mapping[str, Runs]:
    """The residents that the host sees, by their model; models without any are left out.

    There are none where the weights of a model may be others than the compiler's.
    """
    if inputs.constants is not ConstantsForm.TEXT:
        return {}
    runs = {member.name: _runs(inputs, member, every) for member in inputs.members}
    return {name: found for name, found in runs.items() if found}


def resident_seals(out: Emitter, inputs: EmitInputs, every: Sequence[EmittedArena]) -> None:
    """A `ta_seals` for each model that has some, beside the arenas that they are in."""
    sealed = sealed_residents(inputs, every)
    for member in inputs.members:
        if member.name not in sealed:
            continue
        rows = [
            f"{{arena_{every[arena].symbol} + {offset}, {len(content)}u, 0x{crc32c(content):08x}u, 0}},"
            for (arena, offset), content in sealed[member.name].items()
        ]
        symbol = resident_seals_symbol(member)
        out.table(f"static const ta_seal {symbol}_rows", rows)
        out.line()
        out.line(f"const ta_seals {symbol} = {{{symbol}_rows, {len(rows)}}};")


def _runs(inputs: EmitInputs, member: Member, every: Sequence[EmittedArena]) -> Runs:
    places = placed(inputs, member, every)
    found: dict[tuple[int, int], bytes] = {}
    for buffer, (content, filled) in _contents(member).items():
        place = places.places[buffer]
        if every[place.arena].visible:
            joined = _joined(filled)
            found |= {(place.arena, place.offset + start): bytes(content[start:end]) for start, end in joined}
    return dict(sorted(found.items()))


def _contents(member: Member) -> Mapping[str, tuple[bytearray, list[tuple[int, int]]]]:
    """Bytes of each resident after all fills, and where they were filled: the first byte of a run, and the
    first one behind it.
    """
    buffers = {buffer.name: buffer for buffer in member.lowered.memory.buffers}
    found: dict[str, tuple[bytearray, list[tuple[int, int]]]] = {}
    for step in member.lowered.steps.steps:
        if not isinstance(step, Fill):
            continue
        source, target = step.copy.source, step.copy.target
        if source.of in found:
            held: bytes | bytearray = found[source.of][0]
        else:
            held = member.constant(buffers[source.of].tensor or source.of).data or b""
        values = b"".join(held[start:end] for start, end in _rows(source))
        content, filled = found.setdefault(target.of, (bytearray(buffers[target.of].bytes), []))
        taken = 0
        for start, end in _rows(target):
            content[start:end] = values[taken : taken + end - start]
            taken += end - start
            filled.append((start, end))
    return found


def _rows(run: Slice) -> Iterator[tuple[int, int]]:
    for row in range(run.rows):
        first = run.offset + row * run.stride
        yield first, first + run.row_bytes


def _joined(runs: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Runs in their order, those that touch each other as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        touches = bool(found) and found[-1][1] == start
        found.append((found.pop()[0] if touches else start, end))
    return found
