"""Tile sizes, moves and the record of what local buffers hold."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from target_arch.backends.tiling import Link, Recorder, Ring, loads, moves, rows_of, spans, tile_sizes
from target_arch.plan.kernels import Call, Move, Slice

LINK = Link(alignment=4, max_bytes=64, two_dimensional=True, bandwidth=1e6, setup=1e-6)
FLAT = Link(alignment=4, max_bytes=64, two_dimensional=False, bandwidth=1e6, setup=1e-6)


def command(name: str) -> Call:
    return Call(function=name, operands=())


@given(st.integers(1, 3000), st.integers(1, 16))
def test_tile_sizes_are_aligned_and_span_the_extent_exactly_once(extent: int, unit: int) -> None:
    sizes = tile_sizes(extent, unit)
    assert sizes[0] == extent
    assert sizes[-1] == min(unit, extent)
    assert list(sizes) == sorted(set(sizes), reverse=True)
    assert all(size % unit == 0 for size in sizes[1:])
    for size in sizes:
        covered = [each for first, last in spans(extent, size) for each in range(first, last)]
        assert covered == list(range(extent))


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_loads_counts_what_a_ring_does(distinct: int, rounds: int, buffers: int) -> None:
    recorder = Recorder()
    ring = Ring(role="input", memory="bram", alignment=16)
    for _ in range(rounds):
        for block in range(distinct):
            recorder.fetch(ring, buffers, Slice(of="x", offset=32 * block, row_bytes=32), LINK)
    assert len(recorder.actions) == loads(distinct, rounds, buffers)


@given(st.integers(1, 5), st.integers(1, 60), st.integers(0, 3), st.booleans())
def test_moves_carry_each_byte_once_in_transfers_the_link_allows(
    rows: int, words: int, gap: int, flat: bool
) -> None:
    source = rows_of("x", offset=8, rows=rows, row_bytes=4 * words, stride=4 * (words + gap))
    stride = source.row_bytes if source.rows > 1 else 0
    target = Slice(of="t", offset=0, row_bytes=source.row_bytes, rows=source.rows, stride=stride)
    carried: Counter[tuple[int, int]] = Counter()
    for move in moves(source, target, FLAT if flat else LINK):
        assert move.source.row_bytes <= 64
        assert move.source.rows == 1 or not flat
        assert move.source.offset % 4 == move.target.offset % 4 == 0
        carried.update(zip(positions(move.source), positions(move.target), strict=True))
    assert carried == Counter(zip(positions(source), positions(target), strict=True))


def positions(piece: Slice) -> list[int]:
    return [
        piece.offset + row * piece.stride + byte
        for row in range(piece.rows)
        for byte in range(piece.row_bytes)
    ]


def test_rows_that_touch_are_one_run() -> None:
    assert str(rows_of("x", offset=0, rows=3, row_bytes=8, stride=8)) == "x[0:+24]"
    assert str(rows_of("x", offset=0, rows=3, row_bytes=8, stride=16)) == "x[0:+3x8/16]"


def test_bytes_that_a_buffer_holds_are_not_moved_again() -> None:
    recorder = Recorder()
    ring = Ring(role="input", memory="bram", alignment=16)
    recorder.fetch(ring, 1, Slice(of="x", offset=0, row_bytes=48), LINK)
    inside = recorder.fetch(ring, 1, Slice(of="x", offset=16, row_bytes=20), LINK)
    assert (inside.of, inside.offset) == ("input0", 16)
    assert len(recorder.actions) == 1


def test_a_slice_off_the_alignment_brings_the_bytes_before_it() -> None:
    recorder = Recorder()
    ring = Ring(role="input", memory="bram", alignment=16)
    operand = recorder.fetch(ring, 1, Slice(of="x", offset=10, row_bytes=6), LINK)
    (move,) = recorder.actions
    assert isinstance(move, Move)
    assert (str(move.source), str(move.target), operand.offset) == ("x[8:+8]", "input0[0:+8]", 2)


def test_results_leave_one_call_late_and_before_their_buffer_is_written_again() -> None:
    recorder = Recorder()
    ring = Ring(role="output", memory="bram", alignment=16)
    for tile in range(3):
        written = recorder.claim(ring, 2, 8)
        target = Slice(of="y", offset=8 * tile, row_bytes=8)
        recorder.call(command(f"c{tile}"), written, target, LINK)
    recorder.finish()
    order = [each.function if isinstance(each, Call) else each.source.of for each in recorder.actions]
    assert order == ["c0", "c1", "output0", "c2", "output1", "output0"]


def test_with_one_buffer_the_result_leaves_before_the_next_call() -> None:
    recorder = Recorder()
    ring = Ring(role="output", memory="bram", alignment=16)
    for tile in range(2):
        written = recorder.claim(ring, 1, 8)
        recorder.call(command(f"c{tile}"), written, Slice(of="y", offset=8 * tile, row_bytes=8), LINK)
    recorder.finish()
    order = [each.function if isinstance(each, Call) else each.source.of for each in recorder.actions]
    assert order == ["c0", "output0", "c1", "output0"]
    assert [(each.name, each.bytes, each.memory) for each in recorder.buffers] == [("output0", 8, "bram")]
