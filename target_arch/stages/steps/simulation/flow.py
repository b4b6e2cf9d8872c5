"""The flow of data between steps: which step reads bytes that which other step wrote.

Any order of the steps has to keep it, and nothing else: a buffer that is used twice could be used the other
way round, and so could an instance. So no pair may be here whose bytes do not really flow, since what holds
for any order is derived from these (`bounds`). Waits may be more careful (`program.hazards`): they may take
rows for all that they enclose.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, mutable

from target_arch.plan.kernels import Access, Slice
from target_arch.plan.steps import Copy, Dispatch
from target_arch.stages.program.hazards import overlap


@mutable(kw_only=True)
class _Write:
    """Bytes that a step wrote, and later writes over a part of them."""

    step: int
    part: Slice
    over: list[Slice] = field(factory=list)


def flow(steps: Sequence[Copy | Dispatch], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """For every step the positions of earlier ones that wrote bytes which it reads. `sizes` are those of the
    buffers.
    """
    written: dict[str, list[_Write]] = {}
    found: list[tuple[int, ...]] = []
    for number, step in enumerate(steps):
        touched = _touched(step, sizes)
        sources = {one for part, access in touched if access.reads for one in _writers(written, part)}
        found.append(tuple(sorted(sources)))
        for part, access in touched:
            if access.writes:
                written[part.of] = _overwritten(written.get(part.of, ()), _Write(step=number, part=part))
    return found


def _touched(step: Copy | Dispatch, sizes: Mapping[str, int]) -> list[tuple[Slice, Access]]:
    if isinstance(step, Copy):
        return [(step.source, Access.READ), (step.target, Access.WRITE)]
    return [(operand.touched(sizes[operand.of]), operand.access) for operand in step.operands]


def _writers(written: Mapping[str, Sequence[_Write]], part: Slice) -> Iterator[int]:
    """The steps whose bytes are in a part, with at least one that was not overwritten."""
    for one in written.get(part.of, ()):
        if overlap(one.part, part) and (_surely(one, part) or _shared(one, part)):
            yield one.step


def _surely(one: _Write, part: Slice) -> bool:
    """True where an overlap is exact, and all of the written bytes are still there."""
    return not one.over and (part.rows == 1 or one.part.rows == 1 or part.stride == one.part.stride)


def _shared(one: _Write, part: Slice) -> bool:
    """True where a part has a byte of a write that was not overwritten."""
    start, end = max(one.part.offset, part.offset), min(one.part.end, part.end)
    left = _bits(one.part, start, end) & _bits(part, start, end)
    for later in one.over:
        left &= ~_bits(later, start, end)
    return left != 0


def _bits(part: Slice, start: int, end: int) -> int:
    """A bit for each byte of a slice that is between two offsets."""
    row, found = (1 << part.row_bytes) - 1, 0
    for offset in range(part.offset, part.end, part.stride or part.row_bytes):
        if start < offset + part.row_bytes and offset < end:
            found |= row << offset - start if offset >= start else row >> start - offset
    return found & ((1 << end - start) - 1)


def _overwritten(writes: Sequence[_Write], last: _Write) -> list[_Write]:
    """The writes of a buffer of which a byte may be left after the last one, and that one."""
    left: list[_Write] = []
    for one in writes:
        if overlap(one.part, last.part):
            if _covers(last.part, one.part):
                continue
            one.over.append(last.part)
        left.append(one)
    left.append(last)
    return left


def _covers(whole: Slice, part: Slice) -> bool:
    """True where every byte of a part is in the other slice, as far as is seen at once."""
    if whole.rows == 1:
        return whole.offset <= part.offset and part.end <= whole.end
    return whole == part
