"""The products of a pixel, copied from the windows of an image to adjacent bytes.

Where nothing is padded, and the input does not end there, a vector copies a row of a window: what it copies
too much the next row replaces.
"""

from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.copies import Place, common, copy, fill
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.backends.cores.hvx.writer import BYTES, Pointer, Writer


@frozen(kw_only=True)
class Gathering:
    """Windows whose products go to rows of so many bytes, with the value `pad` outside of the image."""

    windows: ImageWindows
    pad: int
    row: int

    def write(self, to: Writer, pointers: tuple[Pointer, Pointer], pixel: Any, number: Any) -> None:
        """Copies the products of a pixel from the input to that row of the room, where other bytes of the
        rows behind it, and as many as a vector has behind the last one, may change.
        """
        at, (x, room) = self.windows, pointers
        rows, columns = at.out
        column, line = tirx.floormod(pixel, columns), tirx.floordiv(pixel, columns)
        row, image = tirx.floormod(line, rows), tirx.floordiv(line, rows)
        y, z = at.axes[0].at(row), at.axes[1].at(column)

        def source(r: Any, c: Any) -> Place:
            offset = ((image * at.image[0] + y + r) * at.image[1] + z + c) * at.channels
            return Place(pointer=x, offset=offset, multiple=at.channels)

        def target(r: int, c: int) -> Place:
            offset = (r * at.kernel[1] + c) * at.channels
            return Place(pointer=room, offset=number * self.row + offset, multiple=common(self.row, offset))

        self._copy_window(to, (y, z), source, target)

    def _copy_window(self, to: Writer, corner: tuple[Any, Any], source: Any, target: Any) -> None:
        at = self.windows
        tests = [
            test
            for axis, start in zip(at.axes, corner, strict=True)
            if axis.leaves_before or axis.leaves_after
            for test in (start >= 0, start + (axis.reach - 1) < axis.extent)
        ]
        together = at.kernel[1] if at.dilation[1] == 1 else 1
        spots = [(r, c) for r in range(at.kernel[0]) for c in range(0, at.kernel[1], together)]
        places = [source(r * at.dilation[0], c * at.dilation[1]) for r, c in spots]
        run, size = together * at.channels, places[0].pointer.size
        if run < BYTES:
            tests.append(places[-1].offset + BYTES <= size)

        def whole() -> None:
            for spot, place in zip(spots, places, strict=True):
                copy(to, target(*spot), place, max(run, BYTES))

        if not tests:
            whole()
            return
        inside = tirx.all(*tests)
        if size >= BYTES:
            with to.when(inside):
                whole()
        with to.when(tirx.Not(inside)):
            self._copy_taps(to, corner, source, target)

    def _copy_taps(self, to: Writer, corner: tuple[Any, Any], source: Any, target: Any) -> None:
        at = self.windows
        for r in range(at.kernel[0]):
            for c in range(at.kernel[1]):
                down, right = r * at.dilation[0], c * at.dilation[1]
                y, z = corner[0] + down, corner[1] + right
                inside = tirx.all(y >= 0, y < at.image[0], z >= 0, z < at.image[1])
                with to.when(inside):
                    copy(to, target(r, c), source(down, right), at.channels)
                with to.when(tirx.Not(inside)):
                    fill(to, target(r, c), self.pad, at.channels)
