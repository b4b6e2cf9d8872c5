"""The numbers of bytes, compared with bytes that are listed one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Slice
from target_arch.stages.check.meaning.numbers import ByteNumbers, Content, Runs, one_run, picked, same

SIZE = 24


def listed(runs: Runs) -> list[int]:
    return [first + k for first, count in runs.T.tolist() for k in range(count)]


@st.composite
def slices(draw: st.DrawFn) -> Slice:
    """Rows inside of SIZE bytes."""
    rows, row_bytes = draw(st.integers(1, 3)), draw(st.integers(1, 8))
    stride = draw(st.integers(row_bytes, 8)) if rows > 1 else 0
    offset = draw(st.integers(0, SIZE - (rows - 1) * stride - row_bytes))
    return Slice(of="b", offset=offset, row_bytes=row_bytes, rows=rows, stride=stride)


def bytes_of(part: Slice) -> list[int]:
    return [part.offset + row * part.stride + k for row in range(part.rows) for k in range(part.row_bytes)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(slices(), slices()), max_size=5), slices())
def test_what_is_moved_about_is_what_bytes_do(moves: list[tuple[Slice, Slice]], last: Slice) -> None:
    numbers = ByteNumbers()
    one, other = (Content(SIZE, numbers.take(SIZE, name)) for name in ("one", "other"))
    first, second = list(range(SIZE)), list(range(SIZE, 2 * SIZE))
    for source, target in moves:
        if source.bytes != target.bytes:
            continue
        other.write(target, one.read(source))
        for to, of in zip(bytes_of(target), bytes_of(source), strict=True):
            second[to] = first[of]
        one, other, first, second = other, one, second, first
    assert listed(one.read(last)) == [first[k] for k in bytes_of(last)]
    assert listed(one.whole) == first
    assert listed(Content(SIZE, 7).read(last)) == [7 + k for k in bytes_of(last)]
    again = Content(SIZE, 0)
    again.write(Slice(of="b", offset=0, row_bytes=SIZE), one.whole)
    assert same(again.whole, one.whole), "equal numbers have equal runs"


def test_the_values_of_numbers() -> None:
    numbers = ByteNumbers()
    assert [numbers.take(4, name) for name in "abc"] == [0, 4, 8]
    assert numbers.owners(one_run(0, 4)) == (0,)
    assert numbers.owners(one_run(3, 2)) == (0, 1)
    assert numbers.owners(one_run(3, 6)) == (0, 1, 2)
    assert numbers.owners(one_run(4, 4)) == (1,)
    assert numbers.owners(one_run(11, 1)) == (2,)
    two = Content(8, 0)
    two.write(Slice(of="x", offset=0, row_bytes=4), one_run(8, 4))
    assert numbers.told(two.whole) == "`c[0:+4]` and others"
    runs = Content(12, 0)
    runs.write(Slice(of="x", offset=0, row_bytes=4), one_run(8, 4))
    runs.write(Slice(of="x", offset=8, row_bytes=4), one_run(0, 4))
    assert numbers.owners(runs.whole) == (2, 1, 0)
    assert numbers.told(runs.whole) == "`c[0:+4]` and others"
    assert numbers.told(one_run(5, 2)) == "`b[1:+2]`"


def test_there_is_room_for_any_number_of_values() -> None:
    numbers = ByteNumbers()
    assert [numbers.take(2, f"v{number}") for number in range(600)] == list(range(0, 1200, 2))
    assert numbers.owners(one_run(509, 4)) == (254, 255, 256)
    assert numbers.told(one_run(1199, 1)) == "`v599[1:+1]`"


def test_elements_of_several_bytes_are_picked_in_their_order() -> None:
    assert listed(picked(one_run(10, 8), np.array([[3], [1]]), 2)) == [16, 17, 12, 13]


def test_runs_of_one_size_that_are_not_the_same() -> None:
    assert same(one_run(0, 4), one_run(0, 4))
    assert not same(one_run(0, 4), one_run(0, 3))
    assert not same(one_run(0, 4), one_run(1, 4))
