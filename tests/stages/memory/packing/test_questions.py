"""`allocate` with an effort, what it says about its answer, and questions that make no sense."""

import pytest
from attrs import evolve

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Arena, Buffer
from target_arch.stages.errors import DoesNotFitError, PlanError
from target_arch.stages.memory.allocate import allocate
from tests.stages.memory.packing.instances import CAPACITY, buffer, is_valid, shared

ROWS = (buffer(0, 7, 0, 3, 4), buffer(1, 5, 2, 6, 4), buffer(2, 4, 5, 9, 4))
M = Arena("m")


def test_a_plan_says_how_it_was_found_and_whether_it_is_proven() -> None:
    plan = allocate(ROWS, {"m": 100})
    assert (plan.peaks, plan.bounds) == ({M: 13}, {M: 12})
    assert plan.found_by == {M: "by-size"}
    assert plan.proven == (M,)
    gap = (buffer(0, 8, 0, 1), buffer(1, 4, 0, 3), buffer(2, 10, 2, 3))
    plan = allocate(gap, {"m": 100}, "by-time")
    assert (plan.peaks, plan.proven) == ({M: 22}, ())


@pytest.mark.long
def test_an_effort_reaches_the_search() -> None:
    plan = allocate(shared("F"), {"m": CAPACITY}, "search", effort=Effort(nodes=2_000))
    assert is_valid(plan.buffers, plan.offsets)
    assert plan.found_by == {M: "search TWA after 1,087 nodes"}
    assert plan.proven == (M,)


def test_what_does_not_fit_is_searched_for_before_it_is_refused() -> None:
    rows = shared("C")
    plan = allocate(rows, {"m": CAPACITY})
    assert is_valid(rows, plan.offsets)
    assert plan.peaks[M] <= CAPACITY
    with pytest.raises(DoesNotFitError):
        allocate(rows, {"m": CAPACITY}, "greedy")


def test_a_buffer_without_bytes_lies_at_the_start() -> None:
    plan = allocate((*ROWS, buffer(3, 0, 0, 9, 4)), {"m": 100})
    assert plan.offsets["b3"] == 0
    assert plan.peaks == {M: 13}
    empty = allocate((buffer(0, 0, 0, 0),), {"m": 0})
    assert (empty.peaks, empty.bounds, empty.proven) == ({M: 0}, {M: 0}, (M,))


def test_nothing_at_all() -> None:
    assert allocate((), {"m": 0}).offsets == {}


def test_a_capacity_of_zero_holds_nothing() -> None:
    with pytest.raises(DoesNotFitError) as caught:
        allocate(ROWS, {"m": 0})
    assert (caught.value.needed, caught.value.available, caught.value.bound) == (13, 0, 12)


WRONG: dict[str, tuple[Buffer, str]] = {
    "bytes": (evolve(ROWS[0], bytes=-1), "buffer `b0` has -1 B [wrong-buffer]"),
    "alignment": (evolve(ROWS[0], alignment=0), "buffer `b0` has an alignment of 0 B [wrong-buffer]"),
    "life": (evolve(ROWS[0], last=-1), "buffer `b0` ends in step -1, before step 0 [wrong-buffer]"),
    "name": (evolve(ROWS[0], name="b1"), "buffer `b1` is there twice [duplicate-buffer]"),
    "memory": (
        evolve(ROWS[0], memory="n"),
        "buffer `b0` is in memory `n`, which has no capacity [unknown-memory]",
    ),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_wrong_buffers(wrong: str) -> None:
    row, message = WRONG[wrong]
    with pytest.raises(PlanError) as caught:
        allocate((row, *ROWS[1:]), {"m": 100})
    assert str(caught.value) == f"memory plan: error: {message}"


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        allocate((evolve(ROWS[0], bytes=-1, alignment=0), ROWS[1]), {"m": -4})
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "memory `m` has -4 B",
        "buffer `b0` has -1 B",
        "buffer `b0` has an alignment of 0 B",
    ]


def test_only_searches_take_an_effort() -> None:
    with pytest.raises(PlanError) as caught:
        allocate(ROWS, {"m": 100}, "by-size", effort=Effort(seconds=1))
    assert str(caught.value) == (
        "memory plan: error: the algorithm `by-size` takes no limit of nodes or seconds [no-effort]\n"
        "hint: those that do: `cp-sat`, `search`"
    )


@pytest.mark.parametrize("effort", [Effort(nodes=1), Effort(nodes=9, seconds=0.5), Effort(seconds=2.0)])
def test_a_little_effort(effort: Effort) -> None:
    assert allocate(ROWS, {"m": 100}, "search", effort=effort).peaks == {M: 13}


def test_memories_without_room_are_named_in_order() -> None:
    with pytest.raises(PlanError) as caught:
        allocate(ROWS, {"z": -1, "m": 0, "a": -2, "b": 1})
    assert [each.message for each in caught.value.diagnostics] == [
        "memory `a` has -2 B",
        "memory `z` has -1 B",
    ]


@pytest.mark.parametrize(
    ("effort", "limit"),
    [
        (Effort(nodes=0), "0 nodes"),
        (Effort(seconds=0.0), "0.0 s"),
        (Effort(seconds=-1.0), "-1.0 s"),
        (Effort(seconds=float("nan")), "nan s"),
        (Effort(seconds=float("inf")), "inf s"),
    ],
)
def test_an_effort_of_nothing(effort: Effort, limit: str) -> None:
    with pytest.raises(PlanError) as caught:
        allocate(ROWS, {"m": 100}, "search", effort=effort)
    assert f"no search takes {limit} [no-effort]" in str(caught.value)
