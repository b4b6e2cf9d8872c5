"""Buffers of calls that run in turn: blocks, the bound, and plans that are never higher for them."""

from itertools import combinations

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Arena, Buffer, CallSpan
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.packing import bound
from target_arch.stages.memory.packing.sharing import rectangles, roots, shared_bound, shared_bounds
from tests.stages.memory.packing.instances import buffer

END = 9


def called(number: int, size: int, first: int, last: int, timeline: str = "dsp") -> Buffer:
    """A buffer of calls that nobody waits for before the end."""
    one = buffer(number, size, first, END)
    return evolve(one, calls=CallSpan(timeline=timeline, first=first, last=last))


QUEUE = [called(0, 40, 1, 2), called(1, 30, 2, 4), called(2, 50, 4, 5)]
"""The results of three calls, each read by the next; the last is copied when the queue is over."""
WEIGHTS = buffer(3, 20, 3, END)
"""Copied for the last call while the others run."""


def peak(*rows: Buffer) -> int:
    return allocate(rows, {"m": 10_000}).peaks[Arena("m")]


def apart(one: Buffer, other: Buffer) -> bool:
    """Whether two buffers may have the same bytes."""
    if one.calls and other.calls and one.calls.timeline == other.calls.timeline:
        one, other = (evolve(b, first=b.calls.first, last=b.calls.last) for b in (one, other) if b.calls)
    return one.last < other.first or other.last < one.first


def test_later_calls_have_the_bytes_of_those_before() -> None:
    assert (bound(QUEUE), shared_bound(QUEUE), peak(*QUEUE)) == (120, 80, 80)


def test_what_is_copied_meanwhile_has_bytes_of_its_own() -> None:
    plan = allocate([*QUEUE, WEIGHTS], {"m": 10_000})
    assert plan.peaks == plan.shared == {Arena("m"): 100}
    assert plan.bounds == {Arena("m"): 140}
    assert plan.proven == (Arena("m"),)


def test_calls_of_two_timelines_are_two_blocks() -> None:
    other = [called(4, 16, 1, 2, "npu"), called(5, 16, 4, 5, "npu")]
    assert peak(*QUEUE, *other) == shared_bound([*QUEUE, *other]) == 96


def test_each_wait_ends_a_block() -> None:
    early = [evolve(each, last=6) for each in QUEUE[:2]]
    assert peak(*early, QUEUE[2], called(6, 10, 6, 7)) == 120


def test_a_result_over_an_operand_is_counted_once() -> None:
    over = [QUEUE[0], evolve(called(1, 40, 2, 4), over=("b0",)), QUEUE[2]]
    assert shared_bound(over) == peak(*over) == 90
    assert shared_bound(over[:2]) == peak(*over[:2]) == 40
    (joined,) = rectangles(over[:2], {"b1": "b0"})
    assert joined.calls == CallSpan(timeline="dsp", first=1, last=4)
    copied = [buffer(0, 40, 0, END), over[1]]
    assert [each.calls for each in rectangles(copied, {"b1": "b0"})] == [None]
    assert shared_bound(copied) == 40


def test_one_buffer_is_no_block() -> None:
    assert peak(QUEUE[0], WEIGHTS) == 60


@st.composite
def queues(draw: st.DrawFn) -> list[Buffer]:
    """Buffers of which some belong to calls of two timelines, and some take the places of others."""
    rows: list[Buffer] = []
    for number in range(draw(st.integers(1, 9))):
        first, size = draw(st.integers(0, 8)), draw(st.sampled_from((8, 20, 24)))
        last = first + draw(st.integers(0, 4))
        one = buffer(number, size, first, last, draw(st.sampled_from((1, 4, 16))))
        timeline = draw(st.sampled_from((None, "dsp", "npu")))
        if timeline is not None:
            calls = CallSpan(timeline=timeline, first=first, last=last)
            one = evolve(one, last=draw(st.sampled_from((14, 18))), calls=calls)
        able = [old.name for old in rows if old.calls is one.calls is None and old.last == first]
        able += [old.name for old in rows if old.calls and one.calls and old.calls.last == first]
        same = [old.name for old in rows if old.name in able and old.bytes == size]
        rows.append(evolve(one, over=tuple(same)))
    return rows


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(queues())
def test_plans_share_only_what_calls_have_in_turn_and_are_never_higher_for_it(rows: list[Buffer]) -> None:
    plan, arena = allocate(rows, {"m": 10_000}), Arena("m")
    first = roots(rows, dict(plan.in_place))
    for one, other in combinations(rows, 2):
        start, there = plan.offsets[one.name], plan.offsets[other.name]
        shares = start < there + other.bytes and there < start + one.bytes
        assert not shares or apart(one, other) or first[one.name] == first[other.name]
    without, aligned = shared_bounds(rows)
    assert without == plan.shared[arena] <= aligned <= plan.peaks[arena]
    alone = allocate([evolve(row, calls=None) for row in rows], {"m": 10_000})
    assert plan.peaks[arena] <= alone.peaks[arena]
