"""What the local buffers of accelerators hold, so that bytes which are there are not moved there again.

Two layers on one instance, one right after the other: where the second reads what the first read or made, it
finds tiles in place. It takes over the buffer of the first, whose life then lasts on.
"""

from attrs import evolve

from target_arch.plan.kernels import Slice
from target_arch.stages.hazards import overlap


class Tiles:
    """The slices of tensors that local buffers hold, and which buffers the last user of each memory left."""

    def __init__(self) -> None:
        self._held: dict[str, list[tuple[Slice, Slice]]] = {}
        self._left: dict[str, tuple[str, ...]] = {}

    def begin(self, memory: str, buffers: tuple[str, ...]) -> tuple[str, ...]:
        """A partition with these buffers takes the memory; what its predecessor there left."""
        left = self._left.get(memory, ())
        self._left[memory] = buffers
        return left

    def took_over(self, memory: str, buffer: str, instead: str) -> None:
        """The partition goes on with a buffer that was left, in place of its own."""
        self._left[memory] = tuple(instead if name == buffer else name for name in self._left[memory])

    def moved(self, content: Slice, target: Slice) -> None:
        """The slice of a tensor now lies in the slice of a buffer."""
        self.written(target)
        self.known(content, target)

    def known(self, content: Slice, target: Slice) -> None:
        """The slice of a buffer was copied to the slice of a tensor, so it holds the same."""
        self._held.setdefault(target.of, []).append((content, target))

    def written(self, target: Slice) -> None:
        """Something else now lies in the slice of a buffer."""
        held = self._held.get(target.of, [])
        self._held[target.of] = [pair for pair in held if not overlap(pair[1], target)]

    def holds(self, content: Slice, target: Slice) -> bool:
        """True where the slice of the buffer is that slice of the tensor already."""
        return (content, target) in self._held.get(target.of, [])

    def holder(self, content: Slice, target: Slice, left: tuple[str, ...]) -> str | None:
        """A buffer that was left and holds the slice where `target` wants it."""
        return next((name for name in left if self.holds(content, evolve(target, of=name))), None)
