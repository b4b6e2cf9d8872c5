"""A window that goes along one axis: which elements of the input an element of the output is computed from.

Convolutions, pools and regions have one for each axis, and ask it; the arithmetic stands nowhere else but in
the exact oracle (`target_arch.run.exact`), which is the second opinion.

Tests: `tests/plan/operators/test_window.py`.
"""

from typing import Any, Self

from attrs import frozen

from target_arch.soc.rounding import ceil_div


@frozen(kw_only=True)
class Window:
    """Element `i` of `out` reads `kernel` elements of `extent`, each `dilation` behind the last one, from
    `stride * i - before` on. Elements outside the axis are padding: `before` and `after` are how many there
    are; they are negative where the windows leave elements at the ends of the axis unread.
    """

    extent: int
    out: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @classmethod
    def same(cls, extent: int, kernel: int, stride: int = 1, dilation: int = 1) -> Self:
        """The window of the padding SAME: an element of the output for every `stride` elements, and of an odd
        number of padding elements the larger part behind the axis.
        """
        out, reach = ceil_div(extent, stride), (kernel - 1) * dilation + 1
        missing = max((out - 1) * stride + reach - extent, 0)
        return cls(
            extent=extent,
            out=out,
            kernel=kernel,
            stride=stride,
            dilation=dilation,
            before=missing // 2,
            after=missing - missing // 2,
        )

    @classmethod
    def padded(
        cls, extent: int, kernel: int, stride: int = 1, dilation: int = 1, before: int = 0, after: int = 0
    ) -> Self:
        """The window of an axis with that padding: as many elements as have their window within both."""
        reach = (kernel - 1) * dilation + 1
        return cls(
            extent=extent,
            out=max((extent + before + after - reach) // stride + 1, 0),
            kernel=kernel,
            stride=stride,
            dilation=dilation,
            before=before,
            after=after,
        )

    @classmethod
    def equal(cls, extent: int) -> Self:
        """The window of an output each of whose elements needs the element at its own place."""
        return cls(extent=extent, out=extent)

    @classmethod
    def all(cls, extent: int, out: int) -> Self:
        """The window of an output each of whose elements needs the whole axis."""
        return cls(extent=extent, out=out, kernel=extent, stride=0)

    @property
    def reach(self) -> int:
        """How many elements there are from the first to the last one of a window, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def end(self) -> int:
        """The first place behind the last window; beyond `extent` where that window leaves the axis."""
        return (self.out - 1) * self.stride - self.before + self.reach

    @property
    def leaves_before(self) -> bool:
        """True where the first window begins in the padding."""
        return self.before > 0

    @property
    def leaves_after(self) -> bool:
        """True where the last window ends in the padding."""
        return self.end > self.extent

    @property
    def plain(self) -> bool:
        """True where every element of the output comes from the element at its own place."""
        return self == Window(extent=self.extent, out=self.extent, dilation=self.dilation)

    def at(self, place: Any, tap: Any = 0) -> Any:
        """The place in the input of element `tap` of the window of output `place`: numbers or expressions."""
        return place * self.stride + tap * self.dilation - self.before

    def inside(self, position: Any) -> list[Any]:
        """The conditions for a place in the input to be on the axis, without those that always hold."""
        tests = [position >= 0] if self.leaves_before else []
        return [*tests, position < self.extent] if self.leaves_after else tests

    def needed(self, outputs: range) -> range:
        """The elements of the input that a range of outputs needs, from the first to the last; empty where
        these read nothing but padding.
        """
        start = min(max(self.at(outputs.start), 0), self.extent)
        return range(start, max(min(self.at(outputs.stop - 1) + self.reach, self.extent), start))

    def needed_from(self, done: int) -> int:
        """The first element of the input that is needed once so many of the outputs are done."""
        return self.extent if done == self.out else max(self.at(done), 0)

    def needed_until(self, done: int) -> int:
        """How many elements, the first ones of the input, so many outputs need: all for all outputs."""
        return self.extent if done == self.out else self.needed(range(done)).stop

    def ready(self, there: int) -> int:
        """How many of the outputs can be computed from that many elements, the first ones of the input."""
        more = there + self.before - self.reach
        if there == self.extent:
            return self.out
        return min(more // self.stride + 1, self.out) if more >= 0 else 0

    def part(self, outputs: range, inputs: range) -> "Window":
        """The window of a part of the outputs in a part of the input that has all that they need."""
        before = inputs.start - self.at(outputs.start)
        return Window(
            extent=len(inputs),
            out=len(outputs),
            kernel=self.kernel,
            stride=self.stride,
            dilation=self.dilation,
            before=before,
            after=(len(outputs) - 1) * self.stride + self.reach - before - len(inputs),
        )
