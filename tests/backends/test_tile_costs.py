"""What tilings cost on an engine: all of a set at once, and the cheapest of them."""

from hypothesis import given
from hypothesis import strategies as st

from target_arch.backends.tile_costs import EngineSpeed, TileCosts, TileMoves
from target_arch.backends.tiling import Link


def link(bandwidth: float, setup: float) -> Link:
    return Link(alignment=4, max_bytes=None, two_dimensional=True, bandwidth=bandwidth, setup=setup)


SPEED = EngineSpeed(links=(link(1e6, 1e-6), link(2e6, 3e-6)), start=5e-6, per_mac=1e-9)
FAST = EngineSpeed(links=(link(1e9, 0.0), link(1e9, 0.0)), start=0.0, per_mac=1e-7)
MACS = 20_000

counts = st.integers(1, 9)
tilings = st.builds(
    lambda bytes, transfers, calls, buffers: TileMoves(
        carried=tuple(zip(bytes, transfers, strict=True)),
        calls=calls,
        rings=tuple(zip(transfers, buffers, strict=True)),
    ),
    st.tuples(st.integers(0, 5000), st.integers(0, 5000)),
    st.tuples(counts, counts),
    counts,
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
)


def alone(moves: TileMoves, speed: EngineSpeed) -> float:
    """The estimate as the module states it, for one tiling."""
    links = zip(moves.carried, speed.links, strict=True)
    copying = sum(bytes / link.bandwidth + transfers * link.setup for (bytes, transfers), link in links)
    computing = moves.calls * speed.start + MACS * speed.per_mac
    if all(transfers == 1 or buffers > 1 for transfers, buffers in moves.rings):
        return max(copying, computing) + min(copying, computing) / moves.calls
    return copying + computing


@given(st.lists(tilings, min_size=1, max_size=12), st.sampled_from([SPEED, FAST]))
def test_all_tilings_cost_what_each_costs_alone(every: list[TileMoves], speed: EngineSpeed) -> None:
    costs = TileCosts(MACS, every, [[0]] * len(every))
    assert costs.seconds(speed).tolist() == [alone(each, speed) for each in every]


@given(
    st.lists(st.tuples(tilings, st.tuples(counts, counts)), min_size=1, max_size=12),
    st.tuples(counts, counts),
    st.one_of(st.none(), st.integers(1, 18)),
)
def test_the_cheapest_that_fits_is_the_smallest_and_first_of_equal_ones(
    every: list[tuple[TileMoves, tuple[int, int]]], parts: tuple[int, int], most: int | None
) -> None:
    costs = TileCosts(MACS, [moves for moves, _ in every], [taken for _, taken in every])
    able = [
        (alone(moves, SPEED), sum(taken), number)
        for number, (moves, taken) in enumerate(every)
        if taken[0] <= parts[0] and taken[1] <= parts[1] and (most is None or sum(taken) <= most)
    ]
    assert costs.cheapest(SPEED, parts, most) == (min(able)[2] if able else None)
