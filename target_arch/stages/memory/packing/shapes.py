"""Plans in which a buffer takes the place of a larger one and leaves the bytes above it free: buffers that
share a place are a shape that becomes narrower with time, not a rectangle.

First fit in several orders. Such plans matter where a memory is short, and a few large shapes decide them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.measure import Offsets, peak
from target_arch.stages.memory.packing.sharing import roots


@frozen(kw_only=True)
class _Shape:
    """Buffers at one offset, in the order of time."""

    name: str
    parts: tuple[Buffer, ...]

    @property
    def bytes(self) -> int:
        return max(part.bytes for part in self.parts)

    @property
    def area(self) -> int:
        return sum(part.bytes * (part.last - part.first + 1) for part in self.parts)

    @property
    def first(self) -> int:
        return min(part.first for part in self.parts)


_ORDERS: tuple[Callable[[_Shape], int], ...] = (
    lambda shape: -shape.bytes,
    lambda shape: -shape.area,
    lambda shape: shape.first,
)


def narrows(buffers: Sequence[Buffer], places: Mapping[str, str]) -> bool:
    """True if some buffer has the place of one with more bytes."""
    sizes = {buffer.name: buffer.bytes for buffer in buffers}
    return any(
        sizes[over] < sizes[under] for over, under in places.items() if over in sizes and under in sizes
    )


def by_shapes(buffers: Sequence[Buffer], places: Mapping[str, str]) -> Offsets:
    """The lowest plan found in which buffers that share a place have one offset."""
    shapes = _shapes(buffers, places)
    named = sorted(shapes, key=lambda shape: shape.name)
    plans = [_first_fit(sorted(named, key=order)) for order in _ORDERS]
    return Offsets(min(plans, key=lambda offsets: peak(buffers, offsets)), "shapes")


def _shapes(buffers: Sequence[Buffer], places: Mapping[str, str]) -> list[_Shape]:
    first, sharing = roots(buffers, places), dict[str, list[Buffer]]()
    for buffer in buffers:
        sharing.setdefault(first[buffer.name], []).append(buffer)
    return [_Shape(name=name, parts=tuple(parts)) for name, parts in sharing.items()]


def _first_fit(shapes: Sequence[_Shape]) -> dict[str, int]:
    placed: list[tuple[Buffer, int]] = []
    for shape in shapes:
        offset = _lowest(shape, sorted(_forbidden(shape, placed)))
        placed += [(part, offset) for part in shape.parts]
    return {part.name: offset for part, offset in placed}


def _forbidden(shape: _Shape, placed: Sequence[tuple[Buffer, int]]) -> Iterator[tuple[int, int]]:
    """Offsets that the shape cannot have: between the two, both excluded."""
    for other, offset in placed:
        for part in shape.parts:
            if part.overlaps(other):
                yield offset - part.bytes, offset + other.bytes


def _lowest(shape: _Shape, forbidden: Sequence[tuple[int, int]]) -> int:
    unit, offset = max(part.alignment for part in shape.parts), 0
    for below, above in forbidden:
        if below < offset < above:
            offset = -(-above // unit) * unit
    return offset
