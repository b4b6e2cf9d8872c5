"""What the local buffers of accelerators hold, so that bytes which are there are not moved there again.

Two layers on one instance, one right after the other: where the second reads what the first read or made, it
finds tiles in place. It takes over the buffer of the first, whose life then lasts on.
"""

from collections.abc import Mapping, Sequence

from target_arch.plan.kernels import Slice
from target_arch.stages.program.hazards import overlap

_Tile = tuple[Slice, int, int, int, int]
"""The slice of a tensor, and where it lies in whatever buffer: offset, bytes of a row, rows, stride."""


class Tiles:
    """The slices of tensors that local buffers hold, and which buffers the last user of each memory left."""

    def __init__(self) -> None:
        self._held: dict[str, dict[_Tile, Slice]] = {}
        self._holders: dict[_Tile, dict[str, None]] = {}
        self._left: dict[str, dict[str, int]] = {}
        self._before: dict[str, dict[str, int]] = {}

    def begin(self, memory: str, buffers: Sequence[str]) -> Mapping[str, int]:
        """A partition with these buffers takes the memory; what its predecessor there left, with the turn of
        each.
        """
        left = self._left.get(memory, {})
        for name in self._before.get(memory, ()):
            if name not in left:
                self._forget(name)
        self._before[memory] = left
        self._left[memory] = {name: turn for turn, name in enumerate(buffers)}
        return left

    def took_over(self, memory: str, buffer: str, instead: str) -> None:
        """The partition goes on with a buffer that was left, in place of its own."""
        self._left[memory][instead] = self._left[memory].pop(buffer)

    def moved(self, content: Slice, target: Slice) -> None:
        """The slice of a tensor now lies in the slice of a buffer."""
        self.written(target)
        self.known(content, target)

    def known(self, content: Slice, target: Slice) -> None:
        """The slice of a buffer was copied to the slice of a tensor, so it holds the same."""
        tile = _tile(content, target)
        self._held.setdefault(target.of, {})[tile] = target
        self._holders.setdefault(tile, {})[target.of] = None

    def written(self, target: Slice) -> None:
        """Something else now lies in the slice of a buffer."""
        held = self._held.get(target.of, {})
        for tile in [tile for tile, there in held.items() if overlap(there, target)]:
            del held[tile]
            self._lost(tile, target.of)

    def holds(self, content: Slice, target: Slice, buffer: str) -> bool:
        """True where the buffer holds that slice of the tensor already, where `target` wants it."""
        return _tile(content, target) in self._held.get(buffer, ())

    def holders(self, content: Slice, target: Slice, left: Mapping[str, int]) -> list[str]:
        """The buffers that were left and hold the slice where `target` wants it, in their turn."""
        there = self._holders.get(_tile(content, target), ())
        return sorted((name for name in there if name in left), key=left.__getitem__)

    def _forget(self, buffer: str) -> None:
        """Nobody goes on with the buffer any more."""
        for tile in self._held.pop(buffer, ()):
            self._lost(tile, buffer)

    def _lost(self, tile: _Tile, buffer: str) -> None:
        holders = self._holders[tile]
        del holders[buffer]
        if not holders:
            del self._holders[tile]


def _tile(content: Slice, target: Slice) -> _Tile:
    return content, target.offset, target.row_bytes, target.rows, target.stride
