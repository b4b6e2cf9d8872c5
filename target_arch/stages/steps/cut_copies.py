"""Copies of whole tensors cut where tiles of them are made and read, so that the first bytes of a tensor are
on their way while an accelerator makes the others, and its reader begins before the last ones are there.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import BufferKind
from target_arch.soc.rounding import round_up
from target_arch.stages.program.dependences import accesses
from target_arch.stages.program.items import Item, Transfer
from target_arch.stages.program.program import Program
from target_arch.stages.steps.simulation.times import Times

_LINE = 64
"""Pieces begin at multiples of it: of the lines of caches, and of what any path asks for."""
_STAYING = (BufferKind.LOCAL, BufferKind.CONSTANT, BufferKind.RESIDENT)
_WORTH = 2
"""A piece moves bytes for at least so many times its set-up."""


def cut_copies(program: Program, times: Times) -> Program:
    """The program with more transfers of fewer bytes each; the same one where no copy can be cut."""
    if not any(isinstance(item, Transfer) and _is_whole(item, program) for item in program.items):
        return program
    written, read = _ends(program)
    items: list[Item] = []
    for item in program.items:
        if isinstance(item, Transfer) and _is_whole(item, program):
            items += _cut(item, written, read, times)
        else:
            items.append(item)
    return evolve(program, items=tuple(items)) if len(items) > len(program.items) else program


def _is_whole(item: Transfer, program: Program) -> bool:
    """True for an asynchronous copy of bytes without gaps between two tensors, neither of them a tile."""
    if not item.path.is_async or _LINE % item.path.alignment:
        return False
    parts = (part for pair in item.pieces for part in pair)
    return all(part.rows == 1 and program.buffers[part.of].kind not in _STAYING for part in parts)


def _ends(program: Program) -> tuple[Mapping[str, set[int]], Mapping[str, set[int]]]:
    """By buffer the ends of the parts that are written, and of those that are read."""
    written, read = dict[str, set[int]](), dict[str, set[int]]()
    for item in program.items:
        for part, writes in accesses(program, item):
            (written if writes else read).setdefault(part.of, set()).add(part.end)
    return written, read


def _cut(
    item: Transfer, written: Mapping[str, set[int]], read: Mapping[str, set[int]], times: Times
) -> Iterator[Transfer]:
    """The transfers of a transfer, in the order of its bytes."""
    least = times.transfer(item.path, 0) * (1 + _WORTH)
    for source, target in item.pieces:
        made = {end // _LINE * _LINE - source.offset for end in written.get(source.of, ())}
        used = {round_up(end, _LINE) - target.offset for end in read.get(target.of, ())}
        start = 0
        for end in sorted(made | used):
            sides = (end - start, source.row_bytes - end)
            lines = (source.offset + end) % _LINE == 0 == (target.offset + end) % _LINE
            if lines and min(sides) > 0 and min(times.transfer(item.path, side) for side in sides) >= least:
                yield _part(item, source, target, start, end)
                start = end
        yield _part(item, source, target, start, source.row_bytes)


def _part(item: Transfer, source: Slice, target: Slice, start: int, end: int) -> Transfer:
    pair = (
        evolve(source, offset=source.offset + start, row_bytes=end - start),
        evolve(target, offset=target.offset + start, row_bytes=end - start),
    )
    return evolve(item, pieces=(pair,))
