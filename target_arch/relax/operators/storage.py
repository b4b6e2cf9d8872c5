"""The order of a tensor's elements in memory, relative to the author's order.

A `Storage` says: take the elements in the author's order, see them as an array of shape `view`, permute its
dimensions by `axes`, and write the result row by row. So NCHW data held as NHWC is `view=(N,C,H,W),
axes=(0,2,3,1)`, and its flattened form `[N, C*H*W]` held without moving a byte is the very same storage: a
reshape changes nothing here.
"""

from math import prod

import numpy as np
from attrs import frozen

TO_NHWC = (0, 2, 3, 1)


@frozen
class Storage:
    """Elements seen as `view`, its dimensions permuted by `axes`."""

    view: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in memory."""
        return tuple(self.view[axis] for axis in self.axes)

    @property
    def essence(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Equal for two storages of one tensor exactly when every element has the same place in both.

        Dimensions of extent 1 are dropped and neighbours that stay neighbours are merged.
        """
        kept = [axis for axis in self.axes if self.view[axis] != 1]
        groups: list[list[int]] = []
        present = sorted(kept)
        for axis in kept:
            follows = bool(groups) and present.index(axis) == present.index(groups[-1][-1]) + 1
            if follows:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        by_view = sorted(groups)
        extents = tuple(prod(self.view[axis] for axis in group) for group in by_view)
        return extents, tuple(by_view.index(group) for group in groups)

    @property
    def is_plain(self) -> bool:
        """True where the elements are in the author's order."""
        if self.axes == tuple(range(len(self.axes))):
            return True
        _, order = self.essence
        return order == tuple(range(len(order)))

    def permuted(self, axes: tuple[int, ...]) -> "Storage":
        """The same bytes as storage of a tensor whose dimension i is dimension `axes[i]` of `view`."""
        view = tuple(self.view[axis] for axis in axes)
        return Storage(view, tuple(axes.index(axis) for axis in self.axes))

    def author_index(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """For each place in memory, the index of its element in the author's order."""
        index: np.ndarray[tuple[int], np.dtype[np.int64]] = np.arange(prod(self.view)).reshape(self.view)
        return index.transpose(self.axes).ravel()


def plain(shape: tuple[int, ...]) -> Storage:
    """The author's order."""
    return Storage(shape, tuple(range(len(shape))))


def nhwc(shape: tuple[int, ...], layout: str) -> Storage:
    """An image whose author wrote it in `layout` (NHWC or NCHW), held as NHWC."""
    return plain(shape) if layout == "NHWC" else Storage(shape, TO_NHWC)


def transposition(source: Storage, target: Storage) -> tuple[int, ...]:
    """The axes that take memory in `source` (of its shape) to memory in `target`; both have the same view."""
    return tuple(source.axes.index(axis) for axis in target.axes)
