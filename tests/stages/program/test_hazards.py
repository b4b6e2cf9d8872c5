"""Which slices share bytes, and what a step must wait for."""

from collections.abc import Iterator
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from target_arch.plan.kernels import Slice
from target_arch.plan.steps import Event
from target_arch.stages.program.hazards import ByteAccess, InFlight, overlap

STRIDED = st.builds(
    lambda offset, row, rows, gap: Slice(
        of="a", offset=offset, row_bytes=row, rows=rows, stride=row + gap if rows > 1 else 0
    ),
    st.integers(0, 40),
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(0, 6),
)


def touched(part: Slice) -> set[int]:
    return {
        part.offset + row * part.stride + byte for row in range(part.rows) for byte in range(part.row_bytes)
    }


def small() -> Iterator[Slice]:
    """All of one to three rows in the first bytes."""
    for offset, row, rows, gap in product(range(5), (1, 2, 3), (1, 2, 3), (0, 1, 3)):
        if rows > 1 or not gap:
            stride = row + gap if rows > 1 else 0
            yield Slice(of="a", offset=offset, row_bytes=row, rows=rows, stride=stride)


def test_overlap_of_all_small_slices() -> None:
    """By their bytes; rows of different strides by all that they enclose."""
    bytes = {part: touched(part) for part in small()}
    for one, other in product(bytes, bytes):
        wanted = bool(bytes[one] & bytes[other])
        if one.rows > 1 and other.rows > 1 and one.stride != other.stride:
            wanted = one.offset < other.end and other.offset < one.end
        assert overlap(one, other) == wanted


@given(STRIDED, STRIDED)
def test_overlap_is_never_missed_and_exact_for_equal_strides(first: Slice, second: Slice) -> None:
    meet = bool(touched(first) & touched(second))
    assert overlap(first, second) or not meet
    if first.rows == 1 or second.rows == 1 or first.stride == second.stride:
        assert overlap(first, second) == meet


def whole(name: str, write: bool) -> ByteAccess:
    return Slice(of=name, offset=0, row_bytes=8), write


def event(timeline: str, value: int) -> Event:
    return Event(timeline=timeline, value=value)


def test_two_readers_need_no_wait_but_every_other_pair_does() -> None:
    for first, second, expected in ((0, 0, {}), (0, 1, {"dma": 1}), (1, 0, {"dma": 1}), (1, 1, {"dma": 1})):
        flight = InFlight()
        flight.issue(event("dma", 1), [whole("a", bool(first))])
        assert flight.hazards([whole("a", bool(second))]) == expected


def test_a_wait_completes_all_earlier_values_of_its_timeline_only() -> None:
    flight = InFlight()
    flight.issue(event("dma", 1), [whole("a", True)])
    flight.issue(event("dma", 2), [whole("b", True)])
    flight.issue(event("npu", 1), [whole("c", True)])
    flight.complete(event("dma", 2))
    assert flight.everything() == {"npu": 1}
    assert flight.hazards([whole("a", True), whole("c", False)]) == {"npu": 1}
    assert (flight.pending("dma"), flight.issued("dma")) == (0, 2)
    assert (flight.touching("a"), flight.touching("c")) == ({}, {"npu": 1})


def test_the_latest_hazard_of_a_timeline_counts() -> None:
    flight = InFlight()
    flight.issue(event("dma", 1), [whole("a", True)])
    flight.issue(event("dma", 2), [whole("b", True)])
    assert flight.hazards([whole("b", False), whole("a", False)]) == {"dma": 2}
    assert flight.touching("a") == {"dma": 1}


def test_a_timeline_counts_from_one() -> None:
    flight = InFlight()
    assert (flight.pending("dma"), flight.issued("dma"), flight.everything()) == (0, 0, {})
    assert flight.next_event("dma") == event("dma", 1)
    flight.issue(event("dma", 1), [])
    flight.issue(event("dma", 2), [])
    assert flight.next_event("dma") == event("dma", 3)
    assert flight.next_event("npu") == event("npu", 1)
    assert (flight.pending("dma"), flight.issued("dma"), flight.everything()) == (2, 2, {"dma": 2})
    flight.complete(event("dma", 2))
    flight.complete(event("dma", 1))
    assert (flight.pending("dma"), flight.everything()) == (0, {})


def test_what_is_complete_needs_no_wait() -> None:
    flight = InFlight()
    flight.complete(event("dma", 2))
    assert flight.incomplete({"npu": 0}) == {}
    assert flight.incomplete({"dma": 2, "npu": 1}) == {"npu": 1}
    assert flight.incomplete({"npu": 1, "dma": 3}) == {"npu": 1, "dma": 3}
    assert flight.incomplete({"dma": 1}) == {}


def test_all_that_is_in_flight_on_a_buffer_counts() -> None:
    """Each access of a step, each step, those behind a complete one too; but bytes that are not shared."""
    flight = InFlight()
    flight.issue(event("dma", 1), [whole("a", True), whole("b", True)])
    flight.issue(event("npu", 1), [whole("c", True), whole("b", False)])
    flight.issue(event("dma", 2), [whole("b", True)])
    assert flight.touching("b") == flight.hazards([whole("b", False)]) | {"npu": 1}
    assert flight.hazards([whole("b", True)]) == {"dma": 2, "npu": 1}
    behind = Slice(of="b", offset=8, row_bytes=8), True
    assert flight.hazards([behind]) == {}
    flight.complete(event("dma", 1))
    assert flight.touching("b") == {"npu": 1, "dma": 2}
    flight.complete(event("dma", 2))
    assert (flight.touching("b"), flight.hazards([whole("b", True)])) == ({"npu": 1}, {"npu": 1})
    flight.complete(event("npu", 1))
    assert (flight.touching("b"), flight.touching("b"), flight.touching("d")) == ({}, {}, {})
