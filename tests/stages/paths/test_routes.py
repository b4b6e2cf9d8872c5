"""Routes between memories, and what a path can carry in one transfer."""

from hypothesis import given
from hypothesis import strategies as st

from target_arch.plan.kernels import Slice
from target_arch.soc.model import CopyPath
from target_arch.stages.paths.routes import Routes, chunks, pieces
from tests.stages import chips

ROUTES = Routes(chips.EDGE, ("sram", "ddr"))


def part(of: str, offset: int, row_bytes: int, rows: int = 1, stride: int = 0) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=row_bytes, rows=rows, stride=stride)


def shown(path: CopyPath, source: Slice, target: Slice) -> list[str] | None:
    cut = pieces(path, source, target)
    return None if cut is None else [f"{one} -> {other}" for one, other in cut]


def test_a_route_takes_several_hops_through_memories_where_bytes_may_rest() -> None:
    route = ROUTES.route("tcm", "bram", 1000)
    assert route is not None
    assert [(path.source, path.target) for path in route] == [("tcm", "sram"), ("sram", "bram")]


def test_no_route_leads_through_a_device() -> None:
    assert Routes(chips.EDGE, ("ddr",)).route("tcm", "bram", 1000) is None


def test_a_route_to_itself_is_free() -> None:
    assert ROUTES.route("sram", "sram", 10) == ()
    assert ROUTES.route_seconds("sram", "sram", 10) == 0


def test_a_missing_route_is_named() -> None:
    assert ROUTES.route("npu_inp", "sram", 10) is None
    assert ROUTES.route_seconds("npu_inp", "sram", 10) is None
    assert (
        ROUTES.missing(["npu_inp"], ["sram", "ddr"]) == "no copy path leads from `npu_inp` to `ddr`, `sram`"
    )


def test_what_a_route_leads_to() -> None:
    assert ROUTES.leads("tcm", ["ddr", "bram"])
    assert ROUTES.leads("sram", ["sram"])
    assert not ROUTES.leads("npu_inp", ["sram", "ddr"])
    assert not ROUTES.leads("sram", [])


def test_seconds_count_setup_for_every_piece() -> None:
    path = chips.dma("sram", "bram", bandwidth=1e6, setup=1e-3, max_bytes=100)
    assert round(ROUTES.seconds(path, 250), 9) == round(3 * 1e-3 + 250e-6, 9)


def test_the_cheapest_of_two_paths_depends_on_the_bytes() -> None:
    slow = CopyPath(source="sram", target="bram", bandwidth=1e6)
    fast = chips.dma("sram", "bram", bandwidth=1e9, setup=1e-3)
    routes = Routes(_with(slow, fast), ())
    assert routes.hop("sram", "bram", 10) == slow
    assert routes.hop("sram", "bram", 1_000_000) == fast


def test_an_asynchronous_path_is_preferred_between_equals() -> None:
    here = CopyPath(source="sram", target="bram", bandwidth=1e6)
    behind = CopyPath(source="sram", target="bram", engine="dma", bandwidth=1e6)
    assert Routes(_with(here, behind), ()).hop("sram", "bram", 10) == behind


def test_contiguous_bytes_follow_the_rows_of_the_other_side() -> None:
    path = chips.dma("sram", "bram")
    assert shown(path, part("x", 8, 16, 4, 64), part("l", 0, 64)) == ["x[8:+4x16/64] -> l[0:+4x16/16]"]
    assert shown(path, part("x", 0, 64), part("l", 0, 16, 4, 32)) == ["x[0:+4x16/16] -> l[0:+4x16/32]"]


def test_a_path_of_one_dimension_carries_row_by_row() -> None:
    path = chips.dma("sram", "bram", dimensions=1)
    assert shown(path, part("x", 0, 8, 2, 32), part("l", 4, 16)) == [
        "x[0:+8] -> l[4:+8]",
        "x[32:+8] -> l[12:+8]",
    ]


def test_a_block_limit_cuts_columns_that_start_aligned() -> None:
    path = chips.dma("sram", "bram", max_bytes=10, alignment=4)
    assert shown(path, part("x", 0, 20), part("l", 0, 20)) == [
        "x[0:+8] -> l[0:+8]",
        "x[8:+8] -> l[8:+8]",
        "x[16:+4] -> l[16:+4]",
    ]
    assert shown(path, part("x", 0, 12, 2, 32), part("l", 0, 24)) == [
        "x[0:+2x8/32] -> l[0:+2x8/12]",
        "x[8:+2x4/32] -> l[8:+2x4/12]",
    ]


def test_rows_that_touch_are_one_row() -> None:
    assert shown(chips.dma("sram", "bram"), part("x", 0, 8, 4, 8), part("l", 0, 32)) == [
        "x[0:+32] -> l[0:+32]"
    ]


def test_what_is_not_aligned_cannot_be_carried() -> None:
    path = chips.dma("sram", "bram", alignment=4)
    assert pieces(path, part("x", 2, 8), part("l", 0, 8)) is None
    assert pieces(path, part("x", 0, 4, 2, 6), part("l", 0, 8)) is None
    assert pieces(path, part("x", 0, 5), part("l", 0, 5)) is not None


@st.composite
def slices(draw: st.DrawFn, of: str, size: int) -> Slice:
    """A slice of so many bytes."""
    row = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    gap = draw(st.integers(0, 5)) if row < size else 0
    rows = size // row
    return part(of, draw(st.integers(0, 9)), row, rows, row + gap if rows > 1 else 0)


def positions(slice_: Slice) -> list[int]:
    starts = (slice_.offset + row * slice_.stride for row in range(slice_.rows))
    return [start + byte for start in starts for byte in range(slice_.row_bytes)]


@given(st.data(), st.integers(1, 48), st.sampled_from((None, 1, 3, 8)), st.sampled_from((1, 2)))
def test_pieces_carry_every_byte_to_its_place(
    data: st.DataObject, size: int, limit: int | None, dimensions: int
) -> None:
    source, target = data.draw(slices("x", size)), data.draw(slices("l", size))
    path = chips.dma("sram", "bram", alignment=1, max_bytes=limit, dimensions=dimensions)
    cut = pieces(path, source, target)
    assert cut is not None
    carried = [pair for one, other in cut for pair in zip(positions(one), positions(other), strict=True)]
    assert sorted(carried) == sorted(zip(positions(source), positions(target), strict=True))
    assert all(one.row_bytes <= (limit or size) and (dimensions == 2 or one.rows == 1) for one, _ in cut)
    assert all((one.rows, one.row_bytes) == (other.rows, other.row_bytes) for one, other in cut)


@given(
    st.integers(1, 12).flatmap(lambda n: st.tuples(slices("a", n * 4), slices("b", n * 4))),
    st.integers(1, 48),
)
def test_chunks_are_small_and_carry_every_byte_to_its_place(pair: tuple[Slice, Slice], most: int) -> None:
    cut = list(chunks(*pair, most))
    assert all(start.bytes == end.bytes <= most for start, end in cut)
    source, target = (positions(part) for part in pair)
    assert sorted(zip(source, target, strict=True)) == sorted(
        carried for start, end in cut for carried in zip(positions(start), positions(end), strict=True)
    )


def _with(*paths: CopyPath):  # type: ignore[no-untyped-def] # noqa: ANN202
    from attrs import evolve

    return evolve(chips.EDGE, copies=paths)
