"""First fit and skylines: on lists as on arrays, and good on many buffers."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing import ALGORITHMS, bound, peak
from target_arch.stages.memory.packing.fast import KEYS, Packing
from tests.stages.memory.packing.instances import buffer, buffers, is_valid


@given(buffers(15))
def test_lists_and_arrays_give_the_same_plans(rows: list[Buffer]) -> None:
    lists, arrays = Packing(rows), Packing(rows)
    arrays.conflicts = None
    order = lists.sorted(KEYS["by-conflicts"])
    assert lists.first_fit(order) == arrays.first_fit(order)
    assert lists.skyline(order) == arrays.skyline(order)


def test_arrays_take_apart_what_shares_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many crowded groups, as the operands of many partitions are: work grows with the pairs that meet."""
    random, seen = Random(3), list[int]()
    rows = [
        buffer(number, random.randint(1, 64), first, first + random.randint(60, 119), 4)
        for number, first in enumerate(300 * (n // 150) + random.randrange(120) for n in range(3_000))
    ]
    packing = Packing(rows)
    assert packing.conflicts is None

    def counted(original: Callable[..., list[int]]) -> Callable[..., list[int]]:
        def place(self: Packing, numbers: Sequence[int]) -> list[int]:
            seen.append(len(numbers))
            return original(self, numbers)

        return place

    for name in ("_first_fit_in_arrays", "_skyline_in_arrays"):
        monkeypatch.setattr(Packing, name, counted(getattr(Packing, name)))
    lists, order = Packing(rows), packing.sorted(KEYS["by-area"])
    lists.conflicts = lists._conflicts()
    assert packing.first_fit(order) == lists.first_fit(order)
    assert packing.skyline(order) == lists.skyline(order)
    assert seen == 40 * [150]


def test_arrays_need_no_search_for_what_is_live_at_once_and_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    rows = [
        buffer(number, random.randint(1, 64), 10 * (number // 150), 10 * (number // 150) + 5, 4)
        for number in range(3_000)
    ]
    packing, lists = Packing(rows), Packing(rows)
    assert packing.conflicts is None
    lists.conflicts, order = lists._conflicts(), packing.sorted(KEYS["by-size"])
    monkeypatch.setattr(Packing, "_first_fit_in_arrays", None)
    monkeypatch.setattr(Packing, "_skyline_in_arrays", None)
    assert packing.first_fit(order) == lists.first_fit(order)
    assert packing.skyline(order) == lists.skyline(order)


@given(buffers(15))
def test_a_skyline_is_a_plan(rows: list[Buffer]) -> None:
    assert is_valid(rows, ALGORITHMS["skyline"](rows))


@given(buffers(15))
def test_conflicts_count_the_bytes_of_all_that_share_a_step(rows: list[Buffer]) -> None:
    order = Packing(rows).sorted(KEYS["by-conflicts"])
    around = [sum(b.bytes for b in rows if b is not row and b.overlaps(row)) for row in rows]
    assert [around[number] for number in order] == sorted(around, reverse=True)


def test_buffers_that_all_live_at_once_are_stacked_without_gaps() -> None:
    rows = [buffer(0, 3, 0, 4), buffer(1, 32, 1, 3, alignment=16), buffer(2, 8, 2, 5, alignment=8)]
    plan = ALGORITHMS["greedy"](rows)
    assert plan == {"b1": 0, "b2": 32, "b0": 40}
    assert peak(rows, plan) == bound(rows)


@pytest.mark.parametrize("longest", [40, 400, 4000])
def test_many_random_buffers_are_planned_near_the_bound(longest: int) -> None:
    random = Random(longest)
    rows = [
        buffer(number, 16 * random.randint(1, 4096), first, first + random.randint(0, longest), 16)
        for number, first in enumerate(random.randrange(2000) for _ in range(2000))
    ]
    assert peak(rows, ALGORITHMS["best"](rows)) <= 1.05 * bound(rows)
