"""A region of its own for every tensor at the border of a chain.

Vela puts all inputs of a chain one behind the other into one region, and all outputs into another. The memory
plan places each of them on its own, so that each needs its own base address. Only the commands that set
regions and base addresses are rewritten.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.backends.ethos_u.stream import CODES, INTERNAL, REGION, Code, commands, is_operation, written


@frozen(kw_only=True)
class RelocatedTensor:
    """A tensor that Vela had at `offset` of region `source` and that gets the region `target`."""

    source: int
    offset: int
    bytes: int
    target: int


@frozen(kw_only=True)
class _Group:
    """The registers with the address of one operand."""

    region: str
    bases: tuple[str, ...]


_GROUPS = (
    *(
        _Group(region=f"{m}_REGION", bases=tuple(f"{m}_BASE{n}" for n in range(4)))
        for m in ("IFM", "IFM2", "OFM")
    ),
    *(_Group(region=f"DMA0_{end}_REGION", bases=(f"DMA0_{end}",)) for end in ("SRC", "DST")),
)
_TAKEN = frozenset(CODES[name] for group in _GROUPS for name in (group.region, *group.bases))


def relocated(stream: bytes, moves: Sequence[RelocatedTensor]) -> bytes:
    """The stream with every tensor in its new region. Raises BadStream for words that are no stream."""
    if all(move.source == move.target and move.offset == 0 for move in moves):
        return stream
    wanted: dict[Code, int] = {}
    present: dict[Code, int] = {}
    out = bytearray()
    for code, value in commands(stream):
        if code in _TAKEN:
            wanted[code] = value
            continue
        if is_operation(code):
            for group in _GROUPS:
                for register, to in _placed(group, wanted, moves).items():
                    if present.get(register) != to:
                        out += written(register, to)
                        present[register] = to
        out += written(code, value)
    return bytes(out)


def _placed(group: _Group, wanted: Mapping[Code, int], moves: Sequence[RelocatedTensor]) -> dict[Code, int]:
    """The registers of a group, as far as they are set, with the tensor they point into moved."""
    region, bases = CODES[group.region], [CODES[name] for name in group.bases]
    there = {code: wanted[code] for code in (region, *bases) if code in wanted}
    if region not in there or bases[0] not in there or there[region] & INTERNAL:
        return there
    first = there[bases[0]]
    move = next(
        (
            each
            for each in moves
            if each.source == there[region] & REGION and each.offset <= first < each.offset + each.bytes
        ),
        None,
    )
    if move is None:
        return there
    # A base below the tensor is that of a tile that is not used.
    moved = {code: max(there[code] - move.offset, 0) for code in bases if code in there}
    return {**moved, region: there[region] & ~REGION | move.target}
