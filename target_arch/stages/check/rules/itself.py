"""A step against itself: what it writes is apart from its other ends or operands, but where a call says that
it may write one over another.

Rows count with the gaps between them, as they do in `ta_init`: no plan has rows between rows.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch
from target_arch.stages.check.rules.faults import Fault


def own_faults(step: Copy | Dispatch, buffers: Mapping[str, Buffer]) -> Iterator[Fault]:
    """Everything wrong between the ends of a copy, or the operands of a call, inside known buffers."""
    if isinstance(step, Copy):
        if step.source.of == step.target.of and _meet(step.source, step.target):
            yield "overlaps-itself", f"`{step.source}` is copied over itself, to `{step.target}`"
        return
    for operand in step.operands:
        yield from _rows(operand, buffers[operand.of].bytes)
    for one, other in combinations(step.operands, 2):
        if one.of == other.of:
            yield from _pair(one, other, buffers[one.of].bytes)


def _meet(one: Slice, other: Slice) -> bool:
    return one.offset < other.end and other.offset < one.end


def _rows(operand: Operand, size: int) -> Iterator[Fault]:
    """Rows that are written over each other."""
    part = operand.touched(size)
    if operand.access.writes and part.rows > 1 and part.stride < part.row_bytes:
        yield "overlaps-itself", f"`{part}` is written and has rows over each other"


def _pair(one: Operand, other: Operand, size: int) -> Iterator[Fault]:
    first, second = one.touched(size), other.touched(size)
    if not (one.access.writes or other.access.writes) or not _meet(first, second):
        return
    if one.access.writes and other.access.writes:
        yield "overlaps-itself", f"`{first}` and `{second}` are both written"
        return
    written, read = (one, other) if one.access.writes else (other, one)
    if not _allowed(written, read, size):
        message = f"`{written.touched(size)}` is written over `{read.touched(size)}`, which it reads"
        yield "overlaps-itself", message


def _allowed(written: Operand, read: Operand, size: int) -> bool:
    """True where the call says that it no longer needs a byte of what it reads when it writes it: both begin
    together, and what is written is as long, or shorter where the call says that as well.
    """
    there, needed = read.touched(size).end, written.touched(size).end
    fits = needed <= there if written.smaller else needed == there
    return (
        written.access is Access.WRITE and read.of in written.over and written.offset == read.offset and fits
    )
