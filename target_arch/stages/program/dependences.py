"""Which items of a program must come after which, whatever runs beside what.

Two items that share bytes keep their order where one of them writes these; so do all runs of one instance,
so that a partition has its turn before the next one there begins.
"""

from collections.abc import Sequence

from attrs import field, mutable

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import BufferKind
from target_arch.stages.program.hazards import overlap
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.program import Program

_Seen = list[tuple[int, Slice]]


@mutable
class _Bytes:
    """Who read and wrote the bytes of a buffer, but for those that somebody wrote over since."""

    reads: _Seen = field(factory=list)
    writes: _Seen = field(factory=list)


def dependences(program: Program) -> list[tuple[int, ...]]:
    """For every item the numbers of earlier items that must have begun before it, in ascending order."""
    touched: dict[str, _Bytes] = {}
    latest: dict[str, int] = {}
    found: list[tuple[int, ...]] = []
    for number, item in enumerate(program.items):
        before: set[int] = set()
        for part, write in accesses(program, item):
            if program.buffers[part.of].kind != BufferKind.CONSTANT:
                _touch(touched.setdefault(part.of, _Bytes()), number, part, write, before)
        if isinstance(item, Run):
            before.update([latest[item.instance]] if item.instance in latest else [])
            latest[item.instance] = number
        before.discard(number)
        found.append(tuple(sorted(before)))
    return found


def accesses(program: Program, item: Item) -> list[tuple[Slice, bool]]:
    """The bytes an item touches, and whether it writes them."""
    if isinstance(item, Run):
        return [
            (operand.touched(program.buffers[operand.of].bytes), operand.access.writes)
            for operand in item.operands
        ]
    return [pair for source, target in item.pieces for pair in ((source, False), (target, True))]


def _touch(known: _Bytes, number: int, part: Slice, write: bool, before: set[int]) -> None:
    before.update([other for other, there in known.writes if overlap(there, part)])
    if not write:
        known.reads.append((number, part))
        return
    before.update([other for other, there in known.reads if overlap(there, part)])
    known.reads = _kept(known.reads, part)
    known.writes = _kept(known.writes, part)
    known.writes.append((number, part))


def _kept(seen: Sequence[tuple[int, Slice]], written: Slice) -> _Seen:
    """Those of which a byte is not written over: who comes after the writer comes after the others, too."""
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
