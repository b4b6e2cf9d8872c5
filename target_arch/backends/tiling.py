"""Tiles for devices whose local memory is smaller than a layer.

Three pieces that every tiling backend needs: what the copy paths to a local memory demand (`Link`), which
tile sizes are worth trying (`tile_sizes`, `loads`), and the recording of a kernel's actions (`Recorder`),
which knows the contents of every local buffer and never moves bytes that are already there.
"""

from collections.abc import Iterable, Iterator
from math import gcd

from attrs import evolve, field, frozen, mutable

from target_arch.plan.kernels import Access, Call, LocalBuffer, Move, Operand, Slice
from target_arch.soc.model import SoC
from target_arch.soc.rounding import ceil_div, round_up

Span = tuple[int, int]
"""The first index, and the one after the last."""
Spans = tuple[Span, ...]

UNSTATED_BANDWIDTH = 100e6
"""Bytes per second assumed for a copy path that states none; only compared, never promised."""


@frozen(kw_only=True)
class Link:
    """The limits that every copy path into (or out of) one memory keeps: the strictest of all of them.

    The backend does not choose the far end of a move, so a move must suit each path. `bandwidth` is the
    lowest in bytes per second, `setup` the longest in seconds, `max_bytes` the smallest limit of one
    transfer.
    """

    alignment: int
    max_bytes: int | None
    two_dimensional: bool
    bandwidth: float
    setup: float

    @property
    def limits(self) -> tuple[int, int | None, bool]:
        """The limits of single transfers, however fast they are."""
        return self.alignment, self.max_bytes, self.two_dimensional

    def unit(self, run_bytes: int) -> int:
        """The least count of runs of `run_bytes` whose total is aligned."""
        return self.alignment // gcd(self.alignment, run_bytes)

    def seconds(self, moved: int, transfers: int) -> float:
        """Time of that many bytes in that many transfers, one after the other."""
        return moved / self.bandwidth + transfers * self.setup


def link(soc: SoC, memory: str, *, inward: bool) -> Link | None:
    """The link into (`inward`) or out of a memory; None where no path is declared."""
    paths = [path for path in soc.copies if (path.target if inward else path.source) == memory]
    if not paths:
        return None
    limits = [path.max_bytes for path in paths if path.max_bytes is not None]
    return Link(
        alignment=max(path.alignment for path in paths),
        max_bytes=min(limits, default=None),
        two_dimensional=all(path.dimensions == 2 for path in paths),
        bandwidth=min(path.bandwidth or UNSTATED_BANDWIDTH for path in paths),
        setup=max(path.setup for path in paths),
    )


def tile_sizes(extent: int, unit: int = 1) -> tuple[int, ...]:
    """Tile sizes worth trying, largest first: for a count of tiles the smallest size that needs no more of
    them.

    Every size but `extent` itself is a multiple of `unit`, so that each tile starts at a multiple of it.
    Counts up to eight are all tried, then every count about a quarter larger than the one before, and last
    the smallest tiles.
    """
    sizes = {extent}
    count = 1
    while count < extent:
        count = min(extent, count + max(1, count // 8 * 2))
        size = round_up(ceil_div(extent, count), unit)
        if size < extent:
            sizes.add(size)
    return tuple(sorted(sizes, reverse=True))


def spans(extent: int, size: int) -> Spans:
    """The half-open spans of `size` (the last may be shorter) that cover `0 … extent` exactly once."""
    return tuple((first, min(first + size, extent)) for first in range(0, extent, size))


def tiles(rows: Spans, columns: Spans, *, columns_outer: bool) -> Iterator[tuple[Span, Span]]:
    """Every pair of a span of rows and a span of columns: the columns of each rows in turn, or where
    `columns_outer` the rows of each columns.
    """
    if columns_outer:
        return ((row, column) for column in columns for row in rows)
    return ((row, column) for row in rows for column in columns)


def loads(distinct: int, rounds: int, buffers: int) -> int:
    """How often a block is brought in when `distinct` blocks are needed in turn, `rounds` times over.

    The least recently used of `buffers` is replaced, as in `Ring`.
    """
    return distinct if distinct <= buffers else distinct * rounds


def moves(source: Slice, target: Slice, over: Link) -> tuple[Move, ...]:
    """One slice carried to the other in as few transfers as the link allows.

    Both have the same rows. Rows are carried one by one where the link is not 2-D, and cut where one transfer
    would be longer than the link allows (at aligned places).
    """
    if source.rows > 1 and not _one_transfer(source, over):
        pairs = zip(_rows(source), _rows(target), strict=True)
        return tuple(move for pair in pairs for move in moves(*pair, over))
    if over.max_bytes is None or source.row_bytes <= over.max_bytes:
        return (Move(source=source, target=target),)
    piece = over.max_bytes - over.max_bytes % over.alignment
    return tuple(
        Move(source=_cut(source, first, last), target=_cut(target, first, last))
        for first, last in spans(source.row_bytes, piece)
    )


def _one_transfer(piece: Slice, over: Link) -> bool:
    return over.two_dimensional and (over.max_bytes is None or piece.row_bytes <= over.max_bytes)


def _rows(piece: Slice) -> tuple[Slice, ...]:
    starts = range(piece.offset, piece.offset + piece.rows * piece.stride, piece.stride)
    return tuple(Slice(of=piece.of, offset=start, row_bytes=piece.row_bytes) for start in starts)


def _cut(piece: Slice, first: int, last: int) -> Slice:
    return evolve(piece, offset=piece.offset + first, row_bytes=last - first)


def rows_of(of: str, *, offset: int, rows: int, row_bytes: int, stride: int) -> Slice:
    """A slice of equal rows, as one run where they touch."""
    if rows == 1 or stride == row_bytes:
        return Slice(of=of, offset=offset, row_bytes=rows * row_bytes)
    return Slice(of=of, offset=offset, row_bytes=row_bytes, rows=rows, stride=stride)


@mutable(kw_only=True)
class _Local:
    name: str
    bytes: int = 0
    holds: Slice | None = None
    used: int = 0


@mutable(kw_only=True)
class Ring:
    """The local buffers of one role (`input`, `weights`, `output`) in one memory, and the contents of each.

    A ring of two lets the next tile arrive while the device still reads this one.
    """

    role: str
    memory: str
    alignment: int
    locals: list[_Local] = field(factory=list)

    def holder(self, wanted: Slice) -> _Local | None:
        """The buffer that already holds all bytes of the slice."""
        return next((local for local in self.locals if local.holds and _contains(local.holds, wanted)), None)

    def claim(self, count: int, size: int) -> _Local:
        """The least recently used of the first `count` buffers, made at least `size` large and now empty."""
        while len(self.locals) < count:
            self.locals.append(_Local(name=f"{self.role}{len(self.locals)}"))
        local = min(self.locals[:count], key=lambda each: each.used)
        local.bytes = max(local.bytes, size)
        local.holds = None
        return local


def after(operand: Operand, bytes: int) -> Operand:
    """The operand less its first bytes."""
    left = None if operand.bytes is None else operand.bytes - bytes
    return evolve(operand, offset=operand.offset + bytes, bytes=left)


def _contains(held: Slice, wanted: Slice) -> bool:
    if held == wanted:
        return True
    runs = held.of == wanted.of and held.rows == 1 and wanted.rows == 1
    return runs and held.offset <= wanted.offset and wanted.end <= held.end


class Recorder:
    """Records the actions of one kernel.

    A result is moved out one call late, after the move in and the start of the next call, so that the device
    computes while its last result leaves.
    """

    def __init__(self) -> None:
        self._actions: list[Move | Call] = []
        self._rings: dict[str, Ring] = {}
        self._leaving: list[tuple[str, tuple[Move, ...]]] = []
        self._clock = 0

    def fetch(self, ring: Ring, count: int, source: Slice, over: Link) -> Operand:
        """Bring a slice of a tensor into one of `count` buffers of the ring; the operand starts at its first
        byte.

        The bytes before the slice back to an aligned offset come along, since the link can start nowhere
        else.
        """
        lead = source.offset % over.alignment if source.rows == 1 else 0
        whole = evolve(source, offset=source.offset - lead, row_bytes=source.row_bytes + lead)
        local = ring.holder(whole)
        if local is None:
            local = self._claim(ring, count, whole.bytes)
            stride = whole.row_bytes if whole.rows > 1 else 0
            self._actions += moves(whole, evolve(whole, of=local.name, offset=0, stride=stride), over)
            local.holds = whole
        self._touch(local)
        assert local.holds is not None
        start = source.offset - local.holds.offset
        return Operand(of=local.name, access=Access.READ, offset=start, bytes=source.bytes)

    def claim(self, ring: Ring, count: int, size: int) -> Operand:
        """One of `count` buffers of the ring for a call to write."""
        local = self._claim(ring, count, size)
        self._touch(local)
        return Operand(of=local.name, access=Access.WRITE, bytes=size)

    def call(self, call: Call, written: Operand | None, target: Slice | None, over: Link) -> None:
        """Record a call; where it completes a tile, `written` leaves for `target`."""
        self._actions.append(call)
        self._drain()
        if written is None or target is None:
            return
        stride = target.row_bytes if target.rows > 1 else 0
        source = evolve(target, of=written.of, offset=written.offset, stride=stride)
        self._leaving.append((written.of, moves(source, target, over)))

    def finish(self) -> None:
        """Move every pending result out, so that the next operator can read it."""
        self._drain()

    @property
    def actions(self) -> tuple[Move | Call, ...]:
        return tuple(self._actions)

    @property
    def buffers(self) -> tuple[LocalBuffer, ...]:
        """The local buffers in use, by name."""
        return tuple(
            LocalBuffer(name=local.name, bytes=local.bytes, memory=ring.memory, alignment=ring.alignment)
            for _, ring in sorted(self._rings.items())
            for local in ring.locals
        )

    def _claim(self, ring: Ring, count: int, size: int) -> _Local:
        self._rings[ring.role] = ring
        local = ring.claim(count, size)
        self._drain(local.name)
        return local

    def _touch(self, local: _Local) -> None:
        self._clock += 1
        local.used = self._clock

    def _drain(self, buffer: str | None = None) -> None:
        """Record the pending moves out: those of one buffer, or all."""
        for _, leaving in [each for each in self._leaving if buffer in (None, each[0])]:
            self._actions += leaving
        self._leaving = [each for each in self._leaving if buffer not in (None, each[0])]


def needed(sizes: Iterable[tuple[int, int]], alignment: int) -> int:
    """Bytes that `(count, size)` buffers take, each starting aligned."""
    return sum(count * round_up(size, alignment) for count, size in sizes)
