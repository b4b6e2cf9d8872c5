"""Routes over declared copy paths: the cheapest between two memories, and the pieces that one path carries at
once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count

from attrs import evolve, frozen

from target_arch.diagnostics import listed
from target_arch.plan.kernels import Slice
from target_arch.soc.model import CopyPath, SoC
from target_arch.soc.rounding import ceil_div, round_up

PICO = 10**12
"""Picoseconds in a second. Whole picoseconds add up exactly."""


@frozen
class _Speed:
    """The time of copies over one path: seconds for each piece, bytes per second (None where nothing limits
    them), and the bytes of one piece (None where nothing cuts them).
    """

    delay: float
    bandwidth: float | None
    block: int | None

    def seconds(self, bytes: int, pieces: int | None = None) -> float:
        if pieces is None:
            pieces = ceil_div(bytes, self.block) if self.block else 1
        return pieces * self.delay + (bytes / self.bandwidth if self.bandwidth else 0.0)


@frozen
class Route:
    """A chain of paths, and the seconds that a copy takes over one after the other."""

    paths: tuple[CopyPath, ...]
    seconds: float


class Routes:
    """The declared copy paths of a SoC as a graph of memories.

    `through` are the memories in which bytes may rest between two hops.
    """

    def __init__(self, soc: SoC, through: Iterable[str]) -> None:
        self._soc = soc
        self._through = frozenset(name for name in through if soc.memory(name).writable)
        self._direct: dict[tuple[str, str], tuple[CopyPath, ...]] = {}
        for path in soc.copies:
            ends = (path.source, path.target)
            self._direct[ends] = (*self._direct.get(ends, ()), path)
        self._ends: dict[str, list[str]] = {}
        for source, target in self._direct:
            self._ends.setdefault(source, []).append(target)
        self._speeds: dict[CopyPath, _Speed] = {}
        self._known: dict[tuple[str, int], dict[str, Route]] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._hops: dict[tuple[str, str, int], tuple[CopyPath, float] | None] = {}

    def direct(self, source: str, target: str) -> tuple[CopyPath, ...]:
        """The declared paths from one memory straight to another, in the order of the description."""
        return self._direct.get((source, target), ())

    def seconds(self, path: CopyPath, bytes: int, pieces: int | None = None) -> float:
        """Time of one copy of contiguous bytes: set-up for each piece the block limit cuts it into, latency,
        bytes / bandwidth.
        """
        return self._speed(path).seconds(bytes, pieces)

    def _speed(self, path: CopyPath) -> _Speed:
        known = self._speeds.get(path)
        if known is None:
            known = self._speeds[path] = self._speed_of(path)
        return known

    def _speed_of(self, path: CopyPath) -> _Speed:
        source, target = self._soc.memory(path.source), self._soc.memory(path.target)
        rates = (path.bandwidth, source.read_bandwidth, target.write_bandwidth)
        return _Speed(
            delay=path.setup + source.latency + target.latency,
            bandwidth=min((rate for rate in rates if rate), default=None),
            block=_block(path) if path.max_bytes else None,
        )

    def hop(self, source: str, target: str, bytes: int) -> CopyPath | None:
        """The cheapest direct path; an asynchronous one where costs are equal."""
        timed = self._timed(source, target, bytes)
        return None if timed is None else timed[0]

    def nearest(
        self, sources: Iterable[str], targets: Collection[str], bytes: int
    ) -> tuple[CopyPath, int] | None:
        """The cheapest direct path from one of the memories to one of the others, and its picoseconds.

        It moves a whole tensor into the tiles of an accelerator, or out of them.
        """
        best: tuple[CopyPath, int] | None = None
        for source in sources:
            for target in targets:
                hop = self._timed(source, target, bytes)
                if hop is None:
                    continue
                time = round(hop[1] * PICO)
                if best is None or time < best[1]:
                    best = hop[0], time
        return best

    def route(self, source: str, target: str, bytes: int) -> tuple[CopyPath, ...] | None:
        """The cheapest chain of paths; empty where source is target, None where no chain leads there."""
        found = self.ways(source, bytes).get(target)
        return None if found is None else found.paths

    def route_seconds(self, source: str, target: str, bytes: int) -> float | None:
        """Time of the cheapest chain, hop after hop; None where there is none."""
        found = self.ways(source, bytes).get(target)
        return None if found is None else found.seconds

    def ways(self, source: str, bytes: int) -> Mapping[str, Route]:
        """The cheapest chain to each memory that one leads to."""
        key = (source, bytes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._from(source, bytes)
        return known

    def leads(self, source: str, targets: Iterable[str]) -> bool:
        """Whether a chain of paths leads to one of the memories; whatever it takes."""
        if source not in self._reached:
            self._reached[source] = frozenset(self._from(source, 0))
        return not self._reached[source].isdisjoint(targets)

    def missing(self, sources: Iterable[str], targets: Iterable[str]) -> str:
        """The message that no route leads from any of the sources to any of the targets."""
        have, want = listed(sources), listed(targets)
        return f"no copy path leads from {have} to {want}"

    def _timed(self, source: str, target: str, bytes: int) -> tuple[CopyPath, float] | None:
        """The cheapest direct path with its time."""
        key = (source, target, bytes)
        try:
            return self._hops[key]
        except KeyError:
            paths = [(path, self.seconds(path, bytes)) for path in self.direct(source, target)]
            found = min(paths, key=lambda hop: (hop[1], not hop[0].is_async), default=None)
            self._hops[key] = found
            return found

    def _from(self, source: str, bytes: int) -> dict[str, Route]:
        """As `ways`, by Dijkstra's algorithm; of equally cheap chains the one that was found first."""
        nearest, found = {source: Route((), 0.0)}, dict[str, Route]()
        waiting, turns = [(0.0, 0, source)], count(1)
        while waiting:
            so_far, _, memory = heappop(waiting)
            if memory in found:
                continue
            way = found[memory] = nearest[memory]
            rests = memory == source or memory in self._through
            for target in self._ends.get(memory, ()) if rests else ():
                hop, known = self._timed(memory, target, bytes), nearest.get(target)
                if hop is not None and (known is None or so_far + hop[1] < known.seconds):
                    nearest[target] = Route((*way.paths, hop[0]), so_far + hop[1])
                    heappush(waiting, (so_far + hop[1], next(turns), target))
        return found


def pieces(path: CopyPath, source: Slice, target: Slice) -> tuple[tuple[Slice, Slice], ...] | None:
    """The transfers by which a path carries one slice to another, or None where its alignment forbids it.

    Rows are copied one by one over a path with one dimension; rows above the block limit are cut into
    columns. Both slices of a transfer have equally many rows of equal size.
    """
    cut = [
        piece
        for pair in _same_rows(source, target)
        for column in _columns(path, *pair)
        for piece in (_rows(*column) if path.dimensions == 1 else (column,))
    ]
    return tuple(cut) if all(_aligned(path, *piece) for piece in cut) else None


def chunks(source: Slice, target: Slice, most: int, unit: int = 1) -> Iterator[tuple[Slice, Slice]]:
    """Two slices of equally many bytes, cut into pieces of at most so many bytes each: some rows, or a part
    of one row. The bytes of a piece are counted as if each of its rows began at a multiple of a unit.
    """
    for start, end in _same_rows(source, target):
        if start.row_bytes <= most:
            rows = (most - start.row_bytes) // round_up(start.row_bytes, unit) + 1
            for first in range(0, start.rows, rows):
                yield _rows_of(start, first, rows), _rows_of(end, first, rows)
            continue
        for left, right in _rows(start, end):
            for first in range(0, left.row_bytes, most):
                yield _column(left, first, most), _column(right, first, most)


def _rows_of(part: Slice, first: int, rows: int) -> Slice:
    return evolve(part, offset=part.offset + first * part.stride, rows=min(rows, part.rows - first))


def transfers(path: CopyPath, bytes: int) -> int:
    """The transfers that contiguous bytes take over a path."""
    return ceil_div(bytes, _block(path)) if path.max_bytes else 1


def _block(path: CopyPath) -> int:
    """Bytes of one transfer (one row): the limit, rounded down so that the next one starts aligned."""
    limit = path.max_bytes or 0
    return max(limit - limit % path.alignment, 1)


def _same_rows(first: Slice, second: Slice) -> list[tuple[Slice, Slice]]:
    source, target = _plain(first), _plain(second)
    if source.row_bytes == target.row_bytes:
        return [(source, target)]
    if source.rows == 1:
        return [(_folded(source, target), target)]
    if target.rows == 1:
        return [(source, _folded(target, source))]
    return _runs(source, target)


def _plain(part: Slice) -> Slice:
    """A slice whose rows are adjacent as one row."""
    if part.rows > 1 and part.stride == part.row_bytes:
        return Slice(of=part.of, offset=part.offset, row_bytes=part.bytes)
    return part


def _folded(whole: Slice, like: Slice) -> Slice:
    """A contiguous slice cut into rows like those of the other slice."""
    return evolve(whole, row_bytes=like.row_bytes, rows=like.rows, stride=like.row_bytes)


def _runs(source: Slice, target: Slice) -> list[tuple[Slice, Slice]]:
    """Two strided slices of different rows, as the longest runs that are contiguous in both."""
    found: list[tuple[Slice, Slice]] = []
    done = 0
    while done < source.bytes:
        (start, left), (end, room) = _position(source, done), _position(target, done)
        run = min(left, room)
        found.append(
            (Slice(of=source.of, offset=start, row_bytes=run), Slice(of=target.of, offset=end, row_bytes=run))
        )
        done += run
    return found


def _position(part: Slice, done: int) -> tuple[int, int]:
    """The offset of the byte number `done` of a slice, and the bytes left in its row."""
    row, inside = divmod(done, part.row_bytes)
    return part.offset + row * part.stride + inside, part.row_bytes - inside


def _columns(path: CopyPath, source: Slice, target: Slice) -> list[tuple[Slice, Slice]]:
    if path.max_bytes is None or source.row_bytes <= path.max_bytes:
        return [(source, target)]
    block = _block(path)
    return [
        (_column(source, start, block), _column(target, start, block))
        for start in range(0, source.row_bytes, block)
    ]


def _column(part: Slice, start: int, block: int) -> Slice:
    return evolve(part, offset=part.offset + start, row_bytes=min(block, part.row_bytes - start))


def _rows(source: Slice, target: Slice) -> list[tuple[Slice, Slice]]:
    return [
        (
            Slice(of=source.of, offset=source.offset + row * source.stride, row_bytes=source.row_bytes),
            Slice(of=target.of, offset=target.offset + row * target.stride, row_bytes=target.row_bytes),
        )
        for row in range(source.rows)
    ]


def _aligned(path: CopyPath, source: Slice, target: Slice) -> bool:
    numbers = (source.offset, target.offset, source.stride, target.stride)
    return all(number % path.alignment == 0 for number in numbers)
