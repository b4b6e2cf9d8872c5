"""Memory plans of hand-made buffers: valid, at the bound where that is possible, refused where it is not."""

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.planner import Algorithm, Effort
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.stages.errors import DoesNotFitError, PlanError
from target_arch.stages.memory.allocate import _joined, allocate, arena_capacity
from target_arch.stages.memory.packing import ALGORITHMS
from target_arch.stages.memory.packing.sharing import shared_bounds


def buffer(
    name: str, size: int, first: int, last: int, kind: str = "activation", alignment: int = 1
) -> Buffer:
    return Buffer(name=name, kind=kind, memory="m", bytes=size, alignment=alignment, first=first, last=last)


def chain(*sizes: int, residuals: tuple[tuple[int, int], ...] = ()) -> tuple[Buffer, ...]:
    """Tensor n is made in step n-1 and read in step n; residuals prolong a tensor to a later step."""
    last = {number: number for number in range(len(sizes))} | dict(residuals)
    return tuple(buffer(f"t{n}", size, max(n - 1, 0), last[n]) for n, size in enumerate(sizes))


def is_valid(plan: MemoryPlan) -> bool:
    def disjoint(one: Buffer, other: Buffer) -> bool:
        start, begin = plan.offsets[one.name], plan.offsets[other.name]
        return start + one.bytes <= begin or begin + other.bytes <= start

    pairs = [(a, b) for n, a in enumerate(plan.buffers) for b in plan.buffers[:n] if a.arena == b.arena]
    aligned = all(plan.offsets[b.name] % b.alignment == 0 for b in plan.buffers)
    return aligned and all(disjoint(a, b) for a, b in pairs if a.overlaps(b))


CHAINS = {
    "kws": chain(490, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 8000, 64, 12, 12),
    "vww": chain(
        27648, 18432, 18432, 36864, 9216, 18432, 18432, 18432, 4608, 9216, 9216, 9216, 2304, 4608, 256, 2
    ),
    "resnet": chain(
        3072, 16384, 16384, 16384, 16384, 8192, 8192, 8192, 8192, 4096, 4096, 4096, 4096, 64, 10,
        residuals=((1, 4), (4, 7), (8, 11)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_chains_with_residuals_are_planned_at_the_bound(name: str) -> None:
    plan = allocate(CHAINS[name], {"m": 10**6})
    assert is_valid(plan)
    assert plan.peaks == plan.bounds


def test_the_search_finds_what_no_order_finds() -> None:
    """First fit in the orders by size, area, conflicts and time leaves a gap here."""
    sizes = (
        (7, 0, 3), (5, 2, 6), (4, 0, 1), (6, 4, 8), (3, 1, 5), (8, 6, 9), (2, 3, 7), (5, 8, 11), (4, 7, 10),
        (9, 10, 12), (1, 5, 9), (6, 11, 13),
    )  # fmt: skip
    buffers = tuple(buffer(f"b{n}", *row) for n, row in enumerate(sizes))
    plan = allocate(buffers, {"m": 100})
    assert is_valid(plan)
    assert plan.peaks == plan.bounds


@st.composite
def buffers(draw: st.DrawFn) -> tuple[Buffer, ...]:
    count = draw(st.integers(1, 20))
    rows = []
    for number in range(count):
        first = draw(st.integers(0, 20))
        kind = draw(st.sampled_from(("activation", "local", "constant")))
        alignment = draw(st.sampled_from((1, 4, 16)))
        last = first + draw(st.integers(0, 8))
        rows.append(
            buffer(f"b{number}", draw(st.integers(1, 100)), first, last, kind=kind, alignment=alignment)
        )
    return tuple(rows)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(buffers(), st.sampled_from(sorted(ALGORITHMS)))
def test_every_algorithm_yields_valid_plans(rows: tuple[Buffer, ...], algorithm: str) -> None:
    plan = allocate(rows, {"m": 10**6}, algorithm)
    assert is_valid(plan)
    assert all(plan.peaks[arena] >= plan.bounds[arena] for arena in plan.peaks)
    assert plan == allocate(rows, {"m": 10**6}, algorithm)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.lists(buffers(), min_size=1, max_size=3))
def test_kept_plans_are_those_that_are_made_anew(several: list[tuple[Buffer, ...]]) -> None:
    known: dict[object, MemoryPlan] = {}
    for rows in (*several, *several):
        assert allocate(rows, {"m": 10**9}, known=known) == allocate(rows, {"m": 10**9})
    arenas = {tuple(b for b in rows if b.arena == each.arena) for rows in several for each in rows}
    assert len(known) == len(arenas)


def test_a_plan_that_takes_seconds_is_not_kept() -> None:
    known: dict[object, MemoryPlan] = {}
    for effort, kept in ((Effort(seconds=0.01), 0), (Effort(nodes=100), 1), (Effort(nodes=200), 2)):
        allocate(CHAINS["vww"], {"m": 10**9}, "search", effort=effort, known=known)
        assert len(known) == kept


def test_best_is_never_worse_than_any_order() -> None:
    rows = CHAINS["vww"]
    best = allocate(rows, {"m": 10**6}).peaks[Arena("m")]
    assert all(best <= allocate(rows, {"m": 10**6}, name).peaks[Arena("m")] for name in ALGORITHMS)


def test_constants_and_the_rest_share_a_memory() -> None:
    rows = (buffer("c", 100, 0, 9, kind="constant", alignment=16), buffer("a", 60, 0, 3, alignment=16))
    plan = allocate(rows, {"m": 172})
    assert plan.peaks == {Arena("m"): 60, Arena("m", constant=True): 100}
    assert plan.offsets == {"a": 0, "c": 0}
    with pytest.raises(DoesNotFitError) as caught:
        allocate(rows, {"m": 171})
    assert (caught.value.pool, caught.value.needed, caught.value.available) == (Arena("m"), 60, 59)


def test_a_refusal_names_the_step_the_bound_and_what_is_alive() -> None:
    rows = (buffer("a", 60, 0, 3), buffer("b", 50, 2, 4), buffer("c", 10, 5, 6))
    with pytest.raises(DoesNotFitError) as caught:
        allocate(rows, {"m": 100})
    assert str(caught.value) == (
        "step 2: error: pool `m` needs 110 B, 100 B are available (these steps need at least 110 B); "
        "alive there: `a` 60 B, `b` 50 B [does-not-fit]"
    )


def test_a_refusal_names_the_largest_and_counts_the_rest() -> None:
    rows = [buffer(f"b{number}", number, 0, 0) for number in range(1, 10)]
    with pytest.raises(DoesNotFitError) as caught:
        allocate(rows, {"m": 10})
    assert str(caught.value).endswith(
        "alive there: `b9` 9 B, `b8` 8 B, `b7` 7 B, `b6` 6 B, `b5` 5 B, `b4` 4 B and 3 more of 6 B together "
        "[does-not-fit]"
    )
    assert len(caught.value.alive) == 9


def test_a_refusal_names_equals_in_the_order_of_their_names() -> None:
    with pytest.raises(DoesNotFitError) as caught:
        allocate((buffer("b", 8, 0, 0), buffer("a", 8, 0, 0)), {"m": 8})
    assert caught.value.alive == (("a", 8), ("b", 8))


@pytest.mark.parametrize("others", [(), (buffer("a", 0, 0, 0),)])
def test_constants_alone_may_be_too_many(others: tuple[Buffer, ...]) -> None:
    for size, fits in ((255, False), (256, True)):  # in C they are one object of whole units of alignment
        rows = (buffer("c", 250, 0, 0, kind="constant", alignment=16), *others)
        if fits:
            assert allocate(rows, {"m": size}).peaks[Arena("m", constant=True)] == 250
            continue
        with pytest.raises(DoesNotFitError) as caught:
            allocate(rows, {"m": size})
        refusal = caught.value
        assert (refusal.pool, refusal.needed, refusal.available) == (Arena("m", constant=True), 256, 255)


@pytest.mark.parametrize(
    ("behind", "arena"),
    [
        (buffer("s", 8, 0, 0, kind="state", alignment=16), Arena("m", state=True)),
        (
            Buffer(name="r", kind="resident", memory="m", bytes=8, alignment=16, first=0, last=0, tensor="r"),
            Arena("m", resident=True),
        ),
    ],
    ids=["states", "residents"],
)
@pytest.mark.parametrize(("size", "fits"), [(120, True), (119, False)])
def test_what_stays_lies_behind_the_constants(size: int, fits: bool, behind: Buffer, arena: Arena) -> None:
    rows = (buffer("c", 100, 0, 0, kind="constant", alignment=16), behind)
    if fits:
        assert allocate(rows, {"m": size}).peaks[arena] == 8
        return
    with pytest.raises(DoesNotFitError) as caught:
        allocate(rows, {"m": size})
    refusal = caught.value
    assert (refusal.pool, refusal.needed, refusal.available) == (arena, 8, 7)


def test_a_plan_in_which_not_every_result_can_take_a_place_is_not_proven() -> None:
    a, b, c = buffer("a", 60, 0, 3), buffer("b", 60, 3, 3), buffer("c", 60, 3, 3)
    plan = allocate((a, evolve(b, over=("a",)), evolve(c, over=("a",))), {"m": 1000})
    assert (plan.peaks[Arena("m")], plan.proven) == (120, ())
    assert allocate((a, b, c), {"m": 1000}).proven == (Arena("m"),)


def test_the_least_of_shared_places_counts_alignment() -> None:
    rows = (buffer("a", 10, 0, 1, alignment=16), buffer("b", 10, 0, 1, alignment=16))
    assert shared_bounds(rows) == (20, 26)


def test_an_unknown_algorithm() -> None:
    with pytest.raises(PlanError) as caught:
        allocate((), {}, "bset")
    assert str(caught.value) == (
        "memory plan: error: there is no algorithm `bset` [unknown-algorithm]\nhint: did you mean `best`?"
    )


def test_algorithms_of_others_are_registered_by_name() -> None:
    mine = Algorithm(name="mine", description="a test", pack=lambda rows: {b.name: 32 for b in rows})
    plan = allocate((buffer("a", 1, 0, 0),), {"m": 100}, "mine", {"mine": mine})
    assert plan.offsets == {"a": 32}


def test_the_second_memory_may_be_too_small_alone() -> None:
    rows = (buffer("a", 8, 0, 0), evolve(buffer("b", 8, 0, 0), memory="n"))
    assert allocate(rows, {"m": 8, "n": 8}).peaks == {Arena("m"): 8, Arena("n"): 8}
    with pytest.raises(DoesNotFitError) as caught:
        allocate(rows, {"m": 8, "n": 7})
    assert (caught.value.pool, caught.value.needed, caught.value.available) == (Arena("n"), 8, 7)


def test_an_arena_is_as_long_as_units_of_all_buffers_of_its_memory() -> None:
    """Of no others, whatever the names of their memories and their own."""
    rows = (
        evolve(buffer("m", 1, 0, 0, alignment=3), memory="a"),
        buffer("c", 5, 0, 0, kind="constant"),
        buffer("d", 5, 0, 0, alignment=16),
        evolve(buffer("z", 1, 0, 0, alignment=5), memory="z"),
    )
    plan = allocate(rows, {"a": 99, "m": 99, "z": 99})
    assert arena_capacity(plan, "m", 99) == 99 - 16


def test_only_the_algorithm_that_searches_goes_on_searching() -> None:
    """Others are said to need what they need, whatever their names."""

    def apart(rows: Sequence[Buffer]) -> dict[str, int]:
        return {each.name: 8 * number for number, each in enumerate(rows)}

    rows = (buffer("a", 8, 0, 0), buffer("b", 8, 1, 1))
    for name in ("apart", "wide"):
        mine = Algorithm(name=name, description="a test", pack=apart)
        with pytest.raises(DoesNotFitError):
            allocate(rows, {"m": 8}, name, {name: mine})
    assert allocate(rows, {"m": 8}).peaks == {Arena("m"): 8}


def test_a_later_plan_of_an_arena_is_in_the_place_of_the_earlier_one() -> None:
    rows = tuple(buffer(name, 8, at, at + 1) for at, name in enumerate("abcd"))
    plan = MemoryPlan(buffers=rows, offsets=dict.fromkeys("abcd", 0), in_place=(("b", "a"), ("d", "c")))
    later = evolve(plan, offsets={name: 8 * n for n, name in enumerate("abcd")}, in_place=(("c", "b"),))
    joined = _joined(rows, (plan, later))
    assert (joined.offsets, joined.in_place) == (later.offsets, later.in_place)
