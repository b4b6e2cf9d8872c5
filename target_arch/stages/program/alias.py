"""Aliases: a copy within a memory is elided, and both of its buffers become the same bytes.

The result of a reshape is its input, and an operand of a concatenation is a slice of the result. Items that
wrote or read one buffer then write or read the other at an offset. Every tensor is written once, so both stay
valid as long as they are read. A copy is elided where this is safe:

- Both ends are in the same memory, and one of them is a whole buffer. This buffer disappears. It is neither
  input nor output of the model, nor a constant, nor local to a kernel.
- The source is complete before the copy, and nothing but the copy writes the target.
- The slice begins and ends at multiples of the alignment of parts in its memory, or ends with the other.
- The next value of a state is written where the state is: only after the last item that reads the state, or
  by that item, where it writes each element after it has read the same element of the state.

Two buffers of one size become one without cost. A slice makes the larger buffer live earlier or longer, so it
is used only where the largest sum of live bytes in the memory does not grow.

Tests: `tests/stages/program/test_alias.py`.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from math import lcm
from types import MappingProxyType

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import Alias, BufferKind
from target_arch.stages.memory.packing.live_sums import Interval
from target_arch.stages.program.dependences import accesses
from target_arch.stages.program.in_place import other_reads, reusable_places
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.liveness import live_bytes
from target_arch.stages.program.program import Program

_MOVABLE = (
    BufferKind.ACTIVATION,
    BufferKind.INPUT,
    BufferKind.OUTPUT,
    BufferKind.STATE,
    BufferKind.NEXT,
)
_INNER = BufferKind.ACTIVATION
_AS_ALIGNED: Mapping[str, int] = MappingProxyType({})
"""Parts are as aligned as buffers in every memory."""
_Access = tuple[int, Slice, bool]
"""An item, the bytes of a buffer that it touches, and whether it writes them."""


def elide_copies(
    program: Program,
    *,
    slices: bool,
    held: Collection[str] = (),
    alignments: Mapping[str, int] = _AS_ALIGNED,
) -> Program:
    """The program without unnecessary copies. With `slices`, buffers may be parts of larger ones too, but not
    in the `held` memories. `alignments` are those of parts, by memory, where not every part is as aligned as
    a buffer of its own.
    """
    copies = _copies(program)
    if copies:
        program = _with_alike(program, copies).program()
        copies = _copies(program)
    if not slices or not copies:
        return program
    # Again from its start: elided copies are no moments at which bytes are live.
    eliding = _Eliding(program, alignments)
    eliding.try_slices(copies, frozenset(held))
    return eliding.program()


def alias_whole(program: Program, partitions: Collection[str]) -> tuple[Program, Mapping[str, str]]:
    """As `elide_copies` without slices, for the copies of these partitions. Also returns the buffer that
    replaces each elided one.
    """
    copies = [(number, run) for number, run in _copies(program) if run.partition in partitions]
    if not copies:
        return program, {}
    eliding = _with_alike(program, copies)
    return eliding.program(), eliding.gone()


def _with_alike(program: Program, copies: Iterable[tuple[int, Run]]) -> "_Eliding":
    eliding = _Eliding(program)
    eliding.try_alike(copies)
    return eliding


def _copies(program: Program) -> list[tuple[int, Run]]:
    return [(n, item) for n, item in enumerate(program.items) if isinstance(item, Run) and item.copies]


@frozen(kw_only=True)
class _Move:
    """A buffer that could become part of another, from an offset on, and so replace the copy `number`."""

    number: int
    inner: str
    outer: str
    offset: int


class _Eliding:
    def __init__(self, program: Program, alignments: Mapping[str, int] = _AS_ALIGNED) -> None:
        self._program = program
        self._alignments = alignments
        self._slots = dict(program.buffers)
        self._lives = dict(program.liveness.lives)
        self._places: dict[str, tuple[str, int]] = {}
        self._gone: set[int] = set()
        self._touched: dict[str, list[_Access]] = {}
        for number, item in enumerate(program.items):
            for part, write in accesses(program, item):
                self._touched.setdefault(part.of, []).append((number, part, write))

    def try_alike(self, copies: Iterable[tuple[int, Run]]) -> None:
        """Merge both ends of each copy of a whole buffer to a whole buffer."""
        for number, run in copies:
            move = self._move(number, run)
            if move is not None and self._slots[move.inner].bytes == self._slots[move.outer].bytes:
                self._merge(move)

    def try_slices(self, copies: Iterable[tuple[int, Run]], held: Collection[str]) -> None:
        """Make buffers slices of larger ones; all slices of one buffer together, where this needs no more
        bytes.
        """
        groups: dict[str, list[tuple[int, Run]]] = {}
        for number, run in copies:
            move = self._move(number, run)
            if move is not None and self._slots[move.outer].memory not in held:
                groups.setdefault(move.outer, []).append((number, run))
        live = self._live_bytes() if groups else {}
        for group in groups.values():
            self._merge_profitable(group, live)

    def _live_bytes(self) -> dict[str, NDArray[np.int64]]:
        """By memory, the bytes of arenas that items use: an input that nothing reads counts nowhere."""
        uses = self._program.liveness.uses
        used = {name: life for name, life in self._lives.items() if name in uses}
        return live_bytes(self._slots, used, _needed, len(self._program.items))

    def _merge_profitable(
        self, group: Iterable[tuple[int, Run]], live: Mapping[str, NDArray[np.int64]]
    ) -> None:
        """Merge as many slices of one buffer as cost no bytes: all, else all but the first ones."""
        found = [move for number, run in group if (move := self._move(number, run)) is not None]
        distinct = {move.inner: move for move in reversed(found)}
        moves = sorted(distinct.values(), key=lambda move: (self._lives[move.inner], move.number))
        while moves and not self._counted_if_it_pays(moves, live):
            del moves[0]
        for move in moves:
            self._merge(move)

    def program(self) -> Program:
        """The program without the copies that were elided."""
        return Program(
            items=tuple(
                self._rewritten(item) for n, item in enumerate(self._program.items) if n not in self._gone
            ),
            buffers={name: self._slots[name] for name in self._slots if name not in self._places},
            inputs=self._program.inputs,
            outputs=self._program.outputs,
            states=self._program.states,
        )

    def gone(self) -> dict[str, str]:
        """The elided buffers, each with the buffer that it is part of."""
        return {name: self._buffer(name) for name in self._places}

    def _move(self, number: int, run: Run) -> _Move | None:
        """The merge that makes the copy unnecessary; None where it is not safe."""
        reads = [operand for operand in run.operands if operand.access == Access.READ]
        writes = [operand for operand in run.operands if operand.access == Access.WRITE]
        if len(run.operands) != 2 or len(reads) != 1 or len(writes) != 1:
            return None
        source, target = (self._slice(operand.touched(self._size(operand.of))) for operand in run.operands)
        if run.operands[0].access == Access.WRITE:
            source, target = target, source
        one, other = self._slots[source.of], self._slots[target.of]
        if source.of == target.of or one.memory != other.memory or source.bytes != target.bytes:
            return None
        if not {one.kind, other.kind} <= {*_MOVABLE} or not self._settled(number, source, target):
            return None
        for inner, outer in ((source, target), (target, source)):
            move = _Move(number=number, inner=inner.of, outer=outer.of, offset=outer.offset)
            if self._fits(move, inner) and self._keeps_states(move):
                return move
        return None

    def _keeps_states(self, move: _Move) -> bool:
        """True if no item reads a state after its next value has begun."""
        pairs = [(state.now, state.next) for state in self._program.states]
        return all(self._in_turn(move, now, later) for now, later in pairs if move.outer in (now, later))

    def _in_turn(self, move: _Move, now: str, later: str) -> bool:
        gone = {*self._gone, move.number}

        def items(name: str) -> list[int]:
            names = (name, move.inner) if name == move.outer else (name,)
            return [n for each in names for n, _, _ in self._touched.get(each, ()) if n not in gone]

        reads, begins = items(now), min(items(later), default=len(self._program.items))
        return all(n < begins or (n == begins and self._in_place(n, move, now, later)) for n in reads)

    def _in_place(self, number: int, move: _Move, now: str, later: str) -> bool:
        """True if an item that reads the state may write its next value over it."""
        item = self._program.items[number]
        written = {later, move.inner} if move.outer == later else {later}
        operands = item.operands if isinstance(item, Run) else ()
        for operand in operands:
            if self._buffer(operand.of) in written:
                others = other_reads(operand, operands, self._buffer)
                alone = not others & {now, move.inner}
                return alone and self._size(operand.of) == self._slots[now].bytes
        return False

    def _settled(self, number: int, source: Slice, target: Slice) -> bool:
        """True where the source is complete before the copy, and nothing else writes the target."""
        early = all(other < number for other in self._writers(source))
        return early and self._writers(target) == [number]

    def _writers(self, part: Slice) -> list[int]:
        known = self._touched[part.of]
        return [n for n, there, write in known if write and _meet(there, part) and n not in self._gone]

    def _fits(self, move: _Move, part: Slice) -> bool:
        """True if alignment and memories let the whole buffer be that slice of the other."""
        inner, outer = self._slots[move.inner], self._slots[move.outer]
        if inner.kind != _INNER or part.bytes != inner.bytes:
            return False
        end, unit = move.offset + inner.bytes, self._alignments.get(inner.memory, inner.alignment)
        return move.offset % unit == 0 and (end % unit == 0 or end == outer.bytes)

    def _merge(self, move: _Move) -> None:
        inner, outer = self._slots[move.inner], self._slots[move.outer]
        self._gone.add(move.number)
        self._places[move.inner] = (move.outer, move.offset)
        there = self._touched[move.outer]
        for number, part, write in self._touched.pop(move.inner):
            there.append((number, evolve(part, of=move.outer, offset=part.offset + move.offset), write))
        own = () if inner.tensor is None else (Alias(tensor=inner.tensor, offset=0, bytes=inner.bytes),)
        moved = (evolve(alias, offset=alias.offset + move.offset) for alias in (*own, *inner.aliases))
        aliases = sorted((*outer.aliases, *moved), key=lambda a: (a.offset, -a.bytes, a.tensor))
        self._slots[move.outer] = evolve(
            outer, alignment=lcm(outer.alignment, inner.alignment), aliases=tuple(aliases)
        )
        self._lives[move.outer] = _union(self._lives[move.outer], self._lives.pop(move.inner))

    def _counted_if_it_pays(self, moves: list[_Move], live: Mapping[str, NDArray[np.int64]]) -> bool:
        """True if the merge does not raise the largest sum of live bytes; `live` is then updated."""
        outer = self._slots[moves[0].outer]
        before = [self._lives[name] for name in (outer.name, *(move.inner for move in moves))]
        first, last = reduce(_union, before)
        window = live[outer.memory][first : last + 1]
        changed = window + _needed(outer)
        for slot, span in zip((outer, *(self._slots[m.inner] for m in moves)), before, strict=True):
            changed[span[0] - first : span[1] - first + 1] -= _needed(slot)
        if changed.max() > live[outer.memory].max():
            return False
        window[:] = changed
        return True

    def _size(self, name: str) -> int:
        return self._program.buffers[name].bytes

    def _buffer(self, name: str) -> str:
        """The buffer that a buffer is now part of."""
        return self._place(name)[0]

    def _place(self, name: str) -> tuple[str, int]:
        """The buffer that a buffer is now part of, and its offset there."""
        offset = 0
        while name in self._places:
            name, further = self._places[name]
            offset += further
        return name, offset

    def _slice(self, part: Slice) -> Slice:
        name, offset = self._place(part.of)
        return evolve(part, of=name, offset=part.offset + offset)

    def _rewritten(self, item: Item) -> Item:
        if isinstance(item, Transfer):
            pieces = tuple((self._slice(source), self._slice(target)) for source, target in item.pieces)
            return evolve(item, pieces=pieces)
        return evolve(item, operands=tuple(self._operand(operand, item) for operand in item.operands))

    def _operand(self, operand: Operand, run: Run) -> Operand:
        """The operand in its present buffer. A slice never reuses the place of an operand, nor is its place
        reused, nor that of a buffer which is now another operand, too.
        """
        if self._alike(operand.of):
            over = reusable_places(operand, run.operands, self._buffer, self._alike)
            return evolve(operand, of=self._buffer(operand.of), over=over)
        part = self._slice(operand.touched(self._size(operand.of)))
        return evolve(operand, of=part.of, offset=part.offset, bytes=part.row_bytes, over=())

    def _alike(self, name: str) -> bool:
        """True for a buffer that is not part of a larger one."""
        return self._size(name) == self._slots[self._buffer(name)].bytes


def _needed(slot: Slot) -> int:
    """The bytes of an arena that a buffer needs for a time."""
    return 0 if slot.settled else slot.bytes


def _union(one: Interval, other: Interval) -> Interval:
    """The shortest span that encloses two."""
    return min(one[0], other[0]), max(one[1], other[1])


def _meet(one: Slice, other: Slice) -> bool:
    """True where the ranges of two slices meet: rows count as all they enclose."""
    return one.offset < other.end and other.offset < one.end
