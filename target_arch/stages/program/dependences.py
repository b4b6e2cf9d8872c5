"""Dependences between items of a program: pairs whose order no reordering may change.

Two items that share bytes keep their order if one of them writes the bytes. All runs of one instance keep
their order too, so that a partition ends before the next one there begins. A state and its next value are the
same bytes, and the next value begins when no item reads the state any more, whichever bytes.
"""

from collections.abc import Sequence

from attrs import field, mutable

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import BufferKind
from target_arch.stages.program.hazards import ByteAccess, overlap
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.program import Program

_Seen = list[tuple[int, Slice]]
_FIXED = (BufferKind.CONSTANT, BufferKind.RESIDENT)


@mutable
class _Bytes:
    """The items that read and wrote bytes of a buffer that were not overwritten since."""

    reads: _Seen = field(factory=list)
    writes: _Seen = field(factory=list)


def dependences(program: Program) -> Sequence[tuple[int, ...]]:
    """For every item the numbers of the earlier ones that must have begun before it, in ascending order."""
    touched: dict[str, _Bytes] = {}
    latest: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    found: list[tuple[int, ...]] = []
    for number, item in enumerate(program.items):
        before = set[int]()
        for part, writes in accesses(program, item):
            slot = program.buffers[part.of]
            if slot.kind not in _FIXED:
                there = touched.setdefault(slot.replaces or slot.name, _Bytes())
                _touch(there, number, part, before, writes=writes)
            if slot.kind is BufferKind.STATE:
                readers.setdefault(slot.name, []).append(number)
            elif slot.replaces is not None:
                before.update(readers.get(slot.replaces, ()))
        if isinstance(item, Run):
            before.update([latest[item.instance]] if item.instance in latest else [])
            latest[item.instance] = number
        found.append(tuple(sorted(before - {number})))
    return found


def accesses(program: Program, item: Item) -> list[ByteAccess]:
    """The bytes an item touches, and whether it writes them."""
    if isinstance(item, Run):
        return touches(program, item)
    return [pair for source, target in item.pieces for pair in ((source, False), (target, True))]


def touches(program: Program, run: Run) -> list[ByteAccess]:
    """The bytes a run touches, and whether it writes them."""
    buffers = program.buffers
    return [(each.touched(buffers[each.of].bytes), each.access.writes) for each in run.operands]


def _touch(known: _Bytes, number: int, part: Slice, before: set[int], *, writes: bool) -> None:
    before.update([other for other, there in known.writes if overlap(there, part)])
    if not writes:
        known.reads.append((number, part))
        return
    before.update([other for other, there in known.reads if overlap(there, part)])
    known.reads = _kept(known.reads, part)
    known.writes = _kept(known.writes, part)
    known.writes.append((number, part))


def _kept(seen: Sequence[tuple[int, Slice]], written: Slice) -> _Seen:
    """The accesses with a byte that is not overwritten: an item that follows the writer follows all others,
    too.
    """
    return [(number, there) for number, there in seen if not _covers(written, there)]


def _covers(whole: Slice, part: Slice) -> bool:
    if whole.rows == 1:
        return whole.offset <= part.offset and part.end <= whole.end
    return (whole.offset, whole.row_bytes, whole.rows, whole.stride) == (
        part.offset,
        part.row_bytes,
        part.rows,
        part.stride,
    )
