"""First fit and skylines: on lists as on arrays, and good on many buffers."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing import ALGORITHMS, bound, fast, peak
from target_arch.stages.memory.packing.fast import KEYS, Packing, attempts
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


FIRST_FITS, SKYLINES = list(KEYS), ["skyline TWA", "skyline TAW", "skyline WAT"]


@pytest.mark.parametrize(
    ("many", "crowded", "found"),
    [
        pytest.param(9, 100, FIRST_FITS + SKYLINES, id="few, apart"),
        pytest.param(1, 100, FIRST_FITS + SKYLINES, id="many, apart"),
        pytest.param(9, 0, FIRST_FITS + SKYLINES, id="few, crowded"),
        pytest.param(4, 0, FIRST_FITS + SKYLINES, id="almost many, crowded"),
        pytest.param(3, 0, SKYLINES, id="many, crowded"),
    ],
)
def test_first_fit_is_not_tried_for_many_crowded_buffers(
    monkeypatch: pytest.MonkeyPatch, many: int, crowded: int, found: list[str]
) -> None:
    monkeypatch.setattr(fast, "_MANY", many)
    monkeypatch.setattr(fast, "_CROWDED", crowded)
    rows = [buffer(0, 8, 0, 1), buffer(1, 8, 1, 2), buffer(2, 8, 2, 3)]
    assert [plan.found_by for plan in attempts(rows)] == found


def test_buffers_that_all_live_at_once_need_one_attempt() -> None:
    assert [plan.found_by for plan in attempts([buffer(0, 8, 0, 1), buffer(1, 8, 1, 2)])] == ["stacked"]


def test_the_skyline_of_its_own_is_the_first_of_the_orders() -> None:
    assert ALGORITHMS["skyline"].pack([buffer(0, 8, 0, 1)]).found_by == "skyline TWA"  # type: ignore[attr-defined]


def test_of_buffers_that_all_live_at_once_the_last_wastes_most() -> None:
    rows = [buffer(n, size, 0, 1, 16) for n, size in enumerate((20, 16, 10))]
    (plan,) = attempts([*rows, buffer(3, 5, 0, 1, 32), buffer(4, 32, 0, 1, 8)])
    assert plan == {"b3": 0, "b1": 16, "b2": 32, "b0": 48, "b4": 72}
    assert peak(rows, plan) == 68


@given(buffers(12))
def test_pairs_share_a_step(rows: list[Buffer]) -> None:
    both = sum(one.overlaps(other) for number, one in enumerate(rows) for other in rows[:number])
    assert Packing(rows).pairs == both


def test_buffers_are_crowded_from_so_many_beside_each_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [buffer(n, 8, 0, 1) for n in range(3)]
    monkeypatch.setattr(fast, "_CROWDED", 2)
    assert Packing(rows).conflicts is None
    monkeypatch.setattr(fast, "_CROWDED", 3)
    assert Packing(rows).conflicts is not None


def test_among_equals_the_earlier_and_then_the_first_by_name_goes_first() -> None:
    later, early, other = buffer(0, 8, 1, 2), buffer(2, 8, 0, 3), buffer(1, 8, 0, 3)
    assert Packing((later, early, other)).sorted(KEYS["by-size"]) == [2, 1, 0]
    at_once = [buffer(1, 8, 0, 1), buffer(0, 8, 0, 1)]
    assert fast.stacked(at_once) == {"b0": 0, "b1": 8}
