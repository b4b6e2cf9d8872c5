"""Offsets beside an exhaustive search: every start is tried."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Buffer
from target_arch.stages.memory import offsets
from target_arch.stages.memory.offsets import Block, first_fit, largest_gap, planned, stacked
from target_arch.stages.memory.packing.live_sums import IntervalSums, live_sums


def buffer(
    name: str, size: int, first: int = 0, last: int = 0, alignment: int = 1, over: tuple[str, ...] = ()
) -> Buffer:
    return Buffer(
        name=name,
        kind="activation",
        memory="m",
        bytes=size,
        alignment=alignment,
        first=first,
        last=last,
        over=over,
    )


END = 8
"""The moment after the last item."""
LIVES = st.tuples(st.integers(0, END), st.integers(0, 4)).map(lambda at: (at[0], min(sum(at), END)))
RUNS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda run: (run[0], sum(run))))
"""Begin and end of occupied bytes; some overlap."""
BUFFERS = st.lists(
    st.tuples(st.integers(1, 12), LIVES, st.sampled_from((1, 2, 4, 8))), min_size=1, max_size=5
).map(lambda rows: [buffer(f"b{n}", size, *life, unit) for n, (size, life, unit) in enumerate(rows)])


def are_free(first: int, size: int, occupied: Sequence[tuple[int, int]]) -> bool:
    return all(first + size <= start or stop <= first for start, stop in occupied)


@settings(max_examples=150, deadline=None)
@given(BUFFERS, RUNS, st.integers(0, 50))
def test_first_fit_takes_the_lowest_place_of_all(
    buffers: list[Buffer], occupied: list[tuple[int, int]], available: int
) -> None:
    expected: dict[str, int] | None = {}
    for one in sorted(buffers, key=lambda b: (-b.bytes, b.name)):
        beside = [
            (expected[b.name], expected[b.name] + b.bytes)
            for b in buffers
            if b.name in expected and b.first <= one.last and one.first <= b.last
        ]
        starts = range(0, available - one.bytes + 1, one.alignment)
        found = [at for at in starts if are_free(at, one.bytes, (*occupied, *beside))]
        if not found:
            expected = None
            break
        expected[one.name] = found[0]
    assert first_fit(buffers, lambda _: occupied, available) == expected


@settings(max_examples=150, deadline=None)
@given(RUNS, st.integers(0, 50), st.sampled_from((1, 2, 4, 8)))
@example([(0, 8), (16, 24)], 32, 8)
def test_the_largest_gap_is_the_longest_run_from_a_whole_unit_on(
    occupied: list[tuple[int, int]], available: int, unit: int
) -> None:
    best = Block(offset=0, bytes=0)
    for offset in range(0, available, unit):
        length = 0
        while offset + length < available and are_free(offset + length, 1, occupied):
            length += 1
        if length > best.bytes:
            best = Block(offset=offset, bytes=length)
    assert largest_gap(occupied, available, unit) == best


STACKS: dict[str, tuple[list[Buffer], Block, dict[str, int] | None]] = {
    "one after the other, by name": (
        [buffer("b", 4), buffer("a", 3)],
        Block(offset=8, bytes=7),
        {"a": 8, "b": 11},
    ),
    "a byte too many": ([buffer("b", 4), buffer("a", 3)], Block(offset=8, bytes=6), None),
    "the coarsest alignment first": (
        [buffer("a", 4, alignment=4), buffer("b", 8, alignment=8), buffer("c", 2, alignment=2)],
        Block(offset=16, bytes=14),
        {"b": 16, "a": 24, "c": 28},
    ),
    "what is no whole unit last": (
        [buffer("a", 5, alignment=4), buffer("b", 4, alignment=4)],
        Block(offset=16, bytes=9),
        {"b": 16, "a": 20},
    ),
    "where a unit begins": (
        [buffer("a", 3, alignment=4), buffer("b", 3, alignment=4)],
        Block(offset=4, bytes=7),
        {"a": 4, "b": 8},
    ),
    "nothing": ([], Block(offset=4, bytes=0), {}),
}


@pytest.mark.parametrize("name", STACKS)
def test_buffers_are_stacked(name: str) -> None:
    buffers, block, expected = STACKS[name]
    assert stacked(buffers, block) == expected


def test_nothing_is_planned_without_buffers() -> None:
    assert planned((), 0) == {}


def test_bytes_are_whole_units_in_a_plan() -> None:
    """Two bytes of four: without the other two the second would begin within a unit."""
    found = planned((buffer("a", 2, alignment=4), buffer("b", 2, alignment=1)), 100, "by-size")
    assert found == {"a": 0, "b": 4}


SUM = (buffer("a", 8, 0, 1), buffer("b", 8, 0, 1), buffer("sum", 8, 1, 2, over=("a", "b")))


@pytest.mark.parametrize(
    ("goal", "peaks", "tried", "chosen"),
    [
        (24, (24, 20, 16), 1, 24),
        (20, (24, 20, 16), 2, 20),
        (19, (24, 20, 16), 3, 16),
        (0, (16, 20, 24), 3, 16),
        (0, (20, 16, 24), 3, 16),
    ],
)
def test_choices_are_tried_until_one_reaches_the_goal(
    goal: int, peaks: tuple[int, ...], tried: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the place of the first operand, of the last, and of none; the lowest plan is taken."""
    seen: list[list[str]] = []

    def pack(rectangles: Sequence[Buffer]) -> dict[str, int]:
        seen.append([each.name for each in rectangles])
        return {each.name: peaks[len(seen) - 1] - 8 for each in rectangles}

    monkeypatch.setattr(offsets, "ALGORITHMS", {"scripted": pack})
    found = planned(SUM, goal, "scripted")
    assert seen == [["a", "b"], ["a", "b"], ["a", "b", "sum"]][:tried]
    assert set(found.values()) == {chosen - 8}


def test_of_equal_plans_the_first_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def pack(rectangles: Sequence[Buffer]) -> dict[str, int]:
        tries.append(len(tries))
        return {each.name: 16 if each.name == "a" else tries[-1] for each in rectangles}

    monkeypatch.setattr(offsets, "ALGORITHMS", {"scripted": pack})
    assert planned(SUM, 0, "scripted") == {"a": 16, "b": 0, "sum": 16}
    assert len(tries) == 3


def test_a_plan_may_be_found_by_any_choice() -> None:
    found = planned(SUM, 16)
    assert found["sum"] == found["a"]
    assert {found["a"], found["b"]} == {0, 8}


@given(st.lists(st.tuples(LIVES, st.integers(0, 9))))
def test_live_bytes_are_summed_at_every_moment(sizes: list[tuple[tuple[int, int], int]]) -> None:
    expected = [
        sum(size for (first, last), size in sizes if first <= moment <= last) for moment in range(END + 1)
    ]
    assert live_sums(sizes, END).tolist() == expected


@given(BUFFERS, LIVES)
def test_bytes_within_a_span_are_those_of_all_that_live_there(
    buffers: list[Buffer], span: tuple[int, int]
) -> None:
    there = [b for b in buffers if any(b.first <= at <= b.last for at in range(span[0], span[1] + 1))]
    assert IntervalSums(buffers).within(span) == sum(b.bytes for b in there)


def test_of_equal_buffers_the_first_name_is_lowest() -> None:
    assert first_fit((buffer("b", 4), buffer("a", 4)), lambda _: (), 8) == {"a": 0, "b": 4}
