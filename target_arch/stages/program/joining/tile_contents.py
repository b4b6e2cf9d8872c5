"""The slices of tensors in the local buffers of accelerators, so that no tile is moved in twice.

If a partition reads tiles that the partition right before it on the instance read or made, it may find them
in place: it takes over the buffer, whose life is extended.
"""

from collections.abc import Mapping, Sequence

from target_arch.plan.kernels import Slice
from target_arch.stages.program.hazards import overlap

_Tile = tuple[Slice, int, int, int, int]
"""The slice of a tensor, and its place in a buffer: offset, bytes of a row, rows, stride."""


class Tiles:
    """The slices of tensors that local buffers hold, and the buffers that the last partition left in each
    memory.
    """

    def __init__(self) -> None:
        self._held: dict[str, dict[_Tile, Slice]] = {}
        self._holders: dict[_Tile, dict[str, None]] = {}
        self._left: dict[str, dict[str, int]] = {}
        self._before: dict[str, dict[str, int]] = {}

    def begin(self, memory: str, buffers: Sequence[str]) -> Mapping[str, int]:
        """A partition with these buffers begins in the memory. Returns the buffers of the partition before,
        each with its position.
        """
        left = self._left.get(memory, {})
        for name in self._before.get(memory, ()):
            if name not in left:
                self._forget(name)
        self._before[memory] = left
        self._left[memory] = {name: turn for turn, name in enumerate(buffers)}
        return left

    def took_over(self, memory: str, buffer: str, instead: str) -> None:
        """The partition uses a buffer of the partition before in place of its own."""
        self._left[memory][instead] = self._left[memory].pop(buffer)

    def moved(self, content: Slice, target: Slice) -> None:
        """The slice of a tensor was moved into the slice of a buffer."""
        self.written(target)
        self.known(content, target)

    def known(self, content: Slice, target: Slice) -> None:
        """The slice of a buffer was copied to the slice of a tensor, so it holds the same."""
        tile = _tile(content, target)
        self._held.setdefault(target.of, {})[tile] = target
        self._holders.setdefault(tile, {})[target.of] = None

    def written(self, target: Slice) -> None:
        """The slice of a buffer was overwritten."""
        held = self._held.get(target.of, {})
        for tile in [tile for tile, there in held.items() if overlap(there, target)]:
            del held[tile]
            self._lost(tile, target.of)

    def holds(self, content: Slice, target: Slice, buffer: str) -> bool:
        """True where the buffer holds that slice of the tensor already, where `target` wants it."""
        return _tile(content, target) in self._held.get(buffer, ())

    def holders(self, content: Slice, target: Slice, left: Mapping[str, int]) -> list[str]:
        """The buffers in `left` that hold the slice where `target` wants it, in order of position."""
        there = self._holders.get(_tile(content, target), ())
        return sorted((name for name in there if name in left), key=left.__getitem__)

    def _forget(self, buffer: str) -> None:
        """The buffer can no longer be taken over."""
        for tile in self._held.pop(buffer, ()):
            self._lost(tile, buffer)

    def _lost(self, tile: _Tile, buffer: str) -> None:
        holders = self._holders[tile]
        del holders[buffer]
        if not holders:
            del self._holders[tile]


def _tile(content: Slice, target: Slice) -> _Tile:
    return content, target.offset, target.row_bytes, target.rows, target.stride
