"""Resident constants: bytes that every run would copy to the same place are copied there once, by `init`.

What may stay is a *content*: bytes of constants in a buffer that nothing else is ever written to. A tile of
weights that is overwritten by the next one has several contents in turn, each of which may have a buffer of
its own. Where memories have room beside everything else, contents become residents: those first that save
the most time of copies per byte. Then steps are ordered and memory is planned again, so that residents take
no byte which anything else needs. The simulated run decides whether they stay.

Tests: `tests/stages/steps/test_residents.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve, field, frozen, mutable
from numpy.typing import NDArray

from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Arena, BufferKind
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Fill
from target_arch.soc.model import CopyPath
from target_arch.soc.rounding import round_up
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.allocate import arena_capacity, capacities
from target_arch.stages.paths.routes import PICO
from target_arch.stages.program.dependences import accesses
from target_arch.stages.program.hazards import overlap
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.fit import Fitted
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.overlap import overlapped
from target_arch.stages.steps.simulation.times import Times

ROUNDS = 3
"""How often more constants are chosen: what stays needs no bytes of its own any more, and leaves room."""

_LINE = 64
"""Residents are counted in whole units of it, or of the alignment of their memory where that is more."""

_Piece = tuple[Slice, Slice, CopyPath]
"""Bytes of a constant, their place in a buffer, and the path that carries them there."""


def settled_run(work: PartialLowering, settled: Fitted) -> Fitted:
    """The fitted model with a simulated run of steps that overlap; with constants that stay from run to run
    where these are wished for, and make the run shorter.
    """
    copying = overlapped(work, settled)
    if work.setting.resident is Resident.NEVER or copying.execution is None:
        return copying
    filled = with_residents(work, settled)
    if filled is None:
        return copying
    staying = overlapped(work, filled)
    if staying.execution is None or staying.execution.makespan >= copying.execution.makespan:
        return copying
    return evolve(staying, execution=_told(work, staying, staying.execution, copying.execution))


def _told(work: PartialLowering, staying: Fitted, run: Execution, copying: Execution) -> Execution:
    """The run with what it took before, and the time of the copies at `init`."""
    times = Times(work)
    memories = {buffer.name: buffer.memory for buffer in staying.steps.buffers}
    copies = (step.copy for step in staying.steps.steps if isinstance(step, Fill))
    filling = sum(
        times.copy(memories[c.source.of], memories[c.target.of], c.engine, c.source.bytes) for c in copies
    )
    return evolve(run, copied=copying.makespan, filling=filling / PICO)


def with_residents(work: PartialLowering, settled: Fitted) -> Fitted | None:
    """The fitted model with as many constants resident as the room beside its buffers allows; None where none
    can be. It has no simulated run.
    """
    times, found = Times(work), settled
    for _ in range(ROUNDS):
        picked = chosen(contents(found.program, times), room(work, found))
        if not picked:
            break
        program = staying(found.program, picked)
        steps = steps_of(work, program, found.homes, times)
        try:
            plan = work.setting.planner.plan(steps.buffers, capacities(work.soc))
        except DoesNotFitError:
            break
        found = evolve(found, program=program, steps=steps, plan=plan)
    return None if found is settled else found


def room(work: PartialLowering, found: Fitted) -> dict[str, int]:
    """By memory the bytes that nothing needs, at any time of a run, or in the turns of other models."""
    left: dict[str, int] = {}
    for memory in work.soc.memories:
        unit = max(_LINE, work.setting.alignments[memory.name])
        needed = max(found.plan.peaks.get(Arena(memory.name), 0), work.setting.held.get(memory.name, 0))
        free = arena_capacity(found.plan, memory.name, memory.size) - round_up(needed, unit)
        left[memory.name] = free - free % unit
    return left


@frozen(kw_only=True)
class ResidentContent:
    """Bytes of constants that stay in one place of a memory while items read them.

    `slot` is the buffer in which they are first, `pieces` are what it is filled with. `copies` are the items
    that carry them there, `reads` those that read them, each with the buffer in which it finds them;
    `seconds` is the time of the copies in a run.
    """

    name: str
    slot: Slot
    pieces: tuple[_Piece, ...]
    partition: str
    copies: tuple[int, ...] = field(repr=False)
    reads: tuple[tuple[int, str], ...] = field(repr=False)
    seconds: float

    @property
    def bytes(self) -> int:
        """The bytes that it takes."""
        return round_up(self.slot.bytes, max(_LINE, self.slot.alignment))

    @property
    def worth(self) -> float:
        """Seconds saved per byte."""
        return self.seconds / max(self.bytes, 1)


@mutable(kw_only=True)
class _Filling:
    """The content of a buffer from one item that overwrites something in it to the next."""

    pieces: dict[tuple[Slice, Slice], CopyPath]
    partition: str
    whole: bool = True
    """Whether the pieces say all that is there."""
    copies: list[int] = field(factory=list)
    reads: list[tuple[int, Slice]] = field(factory=list)


def contents(program: Program, times: Times) -> tuple[ResidentContent, ...]:
    """The contents of all buffers that constants alone are written to. Equal ones are one."""
    fillings = _fillings(program)
    merged: dict[object, ResidentContent] = {}
    for name, there in fillings.items():
        slot = program.buffers[name]
        for number, one in enumerate(there):
            pieces = tuple(_read(one))
            if not pieces or not _covered(one, slot.bytes):
                continue
            own = ResidentContent(
                name=name if len(there) == 1 else f"{name}.{number}",
                slot=slot,
                pieces=pieces,
                partition=one.partition,
                copies=tuple(one.copies),
                reads=tuple((item, name) for item, _ in one.reads),
                seconds=sum(_seconds(program.items[item], times) for item in one.copies),
            )
            places = frozenset((source, target.renamed("")) for source, target, _ in pieces)
            key = (slot.memory, slot.bytes, slot.tensor, places)
            merged[key] = _together(merged[key], own) if key in merged else own
    return tuple(merged.values())


def _together(one: ResidentContent, other: ResidentContent) -> ResidentContent:
    alignment = max(one.slot.alignment, other.slot.alignment)
    return evolve(
        one,
        slot=evolve(one.slot, alignment=alignment),
        copies=(*one.copies, *other.copies),
        reads=(*one.reads, *other.reads),
        seconds=one.seconds + other.seconds,
    )


def _seconds(item: Item, times: Times) -> float:
    assert isinstance(item, Transfer)
    return sum(times.transfer(item.path, source.bytes) for source, _ in item.pieces) / PICO


def _fillings(program: Program) -> dict[str, list[_Filling]]:
    """The contents of each buffer, one after the other, of those that are filled with constants alone."""
    able, found = _able(program), dict[str, list[_Filling]]()
    for number, item in enumerate(program.items):
        if isinstance(item, Transfer) and item.pieces[0][1].of in able:
            _fill(found.setdefault(item.pieces[0][1].of, []), number, item)
        for part, writes in accesses(program, item):
            if part.of in able and not writes and part.of in found:
                found[part.of][-1].reads.append((number, part))
            elif part.of in able and not writes:
                able.discard(part.of)
    return {name: there for name, there in found.items() if name in able}


def _able(program: Program) -> set[str]:
    """The buffers that nothing but constants is written to."""
    kinds = {name: slot.kind for name, slot in program.buffers.items()}
    able = {
        name
        for name, slot in program.buffers.items()
        if slot.kind in (BufferKind.ACTIVATION, BufferKind.LOCAL)
        and not (slot.caller or slot.aliases or name in program.kept)
    }
    for item in program.items:
        if isinstance(item, Run):
            able.difference_update(operand.of for operand in item.operands if operand.access.writes)
        elif kinds[item.pieces[0][0].of] not in (BufferKind.CONSTANT, BufferKind.RESIDENT):
            able.discard(item.pieces[0][1].of)
    return able


def _fill(there: list[_Filling], number: int, item: Transfer) -> None:
    """An item copies constants into a buffer: what it overwrites with other bytes is gone."""
    known, whole = (there[-1].pieces, there[-1].whole) if there else ({}, True)
    changed = [
        other for other in known if any(new != other and overlap(new[1], other[1]) for new in item.pieces)
    ]
    if changed or not there:
        kept = {other: path for other, path in known.items() if other not in changed}
        for other in changed:
            left = _left(other, [new[1] for new in item.pieces], known[other])
            whole = whole and left is not None
            kept.update(dict.fromkeys(left or (), known[other]))
        there.append(_Filling(pieces=kept, partition=item.partition, whole=whole))
    there[-1].pieces.update(dict.fromkeys(item.pieces, item.path))
    there[-1].copies.append(number)


def _left(
    piece: tuple[Slice, Slice], over: Sequence[Slice], path: CopyPath
) -> list[tuple[Slice, Slice]] | None:
    """The rest of a piece under others, in runs of bytes that the path can carry; else None."""
    source, target = piece
    left = [(target.offset, target.end)]
    for other in over:
        if not overlap(other, target):
            continue
        if other.rows > 1 or target.rows > 1 or source.rows > 1:
            return None
        sides = (((start, min(end, other.offset)), (max(start, other.end), end)) for start, end in left)
        left = [side for pair in sides for side in pair if side[0] < side[1]]
    if any((start - target.offset) % path.alignment for start, _ in left):
        return None
    return [
        (_part(source, start - target.offset, end - start), _part(target, start - target.offset, end - start))
        for start, end in left
    ]


def _part(whole: Slice, skip: int, bytes: int) -> Slice:
    return evolve(whole, offset=whole.offset + skip, row_bytes=bytes)


def _covered(one: _Filling, size: int) -> bool:
    """Whether the pieces are all that is read."""
    if not one.whole:
        return False
    there = np.zeros(size, dtype=np.bool_)
    for _, target in one.pieces:
        there[_places(target)] = True
    return all(bool(there[_places(part)].all()) for _, part in one.reads)


def _places(part: Slice) -> NDArray[np.int64]:
    rows = part.offset + np.arange(part.rows) * part.stride
    return (rows[:, None] + np.arange(part.row_bytes)).ravel()


def _read(one: _Filling) -> Iterator[_Piece]:
    """The pieces of which an item reads some bytes."""
    for (source, target), path in one.pieces.items():
        if any(overlap(target, part) for _, part in one.reads):
            yield source, target, path


def chosen(able: Sequence[ResidentContent], left: Mapping[str, int]) -> list[ResidentContent]:
    """The contents that save the most per byte, as far as the memories have room."""
    free, picked = dict(left), list[ResidentContent]()
    for one in sorted(able, key=lambda content: (-content.worth, content.name)):
        if one.bytes <= free[one.slot.memory]:
            free[one.slot.memory] -= one.bytes
            picked.append(one)
    return picked


def staying(program: Program, kept: Iterable[ResidentContent]) -> Program:
    """The program in which these contents are residents: nothing copies them, and items read them there."""
    buffers, fills = dict(program.buffers), list(program.fills)
    gone, names = set[int](), dict[int, dict[str, str]]()
    for one in kept:
        gone.update(one.copies)
        for number, name in one.reads:
            names.setdefault(number, {})[name] = one.name
        slot = evolve(one.slot, name=one.name, kind=BufferKind.RESIDENT, partition=None)
        buffers[one.name] = slot
        fills += _transfers(one)
    items = (
        _renamed(item, names.get(number, {}))
        for number, item in enumerate(program.items)
        if number not in gone
    )
    return evolve(program, items=tuple(items), buffers=buffers, fills=tuple(fills))


def _transfers(one: ResidentContent) -> Iterator[Transfer]:
    for source, target, path in one.pieces:
        pair = (source, target.renamed(one.name))
        yield Transfer(path=path, pieces=(pair,), partition=one.partition)


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    """The item that reads residents in place of these buffers, over which nothing is written any more."""
    if not names:
        return item
    if isinstance(item, Run):
        return evolve(item, operands=tuple(_operand(operand, names) for operand in item.operands))
    pieces = tuple((source.renamed(names.get(source.of, source.of)), to) for source, to in item.pieces)
    return evolve(item, pieces=pieces)


def _operand(operand: Operand, names: Mapping[str, str]) -> Operand:
    over = tuple(name for name in operand.over if name not in names)
    return evolve(operand.renamed(names.get(operand.of, operand.of)), over=over)
