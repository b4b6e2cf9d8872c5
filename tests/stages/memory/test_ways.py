"""How `allocate` chooses between ways to share places, when it searches longer, and how it joins arenas."""

from collections.abc import Sequence

import pytest
from attrs import define, evolve, field

from target_arch.backend.planner import Algorithm, Effort
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory import allocate as module
from target_arch.stages.memory.allocate import allocate, capacities
from target_arch.stages.memory.packing import Offsets
from target_arch.stages.memory.packing.fast import by_size
from target_arch.stages.memory.packing.sharing import choices
from tests.stages import chips
from tests.stages.memory.packing.instances import buffer

M, N = Arena("m"), Arena("n")

RESIDUAL = (
    buffer(0, 40, 0, 3),
    buffer(2, 40, 2, 3),
    evolve(buffer(3, 40, 3, 5), over=("b0", "b2")),
    evolve(buffer(1, 40, 5, 6), over=("b3",)),
)
"""Three ways: 80 B, 80 B, and 120 B where nothing is shared."""

LONE = buffer(9, 40, 0, 9)


def in_memory(rows: Sequence[Buffer], memory: str) -> tuple[Buffer, ...]:
    """The same rows with other names."""
    return tuple(
        evolve(row, name=memory + row.name, memory=memory, over=tuple(memory + name for name in row.over))
        for row in rows
    )


@define
class Raised:
    """An algorithm that leaves so many bytes free below the plan of its n-th call."""

    below: Sequence[int]
    found_by: str = ""
    lower: int = 0
    rows: list[list[Buffer]] = field(factory=list)

    def __call__(self, rows: Sequence[Buffer]) -> Offsets:
        free = self.below[len(self.rows)]
        self.rows.append(list(rows))
        offsets = {name: offset + free for name, offset in by_size(rows).items()}
        return Offsets(offsets, self.found_by, self.lower)

    def plan(self, rows: Sequence[Buffer], size: int = 1000, name: str = "mine", **others: int) -> MemoryPlan:
        mine = Algorithm(name=name, description="a test", pack=self)
        return allocate(rows, {"m": size} | others, name, {name: mine})


FIRST, LAST = (("b1", "b3"), ("b3", "b0")), (("b1", "b3"), ("b3", "b2"))


@pytest.mark.parametrize(
    ("below", "places", "peak", "calls"),
    [
        pytest.param((0,), FIRST, 80, 1, id="the first is at the bound"),
        pytest.param((1, 0), LAST, 80, 2, id="the second is at the bound"),
        pytest.param((1, 1), FIRST, 81, 2, id="none is at the bound, and without sharing none could be"),
        pytest.param((40, 41), FIRST, 120, 2, id="without sharing it would be as high"),
        pytest.param((50, 49, 10), LAST, 129, 3, id="the second is the lowest"),
        pytest.param((50, 51, 10), FIRST, 130, 3, id="of equals the first"),
        pytest.param((50, 51, 9), (), 129, 3, id="none is shared"),
    ],
)
def test_the_lowest_plan_counts(
    below: tuple[int, ...], places: tuple[tuple[str, str], ...], peak: int, calls: int
) -> None:
    mine = Raised(below)
    plan = mine.plan(RESIDUAL)
    assert (plan.in_place, plan.peaks, len(mine.rows)) == (places, {M: peak}, calls)


def test_the_next_value_of_a_state_has_its_place_in_every_way() -> None:
    state = Buffer(name="s", kind="state", memory="m", bytes=8, alignment=1, first=0, last=9)
    later = evolve(state, name="n", kind="next state", replaces="s")
    assert list(choices((state, later))) == [{"n": "s"}]
    ways = list(choices((*RESIDUAL, state, later)))
    assert [way["n"] for way in ways] == ["s", "s", "s"]
    assert [len(way) for way in ways] == [3, 3, 1]


def test_no_place_of_another_memory() -> None:
    below, above = buffer(0, 8, 0, 1), evolve(buffer(1, 8, 1, 2), over=("b0",))
    assert list(choices((below, above))) == [{"b1": "b0"}, {}]
    assert list(choices((evolve(below, memory="n"), above))) == [{}]


def test_places_are_chosen_in_the_order_of_time() -> None:
    late = evolve(buffer(1, 8, 3, 5), over=("b0",))
    early = evolve(buffer(2, 8, 2, 5), over=("b0",))
    assert next(choices((buffer(0, 8, 0, 3), late, early))) == {"b2": "b0"}


def test_a_small_result_in_a_large_place_leaves_the_rest_to_others() -> None:
    large, small = buffer(0, 64, 0, 2), evolve(buffer(1, 16, 2, 9), over=("b0",))
    plan = allocate((large, small, buffer(2, 48, 3, 9)), {"m": 1000})
    assert (plan.in_place, plan.peaks) == ((("b1", "b0"),), {M: 64})
    # Higher where they are first fitted as shapes than as rectangles.
    rows = (large, small, buffer(2, 8, 0, 9))
    assert allocate(rows, {"m": 1000}).peaks == {M: 72}


def test_an_algorithm_gets_no_buffer_without_bytes() -> None:
    mine = Raised((0,))
    plan = mine.plan((LONE, buffer(0, 0, 0, 9), *in_memory((buffer(1, 0, 0, 9),), "n")), n=10)
    assert mine.rows == [[LONE]]
    assert plan.offsets == {"b9": 0, "b0": 0, "nb1": 0}


@pytest.mark.parametrize(("lower", "proven"), [(0, ()), (49, ()), (50, (M,))])
def test_a_plan_is_proven_by_the_bound_or_by_its_algorithm(lower: int, proven: tuple[Arena, ...]) -> None:
    plan = Raised((10,), lower=lower).plan((LONE,))
    assert (plan.peaks, plan.proven) == ({M: 50}, proven)


def test_an_algorithm_proves_nothing_where_places_are_shared() -> None:
    """It knows of one way to share them, and another may be lower."""
    plan = Raised((50, 49, 10), lower=129).plan(RESIDUAL)
    assert (plan.peaks, plan.proven) == ({M: 129}, ())


def test_an_arena_that_is_known_is_not_planned_again() -> None:
    mine, known = Raised((0, 0, 0)), dict[object, MemoryPlan]()
    algorithms = {"mine": Algorithm(name="mine", description="a test", pack=mine)}
    plans = [
        allocate(rows, {"m": 1000}, "mine", algorithms, known=known)
        for rows in ((LONE,), (LONE,), (buffer(8, 40, 0, 9),))
    ]
    assert [[row.name for row in rows] for rows in mine.rows] == [["b9"], ["b8"]]
    assert plans[0] == plans[1] != plans[2]


def test_an_algorithm_may_say_how_it_found_a_plan() -> None:
    assert Raised((0,)).plan((LONE,)).found_by == {M: "mine"}
    assert Raised((0,), found_by="luck").plan((LONE,)).found_by == {M: "luck"}


def test_arenas_are_joined_in_the_order_of_their_names() -> None:
    names = ("z", "m", "c", "k", "b", "y")
    rows = [row for name in names for row in in_memory(RESIDUAL, name)]
    plan = allocate(rows, dict.fromkeys(names, 1000))
    arenas = [Arena(name) for name in sorted(names)]
    assert [list(plan.peaks), list(plan.proven)] == [arenas, arenas]
    pairs = [(f"{name}{over}", f"{name}{under}") for name in sorted(names) for over, under in FIRST]
    assert list(plan.in_place) == pairs


def test_the_first_memory_that_overflows_is_the_first_by_name() -> None:
    names = [f"m{number}" for number in range(40, 0, -1)]
    with pytest.raises(DoesNotFitError) as caught:
        allocate([row for name in names for row in in_memory((LONE,), name)], dict.fromkeys(names, 8))
    assert caught.value.pool == Arena("m1")


def test_the_first_of_equally_full_steps_is_named() -> None:
    with pytest.raises(DoesNotFitError) as caught:
        allocate((buffer(0, 60, 0, 1), buffer(1, 60, 3, 3)), {"m": 50})
    assert caught.value.step == 0


def test_what_constants_and_states_leave_is_all_there_is() -> None:
    c, s = (evolve(buffer(0, 20, 0, 0), name=kind, kind=kind) for kind in ("constant", "state"))
    far = evolve(buffer(5, 8, 0, 0, 64), memory="n")
    assert allocate((c, s, LONE, far), {"m": 80, "n": 8}).peaks[M] == 40
    with pytest.raises(DoesNotFitError) as caught:
        allocate((c, s, LONE, far), {"m": 79, "n": 8})
    assert (caught.value.pool, caught.value.available) == (M, 39)
    with pytest.raises(DoesNotFitError):
        allocate((c, s, buffer(1, 1, 0, 0)), {"m": 40})


def test_residents_have_what_constants_and_states_leave() -> None:
    c, s, r = (
        evolve(buffer(0, 20, 0, 0), name=kind, kind=kind) for kind in ("constant", "state", "resident")
    )
    assert allocate((c, s, r), {"m": 60}).peaks[Arena("m", resident=True)] == 20
    with pytest.raises(DoesNotFitError) as caught:
        allocate((c, s, r), {"m": 59})
    assert (caught.value.pool, caught.value.available) == (Arena("m", resident=True), 19)
    with pytest.raises(DoesNotFitError):
        allocate((s, evolve(r, bytes=1)), {"m": 20})


def test_capacities_are_those_of_the_memories() -> None:
    assert capacities(chips.ALONE) == {memory.name: memory.size for memory in chips.ALONE.memories}


@define
class Searched:
    """In place of the longer search: what it was asked, and an answer so many bytes above nothing."""

    above: int
    asked: list[tuple[list[str], dict[str, int], int]] = field(factory=list)

    def __call__(self, rows: Sequence[Buffer], start: Offsets, effort: Effort) -> Offsets:
        self.asked.append(([row.name for row in rows], dict(start), effort.goal))
        return Offsets({name: offset + self.above for name, offset in by_size(rows).items()}, "long")


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Searched:
    search = Searched(0)
    monkeypatch.setattr(module, "improve", search)
    return search


def test_what_could_fit_is_searched_for_with_the_places_that_were_chosen(searched: Searched) -> None:
    rows = (*in_memory(RESIDUAL, "n"), *RESIDUAL, buffer(7, 0, 0, 9))
    plan = Raised((9, 8, 0)).plan(rows, 80, "best", n=1000)
    assert searched.asked == [(["b0", "b2"], {"b0": 8, "b2": 48, "b3": 48, "b1": 48}, 80)]
    assert (plan.peaks, plan.found_by) == ({M: 80, N: 80}, {M: "long", N: "best"})
    assert plan.in_place == (*LAST, ("nb1", "nb3"), ("nb3", "nb0"))
    assert plan.proven == (M, N)


def test_what_is_too_high_after_the_search_is_refused(searched: Searched) -> None:
    searched.above = 1
    with pytest.raises(DoesNotFitError) as caught:
        Raised((9, 8)).plan(RESIDUAL, 80, "best")
    assert (caught.value.needed, caught.value.available) == (81, 80)


@pytest.mark.parametrize(
    ("size", "lower", "name"),
    [
        pytest.param(39, 0, "best", id="below the bound"),
        pytest.param(49, 50, "best", id="proven"),
        pytest.param(49, 0, "mine", id="another algorithm"),
    ],
)
def test_nothing_is_searched_for_in_vain(searched: Searched, size: int, lower: int, name: str) -> None:
    with pytest.raises(DoesNotFitError):
        Raised((10,), lower=lower).plan((LONE,), size, name)
    assert searched.asked == []


def test_too_many_buffers_for_the_longer_search(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its nodes would not even place each buffer twice."""
    for work, asked in ((2, 1), (1, 0)):
        monkeypatch.setattr(module, "_LAST_WORK", work)
        searched.asked.clear()
        searched.above = 11
        with pytest.raises(DoesNotFitError):
            Raised((10,)).plan((LONE,), 49, "best")
        assert len(searched.asked) == asked


@pytest.mark.parametrize(
    ("beside", "after", "nodes"),
    [
        (1, 0, 20_000),
        (2_000, 0, 10_000),
        (2_000, 2_000, 10_000),
        (3_162, 0, 6_325),
        (3_163, 0, 0),
        (1, 9_999, 20_000),
        (1, 10_000, 0),
    ],
)
def test_nodes_of_the_longer_search(beside: int, after: int, nodes: int) -> None:
    """So many buffers that share a step, and so many one after the other."""
    rows = [buffer(number, 8, 0, 0) for number in range(beside)]
    rows += [buffer(beside + step, 8, step, step) for step in range(1, after + 1)]
    assert module._last_nodes(rows) == nodes
