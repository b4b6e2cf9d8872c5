"""Content of buffers: bytes read before they were written, constants and residents that a run writes."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import StepOrder
from target_arch.stages.check.rules.faults import Fault
from target_arch.stages.check.rules.touches import Touch, listed

_THERE = (BufferKind.INPUT, BufferKind.CONSTANT, BufferKind.STATE)


class WrittenBytes:
    """The bytes written so far; inputs, constants and states are there from the start."""

    def __init__(self, order: StepOrder) -> None:
        nexts = ((f"next value of {each.tensor}", each.next) for each in order.states)
        self._outputs = (*order.outputs, *nexts)
        self._given = {b.name for b in order.buffers if b.caller and b.kind == BufferKind.INPUT}
        self._kinds = {buffer.name: buffer.kind for buffer in order.buffers}
        self._written = {
            buffer.name: Written(buffer.bytes, buffer.kind in _THERE) for buffer in order.buffers
        }

    def fill(self, touches: Iterable[Touch]) -> Iterator[Fault]:
        """Constants are copied to a resident; no byte of it has any before."""
        there = tuple(touches)
        for touch in there:
            known = self._written[touch.part.of]
            if not touch.write and not known.covers(touch.part):
                yield "read-before-write", f"`{touch.part}` is read before all of it was written"
            if touch.write and known.meets(touch.part):
                yield "wrong-fill", f"`{touch.part}` is filled where it was before"
            if touch.write:
                known.write(touch.part)

    def touch(self, touches: Iterable[Touch]) -> Iterator[Fault]:
        """A step reads its bytes, then writes."""
        there = tuple(touches)
        for touch in there:
            if not touch.write and not self._written[touch.part.of].covers(touch.part):
                yield "read-before-write", f"`{touch.part}` is read before all of it was written"
        for touch in there:
            if touch.write:
                yield from self._write(touch.part)

    def _write(self, part: Slice) -> Iterator[Fault]:
        if self._kinds[part.of] == BufferKind.CONSTANT:
            yield "constant-written", f"`{part}` is a constant and written to"
        if self._kinds[part.of] == BufferKind.RESIDENT:
            yield "resident-written", f"`{part}` is a resident and written by a run"
        if part.of in self._given:
            yield "input-written", f"`{part}` is the caller's input and written to"
        if self._kinds[part.of] == BufferKind.STATE:
            yield "wrong-state", f"`{part}` is what the run finds, not what it leaves"
        self._written[part.of].write(part)

    def missing(self) -> Iterator[Fault]:
        """Outputs that are not complete at the end."""
        for tensor, name in self._outputs:
            if name in self._written and not self._written[name].complete:
                yield "read-before-write", f"output `{tensor}` in `{name}` is not written entirely"


class Written:
    """Which bytes of a buffer were written. Whole buffers need no array."""

    def __init__(self, size: int, everything: bool) -> None:
        self._size, self._everything = size, everything
        self._bytes: NDArray[np.bool_] | None = None

    def write(self, part: Slice) -> None:
        """The bytes of the slice are written."""
        if self._everything or (part.rows == 1 and part.row_bytes == self._size):
            self._everything, self._bytes = True, None
            return
        if self._bytes is None:
            self._bytes = np.zeros(self._size, dtype=np.bool_)
        self._bytes[_picked(part)] = True
        if self._bytes.all():
            self._everything, self._bytes = True, None

    def covers(self, part: Slice) -> bool:
        """True where all bytes of the slice were written."""
        return self._everything or (self._bytes is not None and bool(self._bytes[_picked(part)].all()))

    def meets(self, part: Slice) -> bool:
        """True where a byte of the slice was written."""
        return self._everything or (self._bytes is not None and bool(self._bytes[_picked(part)].any()))

    @property
    def complete(self) -> bool:
        """True where every byte was written."""
        return self._everything


def _picked(part: Slice) -> slice | NDArray[np.int64]:
    return slice(part.offset, part.end) if part.rows == 1 else listed(part)
