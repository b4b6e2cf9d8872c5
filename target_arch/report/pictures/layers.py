"""Places for the nodes of a directed graph, in layers from top to bottom, and the ways of its edges.

The layout is Sugiyama's, by the library fast-sugiyama: edges that skip layers have points of their own there.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen
from fast_sugiyama import from_edges

Point = tuple[float, float]
Edge = tuple[int, int]


@frozen(kw_only=True)
class LayeredDrawing:
    """The middle of every node, and for every edge the points it goes through, both ends included."""

    middles: tuple[Point, ...]
    ways: tuple[tuple[Point, ...], ...]
    width: float
    height: float


@frozen(kw_only=True)
class _Part:
    """The nodes that edges connect with each other: abscissa and layer of each, and the ways of its edges."""

    places: Mapping[int, tuple[float, int]]
    ways: tuple[tuple[int, ...], ...]
    width: float


def layers(count: int, edges: Sequence[Edge], *, box: Point, gap: float, fall: float) -> LayeredDrawing:
    """Places for `count` nodes of a size, `gap` apart in a layer, with `fall` between layers.

    Each edge is given once and goes from one node to another.
    """
    width, height = box
    middles: dict[int, Point] = {}
    ways: list[tuple[Point, ...]] = []
    left, deepest = 0.0, 0
    for part in _parts(count, edges, width + gap):
        points = {
            node: (left + x + width / 2, rank * (height + fall) + height / 2)
            for node, (x, rank) in part.places.items()
        }
        middles |= points
        ways += [tuple(points[node] for node in way) for way in part.ways]
        left += part.width + width + gap
        deepest = max(deepest, *(rank for _, rank in part.places.values()))
    return LayeredDrawing(
        middles=tuple(middles[node] for node in range(count)),
        ways=tuple(ways),
        width=max(0.0, left - gap),
        height=(deepest + 1) * (height + fall) - fall,
    )


def _parts(count: int, edges: Sequence[Edge], spacing: float) -> list[_Part]:
    """Connected parts, the one with the first node first."""
    found = [_part(count, *layout) for layout in _laid(edges, spacing)] if edges else []
    touched = {node for part in found for node in part.places}
    found += [
        _Part(places={node: (0.0, 0)}, ways=(), width=0) for node in range(count) if node not in touched
    ]
    return sorted(found, key=lambda part: min(part.places))


def _laid(edges: Sequence[Edge], spacing: float) -> Iterator[tuple[Mapping[int, Point], Sequence[Edge]]]:
    """The library's layouts; its numbers from the largest node on are points of edges that skip layers."""
    made = from_edges(list(edges), vertex_spacing=spacing, dummy_vertices=True, dummy_size=0.2)
    for positions, _, _, links in made:
        points = {int(node): (float(x), float(y)) for node, (x, y) in positions}
        yield points, sorted((int(source), int(target)) for source, target in links or ())


def _part(count: int, positions: Mapping[int, Point], links: Sequence[Edge]) -> _Part:
    left = min(x for x, _ in positions.values())
    ranks = {y: rank for rank, y in enumerate(sorted({y for _, y in positions.values()}, reverse=True))}
    after = {source: target for source, target in links if source >= count}
    ways = []
    for source, target in links:
        if source < count:
            way = [source, target]
            while way[-1] >= count:
                way.append(after[way[-1]])
            ways.append(tuple(way))
    places = {node: (x - left, ranks[y]) for node, (x, y) in positions.items()}
    return _Part(places=places, ways=tuple(ways), width=max(x for x, _ in places.values()))
