"""The costs of bringing a tensor to an instance and of taking its result away, for placement.

Time is counted in whole picoseconds, so that sums compare exactly. Sets of memories are bit masks.
"""

from collections.abc import Iterable

from attrs import frozen

from target_arch.soc.model import CopyPath, SoC
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.paths.routes import PICO, Routes


@frozen(kw_only=True)
class TransferCost:
    """The way of a tensor to an instance: `route` leads to the memory it `rests` in, `move` into the tiles.

    Both with the picoseconds of every path; `time` is their sum.
    """

    time: int
    rests: str
    route: tuple[tuple[CopyPath, int], ...]
    move: tuple[CopyPath, int] | None


class Traffic:
    """Costs of bringing and leaving, cached."""

    def __init__(self, soc: SoC, routes: Routes) -> None:
        self._routes = routes
        self._names = tuple(memory.name for memory in soc.memories)
        self._bits = {name: 1 << number for number, name in enumerate(self._names)}
        self._named: dict[int, tuple[str, ...]] = {}
        self._carried: dict[tuple[int, int, MemoryAccess], TransferCost | None] = {}
        self._brought: dict[tuple[int, int, MemoryAccess], tuple[int, int] | None] = {}
        self._left: dict[tuple[int, MemoryAccess], tuple[int, int] | None] = {}

    def mask(self, memories: Iterable[str]) -> int:
        """The set of memories as bits."""
        return sum(self._bits[name] for name in dict.fromkeys(memories))

    def names(self, mask: int) -> tuple[str, ...]:
        """The memories in a mask."""
        if mask not in self._named:
            self._named[mask] = tuple(name for name in self._names if self._bits[name] & mask)
        return self._named[mask]

    def bring(self, mask: int, bytes: int, to: MemoryAccess) -> tuple[int, int] | None:
        """Picoseconds until a tensor that is in every memory of `mask` is usable, and its memories then.

        None where no copy path leads there.
        """
        key = (mask, bytes, to)
        if key not in self._brought:
            carried = self.carry(mask, bytes, to)
            self._brought[key] = None if carried is None else (carried.time, mask | self._bits[carried.rests])
        return self._brought[key]

    def carry(self, mask: int, bytes: int, to: MemoryAccess) -> TransferCost | None:
        """How the tensor is brought: the cheapest source, memory to rest in, and move into the tiles."""
        key = (mask, bytes, to)
        if key not in self._carried:
            self._carried[key] = self._cheapest(mask, bytes, to)
        return self._carried[key]

    def _cheapest(self, mask: int, bytes: int, to: MemoryAccess) -> TransferCost | None:
        ways = [self._routes.ways(source, bytes) for source in self.names(mask)]
        options: list[tuple[int, int, int]] = []
        for number, memory in enumerate(to.reads):
            move = self._hop((memory,), to.local, bytes)
            if move is not None:
                routes = ((at, way[memory]) for at, way in enumerate(ways) if memory in way)
                options += [(round(route.seconds * PICO) + move, number, at) for at, route in routes]
        if not options:
            return None
        time, number, at = min(options)
        rests = to.reads[number]
        paths = ways[at][rests].paths
        return TransferCost(
            time=time,
            rests=rests,
            route=tuple((path, round(self._routes.seconds(path, bytes) * PICO)) for path in paths),
            move=self._routes.nearest((rests,), to.local, bytes),
        )

    def taken(self, bytes: int, to: MemoryAccess) -> tuple[CopyPath, int] | None:
        """The move by which a result leaves the tiles and its picoseconds; None where there are no tiles."""
        moves = [self._routes.nearest(to.local, (memory,), bytes) for memory in to.writes]
        return min((move for move in moves if move is not None), key=lambda move: move[1], default=None)

    def leave(self, bytes: int, to: MemoryAccess) -> tuple[int, int] | None:
        """Picoseconds to take a result out, and the memories it may have been taken to. None where none is
        linked.
        """
        key = (bytes, to)
        if key not in self._left:
            hops = [self._hop(to.local, (memory,), bytes) for memory in to.writes]
            known = [hop for hop in hops if hop is not None]
            self._left[key] = (min(known), self.mask(to.writes)) if known else None
        return self._left[key]

    def _hop(self, sources: tuple[str, ...], targets: tuple[str, ...], bytes: int) -> int | None:
        """The move between a tensor's memory and the tiles; nothing where tensors are touched in place."""
        if not sources or not targets:
            return 0
        move = self._routes.nearest(sources, targets, bytes)
        return None if move is None else move[1]
