"""Which slices share bytes, and what a step must wait for."""

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


@given(STRIDED, STRIDED)
def test_overlap_is_never_missed_and_exact_for_equal_strides(first: Slice, second: Slice) -> None:
    meet = bool(touched(first) & touched(second))
    assert overlap(first, second) or not meet
    if first.rows == 1 or second.rows == 1 or first.stride == second.stride:
        assert overlap(first, second) == meet


def whole(name: str, write: bool) -> ByteAccess:
    return ByteAccess(part=Slice(of=name, offset=0, row_bytes=8), write=write)


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
