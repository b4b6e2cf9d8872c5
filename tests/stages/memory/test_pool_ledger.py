"""The ledger of one memory beside a recomputation: from its buffers, moment by moment and byte by byte."""

from collections.abc import Mapping, Sequence

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Buffer
from target_arch.stages.memory import pool_ledger
from target_arch.stages.memory.offsets import Block
from target_arch.stages.memory.pool_ledger import PATIENCE, WORK, PoolLedger, _span
from target_arch.stages.memory.residents import Residents
from tests.stages.memory.test_offsets import buffer

Interval = tuple[int, int]


@define
class Account:
    """What a ledger should know: the residents, the kernels' buffers, and the bytes for them."""

    residents: list[Buffer]
    turns: list[Interval]
    end: int
    available: int
    unit: int
    taken: dict[int, Sequence[Buffer]] = field(factory=dict)

    def ledger(self) -> PoolLedger:
        everything = Residents(buffers=tuple(self.residents), turns=self.turns, end=self.end)
        return PoolLedger.of(everything, self.available, self.unit, self.taken)

    def live(self, span: Interval) -> int:
        """The most bytes at one moment; a result over an operand counts from the moment after."""
        return max(
            (
                sum(b.bytes for b in self.residents if b.first + bool(b.over) <= moment <= b.last)
                for moment in range(span[0], min(span[1], self.end) + 1)
            ),
            default=0,
        )

    def beside(self, span: Interval, offsets: Mapping[str, int]) -> list[tuple[int, int]]:
        """The bytes of residents that are live at some moment of the span."""
        return [
            (offsets[b.name], offsets[b.name] + b.bytes)
            for b in self.residents
            if b.first <= span[1] and span[0] <= b.last
        ]

    def buffers(self) -> list[Buffer]:
        return [*self.residents, *(b for own in self.taken.values() for b in own)]


def assert_right(pool: PoolLedger, account: Account) -> None:
    """Everything that a ledger answers without being changed."""
    buffers, offsets = account.buffers(), pool.offsets
    assert pool.available == account.available
    assert offsets.keys() == {b.name for b in buffers}
    assert_apart(buffers, offsets)
    top = max((offsets[b.name] + b.bytes for b in buffers), default=0)
    assert pool.fits == (top <= account.available)
    assert pool.missing == max(top - account.available, 0)
    assert pool.overfull == (account.live((0, account.end)) > account.available)
    for first in range(account.end + 1):
        for last in range(first, account.end + 1):
            assert pool.live((first, last)) == account.live((first, last))
            there = [b for b in account.residents if b.first <= last and first <= b.last]
            assert pool.alive((first, last)) == [(b.name, b.bytes) for b in there]
    over = {
        number: excess
        for number, own in account.taken.items()
        if (excess := excess_of(own, account)) > 0 and top > account.available
    }
    assert pool.over_budget() == over


def excess_of(own: Sequence[Buffer], account: Account) -> int:
    span = min(b.first for b in own), max(b.last for b in own)
    return sum(b.bytes for b in own) + account.live(span) - account.available


def assert_apart(buffers: Sequence[Buffer], offsets: Mapping[str, int]) -> None:
    """No byte is two buffers' at a time, but where one takes the other's place."""
    for number, one in enumerate(buffers):
        assert offsets[one.name] % one.alignment == 0
        for other in buffers[:number]:
            start, begin = offsets[one.name], offsets[other.name]
            if one.overlaps(other) and start < begin + other.bytes and begin < start + one.bytes:
                early, late = (one, other) if one.name in other.over else (other, one)
                assert early.name in late.over
                assert (start, early.last) == (begin, late.first)


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    """Up to six residents, some of them over one that ends where they begin; three turns or four."""
    unit = draw(st.sampled_from((1, 2, 4)))
    cuts = sorted(draw(st.sets(st.integers(1, 7), min_size=2, max_size=3)))
    turns = [(first, last - 1) for first, last in zip((0, *cuts), (*cuts, 8), strict=True)]
    residents: list[Buffer] = []
    for number in range(draw(st.integers(0, 6))):
        under = {name for b in residents for name in b.over}
        ends = [b for b in residents if b.first < b.last < 8 and b.name not in under]
        if ends and draw(st.integers(0, 2)) == 0:
            place = draw(st.sampled_from(ends))
            last = place.last + draw(st.integers(1, 8 - place.last))
            made = evolve(place, name=f"r{number}", first=place.last, last=last, over=(place.name,))
            residents.append(made)
            continue
        first = draw(st.integers(0, 8))
        size = unit * draw(st.integers(1, 10)) - draw(st.integers(0, unit - 1))
        residents.append(
            buffer(f"r{number}", size, first, min(8, first + draw(st.integers(0, 4))), alignment=unit)
        )
    return Account(residents=residents, turns=turns, end=8, available=draw(st.integers(0, 60)), unit=unit)


def wanted(number: int, span: Interval, sizes: Sequence[int], unit: int) -> list[Buffer]:
    return [buffer(f"k{number}.{n}", size, *span, alignment=unit) for n, size in enumerate(sizes)]


def largest_free(account: Account, span: Interval, offsets: Mapping[str, int]) -> int:
    """The longest free run of bytes from a whole unit on, as far as residents leave so much."""
    occupied, best = account.beside(span, offsets), 0
    for start in range(0, account.available, account.unit):
        stops = [begin for begin, end in occupied if end > start]
        best = max(best, min((*stops, account.available)) - start)
    return max(min(best, account.available - account.live(span)), 0)


def assert_promised(pool: PoolLedger, account: Account, span: Interval, block: Block, before: int) -> None:
    """Free in the known plan, within what is left, and no shorter than the gap that there was."""
    occupied = account.beside(span, pool.offsets)
    assert all(block.offset + block.bytes <= begin or end <= block.offset for begin, end in occupied)
    assert block.offset % account.unit == 0
    assert block.bytes >= before
    if block.bytes:
        assert block.offset + block.bytes <= account.available
        assert block.bytes <= account.available - account.live(span)


@settings(max_examples=60, deadline=None)
@given(st.data(), accounts())
def test_a_ledger_is_right_after_any_change(data: st.DataObject, account: Account) -> None:
    pool = account.ledger()
    assert_right(pool, account)
    for number in data.draw(st.permutations(range(len(account.turns)))):
        span = account.turns[number]
        match data.draw(st.sampled_from(("take", "promise", "hold", "hold", "share"))):
            case "take":
                sizes = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=2))
                own = wanted(number, span, sizes, account.unit)
                before = pool
                pool, found = pool.take(number, own, None)
                if found:
                    account.taken[number] = own
                    assert all(pool.offsets[b.name] + b.bytes <= account.available for b in own)
                else:
                    assert pool.offsets == before.offsets
            case "promise":
                free = largest_free(account, span, pool.offsets)
                pool, block = pool.promise(span)
                assert_promised(pool, account, span, block, free)
                if block.bytes >= account.unit:
                    size = data.draw(st.integers(1, block.bytes))
                    own = wanted(number, span, (size,), account.unit)
                    pool, found = pool.take(number, own, block)
                    assert found
                    assert pool.offsets[own[0].name] == block.offset
                    account.taken[number] = own
            case "hold":
                more = data.draw(st.integers(-20, 20))
                before = pool
                pool, account.available = pool.holding(more), account.available - more
                if before.missing <= -more or (before.fits and pool.offsets == before.offsets):
                    assert pool.offsets == before.offsets
            case "share":
                pool = shared(data, pool, account)
        assert_right(pool, account)


def shared(data: st.DataObject, pool: PoolLedger, account: Account) -> PoolLedger:
    """Let a resident take the place of another that ends where it begins."""
    pairs = [
        (late, early)
        for late in account.residents
        for early in account.residents
        if early.last == late.first < late.last and early.bytes == late.bytes and early.first < early.last
        if not any(early.name in b.over for b in account.residents)
    ]
    if not pairs:
        return pool
    late, early = data.draw(st.sampled_from(pairs))
    over = tuple(dict.fromkeys((*late.over, early.name)))
    account.residents[account.residents.index(late)] = evolve(late, over=over)
    return pool.sharing([(late.name, (early.name,))])


@settings(max_examples=60, deadline=None)
@given(accounts())
def test_residents_and_their_components(account: Account) -> None:
    """A component is the smallest span around one that no life and no turn crosses."""
    residents = Residents(buffers=account.residents, turns=account.turns, end=account.end)
    lives = [*((b.first, b.last) for b in account.residents), *account.turns]
    assert residents.numbers == {b.name: n for n, b in enumerate(account.residents)}
    starts, stops = [first for first, _ in account.turns], [last for _, last in account.turns]
    for span in ((first, last) for first in starts for last in stops if first <= last):
        first, last = span
        while True:
            meet = [life for life in lives if life[0] <= last and first <= life[1]]
            wider = min(first, *(life[0] for life in meet)), max(last, *(life[1] for life in meet))
            if wider == (first, last):
                break
            first, last = wider
        assert residents.component(span) == (first, last)
        mask = [b.first <= span[1] and span[0] <= b.last for b in account.residents]
        assert residents.live(span).tolist() == mask


TURNS = [(0, 0), (1, 1), (2, 2), (3, 3)]


def account(residents: Sequence[Buffer], available: int, unit: int = 1) -> Account:
    return Account(residents=list(residents), turns=TURNS, end=4, available=available, unit=unit)


def test_an_empty_memory_is_promised_whole() -> None:
    pool = account((), 30, unit=4).ledger()
    assert pool.promise((1, 1))[1] == Block(offset=0, bytes=30)


def effort(pool: PoolLedger, **left: int) -> PoolLedger:
    return evolve(pool, **left)  # type: ignore[arg-type]


def spread(pool: PoolLedger, **offsets: int) -> PoolLedger:
    """The ledger with residents at these offsets."""
    return pool._moved({**pool.offsets, **offsets}, range(len(pool._begin)), ())


SPREAD = {"a": 0, "b": 12}
HOLES = (buffer("a", 4, 0, 2), buffer("b", 4, 0, 2))


def test_what_lies_apart_is_planned_again_for_a_larger_block() -> None:
    """24 bytes, 4 at 0 and 4 at 12: the largest gap has 8 bytes, together there are 16."""
    pool = spread(account(HOLES, 24).ledger(), **SPREAD)
    assert pool.offsets == SPREAD
    after, block = pool.promise((1, 1))
    assert block.bytes == 16
    assert_promised(after, account(HOLES, 24), (1, 1), block, 8)
    assert pool.offsets == SPREAD  # a ledger is a value
    assert (after._work, after._patience) == (WORK - 2, PATIENCE)


def test_without_effort_left_the_known_plan_stays() -> None:
    pool = spread(account(HOLES, 24).ledger(), **SPREAD)
    assert effort(pool, work=1).promise((1, 1))[1] == Block(offset=4, bytes=8)
    assert effort(pool, work=2).promise((1, 1))[1].bytes == 16


def test_only_small_components_are_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = spread(account(HOLES, 24).ledger(), **SPREAD)
    monkeypatch.setattr(pool_ledger, "COMPONENT", 1)
    assert pool.promise((1, 1))[1].bytes == 8
    monkeypatch.setattr(pool_ledger, "COMPONENT", 2)
    assert pool.promise((1, 1))[1].bytes == 16


def test_a_gap_of_all_that_is_left_asks_for_no_plan() -> None:
    pool = account(HOLES, 24).ledger()
    after, block = pool.promise((1, 1))
    assert (after, block.bytes) == (pool, 16)


class Plans:
    """Plans that miss the goal by so many bytes, one after the other, and in the end reach it."""

    def __init__(self, *missing: int) -> None:
        self.missing = list(missing)
        self.asked: list[tuple[str, int, int]] = []
        """Algorithm, buffers, and bytes of the last buffer."""

    def __call__(self, buffers: Sequence[Buffer], goal: int, algorithm: str = "best") -> dict[str, int]:
        self.asked.append((algorithm, len(buffers), buffers[-1].bytes))
        over = self.missing.pop(0) if self.missing else 0
        return {b.name: goal + over - b.bytes for b in buffers}

    @property
    def algorithms(self) -> list[str]:
        return [algorithm for algorithm, _, _ in self.asked]

    @property
    def sizes(self) -> list[int]:
        return list(dict.fromkeys(size for _, _, size in self.asked))


QUICK = ["by-conflicts", "by-size", "by-area", "by-time"]


def scripted(monkeypatch: pytest.MonkeyPatch, *missing: int) -> Plans:
    plans = Plans(*missing)
    monkeypatch.setattr(pool_ledger, "planned", plans)
    return plans


def test_a_block_is_tried_in_sizes_that_fall_by_what_is_missing_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All algorithms fail for the first size, so the next is as much smaller as the best of them missed."""
    pool = spread(account(HOLES, 40, unit=2).ledger(), a=0, b=18)
    plans = scripted(monkeypatch, 9, 3, 5, 7, 6)
    after, block = pool.promise((1, 1))
    assert plans.sizes == [32, 28]
    assert plans.algorithms == [*QUICK, "best", QUICK[0]]
    assert {count for _, count, _ in plans.asked} == {3}
    assert (block.bytes, after._work, after._patience) == (28, WORK - 4, PATIENCE - 1)
    assert after.offsets == {"a": 36, "b": 36}


def test_five_sizes_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = spread(account(HOLES, 40).ledger(), a=0, b=18)
    plans = scripted(monkeypatch, *[1] * 1000)
    after, block = effort(pool, patience=2).promise((1, 1))
    assert plans.sizes == [32, 31, 30, 29, 28]
    assert plans.algorithms == [*QUICK, "best", *QUICK, "best", *QUICK, *QUICK, *QUICK]
    assert block == Block(offset=22, bytes=18)
    assert (after._work, after._patience, after.offsets) == (WORK - 10, 0, {"a": 0, "b": 18})


def test_no_size_below_the_gap_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = spread(account(HOLES, 40).ledger(), a=0, b=18)
    plans = scripted(monkeypatch, *[14] * 1000)
    assert pool.promise((1, 1))[1] == Block(offset=22, bytes=18)
    assert plans.sizes == [32]


def test_a_buffer_without_room_is_planned_with_those_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with the buffers of a kernel that runs within the life of the same residents."""
    pool = spread(account(HOLES, 24).ledger(), **SPREAD)
    other, found = pool.take(0, wanted(0, (0, 0), (3,), 1), None)
    assert found
    plans = scripted(monkeypatch, 1, 2)
    after, found = other.take(1, wanted(1, (1, 1), (10,), 1), None)
    assert found
    assert plans.asked == [(name, 4, 10) for name in QUICK[:3]]
    assert after.offsets == {"a": 20, "b": 20, "k0.0": 21, "k1.0": 14}
    assert (after._work, after._patience) == (WORK - 3, PATIENCE)


def test_a_buffer_without_room_costs_effort_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = spread(account(HOLES, 24).ledger(), **SPREAD)
    plans = scripted(monkeypatch, *[1] * 5)
    after, found = pool.take(1, wanted(1, (1, 1), (10,), 1), None)
    assert not found
    assert plans.algorithms == [*QUICK, "best"]
    assert (after.offsets, after._work, after._patience) == (SPREAD, WORK - 2, PATIENCE - 1)


def test_constants_that_grow_have_everything_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, found = spread(account(HOLES, 24).ledger(), **SPREAD).take(0, wanted(0, (0, 0), (3,), 1), None)
    assert found
    plans = scripted(monkeypatch, 1, 2)
    assert pool.holding(8).offsets == pool.offsets
    assert plans.asked == []
    after = pool.holding(9)
    assert [(name, count) for name, count, _ in plans.asked] == [(name, 3) for name in QUICK[:3]]
    assert (after.fits, after.offsets) == (True, {"a": 11, "b": 11, "k0.0": 12})
    assert (after._work, after._patience) == (WORK - 9, PATIENCE)


@pytest.mark.parametrize(
    ("work", "patience", "algorithms"),
    [(WORK, 1, [*QUICK, "best"]), (WORK, 0, QUICK), (5, 1, QUICK[:2]), (4, 1, QUICK[:2]), (1, 1, [])],
)
def test_the_effort_for_constants_ends(
    work: int, patience: int, algorithms: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = effort(spread(account(HOLES, 24).ledger(), **SPREAD), work=work, patience=patience)
    plans = scripted(monkeypatch, *[1] * 9)
    after = pool.holding(12)
    assert plans.algorithms == algorithms
    assert (after.fits, after.missing, after.offsets) == (False, 4, SPREAD)
    assert after._work == work - 2 * len(algorithms)
    assert after._patience == patience - ("best" in algorithms)


def test_shrinking_constants_make_the_known_plan_fit_again() -> None:
    pool = account(HOLES, 8).ledger()
    less = pool.holding(4)
    assert (less.fits, less.missing, less.overfull) == (False, 4, True)
    assert less.holding(-4).fits


def test_sizes_are_whole_units(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = spread(account(HOLES, 43, unit=4).ledger(), a=0, b=20)
    plans = scripted(monkeypatch)
    assert pool.promise((1, 1))[1].bytes == 32
    assert plans.sizes == [32]


def test_constants_may_leave_nothing() -> None:
    pool = account(HOLES, -5).ledger()
    assert (pool.available, pool.promise((1, 1))[1].bytes, pool.missing) == (0, 0, 8)


def test_after_the_end_nothing_is_live() -> None:
    assert account(HOLES, 24).ledger().live((6, 7)) == 0


def test_the_excess_of_kernels_is_told_in_their_order() -> None:
    """Beside 8 bytes of residents; a kernel without buffers has none."""
    known = account(HOLES, 24)
    pool = PoolLedger.of(Residents(buffers=HOLES, turns=TURNS, end=4), 24, 1, {3: ()})
    for number, size in ((2, 11), (0, 10), (1, 4)):
        own = wanted(number, TURNS[number], (size,), 1)
        pool, found = pool.take(number, own, None)
        known.taken[number] = own
        assert found
    assert pool.over_budget() == {}
    less = pool.holding(8)
    assert list(less.over_budget().items()) == [(0, 2), (2, 3)]
    assert less.offsets == pool.offsets
    assert [b.name for b in less._everything()] == ["a", "b", "k0.0", "k1.0", "k2.0"]


def test_a_kernel_goes_where_its_block_is() -> None:
    """Not into the first gap. Where the block is too small, into any."""
    pool = spread(account(HOLES, 40).ledger(), a=0, b=8)
    pool, block = effort(pool, work=0).promise((1, 1))
    assert block == Block(offset=12, bytes=28)
    for sizes, offsets in (((4,), [12]), ((4, 20), [12, 16])):
        after, found = pool.take(1, wanted(1, (1, 1), sizes, 1), block)
        assert found
        assert [after.offsets[f"k1.{n}"] for n in range(len(sizes))] == offsets
    after, found = pool.take(1, wanted(1, (1, 1), (28, 4), 1), block)
    assert found
    assert (after.offsets["k1.0"], after.offsets["k1.1"]) == (12, 4)


def test_buffers_that_take_turns_are_in_no_way() -> None:
    """Together they are more than there is, and yet they fit."""
    own = [buffer("k.0", 16, 0, 0), buffer("k.1", 16, 1, 1)]
    pool, found = account(HOLES, 24).ledger().take(0, own, None)
    assert found
    assert (pool.fits, pool.over_budget()) == (True, {})
    assert pool.offsets["k.0"] == pool.offsets["k.1"]


CHAIN = (buffer("a", 8, 0, 1), buffer("b", 8, 1, 2), buffer("c", 8, 2, 3), buffer("d", 8, 1, 2))


def test_places_are_shared_from_then_on() -> None:
    """Each pair counts once in the moment in which they meet, however often it is shared."""
    known = account(CHAIN, 40)
    pool = known.ledger()
    assert [pool.live((at, at)) for at in range(5)] == [8, 24, 24, 8, 0]
    shared = pool.sharing([("b", ("a",)), ("c", ("b",)), ("c", ("d", "b"))])
    assert [shared.live((at, at)) for at in range(5)] == [8, 16, 16, 8, 0]
    again = shared.sharing([("b", ("a",))])
    assert [again.live((at, at)) for at in range(5)] == [8, 16, 16, 8, 0]
    assert [b.over for b in shared._everything()] == [(), ("a",), ("b", "d"), ()]
    assert [b.over for b in again._everything()] == [(), ("a",), ("b", "d"), ()]
    assert pool.live((1, 2)) == 24  # a ledger is a value


def test_a_shared_place_leaves_room_for_a_block() -> None:
    """40 bytes, two places of 8: what is planned again has the three in two of them."""
    pool = account(CHAIN, 40).ledger().sharing([("b", ("a",)), ("c", ("b",))])
    after, block = pool.promise((2, 2))
    assert block.bytes == 24
    assert after.offsets["a"] == after.offsets["b"] == after.offsets["c"]


def test_kernels_within_a_window_are_those_that_run_there() -> None:
    """Of two partitions without items, which run at the moment after the others, too."""
    turns = [(0, 0), (1, 2), (3, 3), (4, 6), (6, 6), (6, 6)]
    pool = PoolLedger.of(Residents(buffers=HOLES, turns=turns, end=7), 24, 1, {})
    for number in (3, 0, 1, 5):
        pool, found = pool.take(number, wanted(number, turns[number], (1,), 1), None)
        assert found
    for first in range(7):
        for last in range(first, 7):
            there = [n for n in (0, 1, 3, 5) if turns[n][0] <= last and first <= turns[n][1]]
            assert pool._taken_within((first, last)) == there


def test_a_kernel_that_was_known_at_the_start_counts() -> None:
    own = wanted(0, (0, 0), (10,), 1)
    pool = PoolLedger.of(Residents(buffers=(), turns=TURNS, end=4), 4, 1, {0: own})
    assert (pool.missing, pool.over_budget()) == (6, {0: 6})


def test_all_that_lives_while_a_kernel_runs_is_beside_it() -> None:
    """Also between two of its call sites."""
    between = buffer("r", 20, 1, 1)
    own = [buffer("k.0", 4, 0, 0), buffer("k.1", 4, 2, 2)]
    pool = PoolLedger.of(Residents(buffers=(between,), turns=[(0, 2)], end=3), 19, 1, {0: own})
    assert pool.over_budget() == {0: 9}


def test_the_span_of_buffers_is_from_the_first_begin_to_the_last_end() -> None:
    """Whichever of them is named first."""
    late, long = buffer("late", 4, 1, 3), buffer("long", 4, 0, 2)
    assert _span((late, long)) == _span((long, late)) == (0, 3)
