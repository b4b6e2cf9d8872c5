"""Buffers in the place of others: rectangles, the bound, and plans that are never worse for it."""

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Arena, Buffer
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.packing import bound, least, peak
from target_arch.stages.memory.packing.sharing import choices, rectangles, roots, shared_bound, shared_bounds
from tests.stages.memory.packing.instances import buffer, is_valid

RESIDUAL = [
    buffer(0, 40, 0, 3),
    buffer(1, 40, 1, 2),
    buffer(2, 40, 2, 3),
    evolve(buffer(3, 40, 3, 5), over=("b0", "b2")),
    evolve(buffer(4, 40, 5, 6), over=("b3",)),
]


def test_a_chain_of_places_is_one_rectangle() -> None:
    ways = list(choices(RESIDUAL))
    assert ways == [{"b3": "b0", "b4": "b3"}, {"b3": "b2", "b4": "b3"}, {}]
    one, other = (rectangles(RESIDUAL, way) for way in ways[:2])
    assert [(r.name, r.first, r.last) for r in one] == [("b0", 0, 6), ("b1", 1, 2), ("b2", 2, 3)]
    assert [(r.name, r.first, r.last) for r in other] == [("b0", 0, 3), ("b1", 1, 2), ("b2", 2, 6)]
    assert roots(RESIDUAL, ways[0])["b4"] == "b0"
    assert (bound(RESIDUAL), shared_bound(RESIDUAL)) == (120, 120)
    assert (bound(RESIDUAL[2:]), shared_bound(RESIDUAL[2:])) == (80, 40)


def test_a_place_is_given_once() -> None:
    rows = [buffer(0, 8, 0, 1), *(evolve(buffer(n, 8, 1, 2), over=("b0",)) for n in (1, 2))]
    assert next(choices(rows)) == {"b1": "b0"}


@st.composite
def in_place(draw: st.DrawFn) -> list[Buffer]:
    """Buffers of which some may take the place of others that end where they begin."""
    rows: list[Buffer] = []
    for number in range(draw(st.integers(1, 9))):
        first, size = draw(st.integers(0, 8)), draw(st.sampled_from((8, 20, 24)))
        new = buffer(number, size, first, first + draw(st.integers(0, 4)), draw(st.sampled_from((1, 4, 16))))
        able = [old.name for old in rows if (old.last, old.bytes) == (new.first, new.bytes)]
        rows.append(evolve(new, over=tuple(able)))
    return rows


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(in_place())
def test_plans_share_only_what_they_say_and_are_never_higher_for_it(rows: list[Buffer]) -> None:
    plan = allocate(rows, {"m": 10_000})
    places = dict(plan.in_place)
    joined = rectangles(rows, places)
    assert is_valid(joined, {row.name: plan.offsets[row.name] for row in joined})
    assert all(plan.offsets[name] == plan.offsets[place] for name, place in places.items())
    assert all(place in next(row for row in rows if row.name == name).over for name, place in places.items())
    assert len(set(places.values())) == len(places)
    arena = Arena("m")
    highest, (without, aligned) = plan.peaks[arena], shared_bounds(rows)
    assert without == plan.shared[arena] <= aligned <= highest
    assert highest == peak(rows, plan.offsets)
    assert highest <= allocate([evolve(row, over=()) for row in rows], {"m": 10_000}).peaks[arena]
    assert all(aligned <= least(rectangles(rows, way)) for way in choices(rows))


def test_a_rectangle_has_the_name_of_its_root_whichever_comes_first() -> None:
    rows = [buffer(1, 8, 2, 5), evolve(buffer(0, 8, 2, 3), over=("b1",))]
    assert [(r.name, r.first, r.last) for r in rectangles(rows, {"b0": "b1"})] == [("b1", 2, 5)]


def test_a_rectangle_begins_with_the_earliest_in_whatever_order_they_come() -> None:
    rows = [evolve(buffer(0, 8, 4, 5, 4), over=("b1",)), buffer(1, 8, 0, 4)]
    (found,) = rectangles(rows, {"b0": "b1"})
    assert (found.first, found.last, found.alignment, found.over) == (0, 5, 4, ())


def test_a_rectangle_takes_the_place_of_none() -> None:
    lone = evolve(buffer(1, 8, 2, 3), over=("b0",))
    assert rectangles([lone], {}) == [buffer(1, 8, 2, 3)]


def test_the_root_of_a_long_chain_from_any_of_its_buffers() -> None:
    rows = [buffer(0, 8, 0, 1), *(evolve(buffer(n, 8, n, n + 1), over=(f"b{n - 1}",)) for n in range(1, 5))]
    places = {f"b{n}": f"b{n - 1}" for n in range(1, 5)}
    for order in (rows, rows[::-1], rows[2:] + rows[:2]):
        assert roots(order, places) == dict.fromkeys((row.name for row in order), "b0")
    assert roots(rows[3:], places) == {"b3": "b0", "b4": "b0"}
    assert roots(rows, {"b1": "b0", "b4": "b3"}) == {
        "b0": "b0",
        "b1": "b0",
        "b2": "b2",
        "b3": "b3",
        "b4": "b3",
    }


def test_bytes_are_saved_while_both_are_live_and_at_most_once() -> None:
    result = evolve(buffer(1, 8, 2, 3), over=("b0",))
    assert shared_bound([buffer(0, 8, 0, 5), result, buffer(2, 20, 4, 5)]) == 28
    either = evolve(buffer(2, 8, 2, 6), over=("b0", "b1"))
    assert shared_bound([buffer(0, 8, 0, 2), buffer(1, 8, 0, 4), either, buffer(3, 20, 3, 4)]) == 28


def test_the_last_of_all_may_end_where_it_wants() -> None:
    """Six bytes above eight, in units of four: whole units below, and two that are not needed above."""
    rows = [buffer(0, 6, 0, 0, 4), buffer(1, 8, 0, 0, 4)]
    assert shared_bounds(rows) == (14, 14)
    assert shared_bounds([buffer(0, 8, 0, 0, 4), buffer(1, 12, 0, 0, 4)]) == (20, 20)
    rows = [buffer(0, 6, 0, 0, 4), buffer(1, 5, 0, 0, 4)]
    assert shared_bounds(rows) == (11, 13)
    rows += [buffer(2, 8, 0, 0, 4)]
    assert shared_bounds(rows) == (19, 21)


def test_a_place_that_is_taken_is_saved_in_whole_units() -> None:
    """Ten bytes in units of 16, and ten in their place."""
    rows = [buffer(0, 10, 0, 1, 16), evolve(buffer(1, 10, 1, 2, 16), over=("b0",))]
    assert shared_bounds(rows) == (10, 10)


def test_nothing_to_share() -> None:
    assert (shared_bounds([]), list(choices([]))) == ((0, 0), [{}])
