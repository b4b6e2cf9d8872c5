"""The bytes that a step reads and writes, one by one where rows make that necessary."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch
from target_arch.stages.check.rules.faults import Fault


@frozen(kw_only=True)
class Touch:
    """Bytes of a buffer that a step reads or writes."""

    part: Slice
    write: bool


def touches(step: Copy | Dispatch, buffers: Mapping[str, Buffer]) -> tuple[Touch, ...]:
    """All of a step, the bytes read before those written for each operand."""
    if isinstance(step, Copy):
        return (Touch(part=step.source, write=False), Touch(part=step.target, write=True))
    found = []
    for operand in step.operands:
        size = buffers[operand.of].bytes if operand.of in buffers else 0
        count = size - operand.offset if operand.bytes is None else operand.bytes
        rows, stride = operand.rows, operand.stride
        part = Slice(of=operand.of, offset=operand.offset, row_bytes=count, rows=rows, stride=stride)
        if operand.access.reads:
            found.append(Touch(part=part, write=False))
        if operand.access.writes:
            found.append(Touch(part=part, write=True))
    return tuple(found)


def bounds(found: Iterable[Touch], buffers: Mapping[str, Buffer]) -> Iterator[Fault]:
    """Slices of no buffer, without bytes, or with bytes outside their buffer. Rows go upwards."""
    for part in dict.fromkeys(touch.part for touch in found):
        if part.of not in buffers:
            yield "unknown-buffer", f"`{part.of}` is no buffer"
            continue
        size = buffers[part.of].bytes
        empty = part.row_bytes <= 0 or part.rows <= 0
        if empty or part.offset < 0 or part.stride < 0 or part.end > size:
            yield "out-of-bounds", f"`{part}` is outside its buffer of {size:,} B"


def meet(one: Slice, other: Slice) -> bool:
    """True where two slices of one buffer have a byte in common: for each row of the slice with fewer rows,
    the first row of the other one that ends behind its first byte begins before its last one.
    """
    if one.offset >= other.end or other.offset >= one.end:
        return False
    if one.rows == 1 and other.rows == 1:
        return True
    few, many = sorted((one, other), key=lambda part: part.rows)
    starts = few.offset + np.arange(few.rows) * few.stride
    first = np.maximum(0, (starts - many.row_bytes - many.offset) // max(1, many.stride) + 1)
    begins = many.offset + first * many.stride
    rows = many.rows if many.stride else 1
    return bool(np.any((first < rows) & (begins < starts + few.row_bytes)))


def listed(part: Slice) -> NDArray[np.int64]:
    """The byte offsets of a slice."""
    rows = np.arange(part.rows) * part.stride
    return (part.offset + rows[:, None] + np.arange(part.row_bytes)).ravel()
