"""The moves of tilings, whatever the chip's speed, and the time of each on a chip: of a whole set at once.

    copying   = bytes moved / bandwidth + transfers x set-up
    computing = calls x start + multiply-accumulates / rate
    cost      = max(copying, computing) + min(copying, computing) / calls   where copies run beside computing
              = copying + computing                                         elsewhere

Tests: `tests/backends/test_tile_costs.py`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from target_arch.backends.tiling import Link

if TYPE_CHECKING:  # loaded where tilings are priced, so that a SoC file is checked without it
    import numpy as np
    from numpy.typing import NDArray


@frozen(kw_only=True)
class TileMoves:
    """The moves of one tiling: by link the bytes, and in how many transfers.

    `calls` are those of the engine, one for each tile. `rings` are (transfers, buffers) of each role that
    moves.
    """

    carried: tuple[tuple[int, int], ...]
    calls: int
    rings: tuple[tuple[int, int], ...]

    @property
    def overlap(self) -> bool:
        """Whether copies run beside the computing of the tile before, all but the first copy and the last
        computation: every role that moves more than once has two buffers.
        """
        return all(transfers == 1 or buffers > 1 for transfers, buffers in self.rings)


@frozen(kw_only=True)
class EngineSpeed:
    """The speed of an engine on its chip: of its links, in the order of `TileMoves`; and the seconds in which
    a call starts, and of one multiply-accumulate.
    """

    links: tuple[Link, ...]
    start: float
    per_mac: float


class TileCosts:
    """The moves of tilings of one layer, in columns, and the bytes that each takes in every part of its local
    memory.
    """

    def __init__(self, macs: int, moves: Sequence[TileMoves], taken: Sequence[Sequence[int]]) -> None:
        import numpy as np

        self._macs = macs
        carried = np.array([each.carried for each in moves], dtype=np.float64)
        self._bytes, self._transfers = carried[..., 0].T, carried[..., 1].T
        self._calls = np.array([each.calls for each in moves], dtype=np.float64)
        self._overlap = np.array([each.overlap for each in moves])
        self._taken = np.array(taken, dtype=np.int64)
        self._footprint = self._taken.sum(axis=1)

    def seconds(self, speed: EngineSpeed) -> "NDArray[np.float64]":
        """The estimate of this module's docstring, for each tiling."""
        import numpy as np

        copying = np.zeros_like(self._calls)
        for moved, transfers, link in zip(self._bytes, self._transfers, speed.links, strict=True):
            copying += moved / link.bandwidth + transfers * link.setup
        computing = self._calls * speed.start + self._macs * speed.per_mac
        longer, shorter = np.maximum(copying, computing), np.minimum(copying, computing)
        return np.where(self._overlap, longer + shorter / self._calls, copying + computing)

    def cheapest(
        self, speed: EngineSpeed, parts: Sequence[int] | None, most: int | None = None
    ) -> int | None:
        """The number of the cheapest tiling that takes at most so many bytes of each part, and in all; of
        equally cheap ones the smallest, of equally small ones the first. None where none fits.
        """
        import numpy as np

        fits = np.ones_like(self._overlap) if most is None else self._footprint <= most
        if parts is not None:
            fits &= np.all(self._taken <= np.array(parts, dtype=np.int64), axis=1)
        able = np.flatnonzero(fits)
        if not len(able):
            return None
        order = np.lexsort((self._footprint[able], self.seconds(speed)[able]))
        return int(able[order[0]])
