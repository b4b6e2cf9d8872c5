"""Budgets with two of everything, of which the second counts as much as the first."""

from collections.abc import Iterator, Mapping
from typing import cast

from attrs import evolve, field, frozen

from target_arch.plan.kernels import Kernel, LocalBuffer
from target_arch.plan.model import Operator
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.stages.lowering.budgets.budget import with_used, without_promises
from target_arch.stages.lowering.budgets.constant_bytes import ConstantUse
from target_arch.stages.lowering.budgets.foreseen import Foreseen
from target_arch.stages.lowering.budgets.ledger import Ledger, Overdrawn
from target_arch.stages.memory.pool_ledger import PoolLedger
from target_arch.stages.program.homes import Demand, End, MemoryDemands, TensorHomes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen
from tests.stages import chips
from tests.stages.lowering.budgets.test_budget import GIVEN
from tests.stages.lowering.budgets.test_constant_bytes import IN_DDR
from tests.stages.lowering.budgets.test_constant_bytes import MODEL as THREE
from tests.stages.lowering.budgets.test_constant_bytes import SOC as TWO_MEMORIES
from tests.stages.lowering.budgets.test_exact_budgets import engine_kernel
from tests.stages.lowering.budgets.test_ledger_facts import MODEL, SIZE, free, opened, packing, with_block
from tests.stages.lowering.budgets.test_recomputed_budgets import IN_SRAM, reading

PLACED = chips.placed(THREE, TWO_MEMORIES)
BOTH = {"sram": 256, "tcm": 512}


def engine(partition: Partition, sizes: Mapping[str, int]) -> Kernel:
    """A kernel with two buffers in each of these memories."""
    (operator,) = partition.operators
    return engine_kernel(MODEL, partition, operator, sizes)


def lowered(kernels: Mapping[str, Kernel]) -> PartialLowering:
    """The chain of two engines and a function between them, with these kernels."""
    ledger, _ = opened(MODEL, IN_SRAM)
    return evolve(ledger._foreseen.work, kernels=dict(kernels))


# What is given and used.


def test_no_operator_of_a_partition_is_promised_bytes() -> None:
    model = chips.model(("a", "other", ("x",), 8), ("b", "other", ("a",), 8), inputs={"x": 8})
    (partition,) = chips.placed(model, chips.ALONE).partitions
    assert without_promises(partition).sites == {"a": (), "b": ()}


def test_buffers_in_other_memories_do_not_count_whatever_their_names() -> None:
    own = (LocalBuffer(name=name, bytes=9, memory=name) for name in ("apart", "zone"))
    filled = with_used(GIVEN, Kernel(partition="p0", instance="conv", buffers=tuple(own)))
    assert [pool.used for pools in filled.sites.values() for pool in pools] == [0, 0]


# Constants.


@frozen
class Read:
    """What partitions read without a kernel, and with each, by its name."""

    by_kernel: Mapping[str, tuple[str, ...]] = field(factory=dict)

    def of(self, partition: Partition, kernel: Kernel | None) -> Iterator[Demand]:
        own = [name for operator in partition.operators for name in operator.constants]
        for name in own if kernel is None else self.by_kernel[kernel.instance]:
            yield Demand(tensor=name, write=False, end=End(memories=("ddr", "sram")))


def reader(*constants: str) -> Partition:
    """The first partition with other constants."""
    first = PLACED.partitions[0]
    return evolve(first, operators=(evolve(first.operators[0], constants=constants),))


def use(first: Partition, **by_kernel: tuple[str, ...]) -> ConstantUse:
    graph = cast(PartitionGraph, evolve(PLACED, partitions=(first, *PLACED.partitions[1:])))
    work = PartialLowering(setting=chips.setting(TWO_MEMORIES), graph=graph, kernels={})
    demands = cast(MemoryDemands, Read(by_kernel))
    return ConstantUse.of(work, demands, TensorHomes(homes={}, constants=IN_DDR))


def kernel(name: str, **own: int) -> Kernel:
    packed = tuple(chips.tensor(each, size, True) for each, size in own.items())
    return Kernel(partition="", instance=name, constants=packed)


def test_two_constants_go_and_two_others_come() -> None:
    """Of those of the model, 100 B are two lines of 64; its last reader gives one up, another still reads."""
    known = use(reader("a.w", "b.w"), own=("p", "q"), nothing=())
    without, growth = known.with_kernel(PLACED.partitions[1], kernel("nothing"))
    assert growth == {}
    assert without.with_kernel(reader("a.w", "b.w"), kernel("own", p=65, q=129))[1] == {
        "ddr": -2 * 128,
        "sram": 80 + 144,
    }


def test_two_readers_less_leave_one() -> None:
    known = use(reader("a.w", "c.w"), nothing=())
    one, growth = known.with_kernel(reader("a.w", "c.w"), kernel("nothing"))
    assert growth == {"ddr": -128}
    assert one.with_kernel(PLACED.partitions[2], kernel("nothing"))[1] == {"sram": -112}


def test_constants_of_the_second_operator_and_its_second_operand_count() -> None:
    (operator,) = reader().operators
    known, plain = use(reader()), evolve(operator, inputs=("x",))

    def has(*operators: Operator) -> bool:
        return known._has_constants(evolve(reader(), operators=operators))

    assert not has(plain, plain)
    assert has(plain, evolve(plain, constants=("b.w",)))
    assert has(evolve(plain, inputs=("x", "b.w")))


# The ledger.


def test_kernels_of_two_partitions_are_known_from_the_start() -> None:
    _, (a, _, c) = opened(MODEL, IN_SRAM)
    work = lowered({each.id: reading(each) for each in (a, c)})
    ledger = Ledger.of(work, foreseen(work)).asked_about(("sram",))
    assert {f"{a.id}.block", f"{c.id}.block"} <= ledger.offsets.keys()


def test_buffers_of_both_are_in_an_account_from_its_start() -> None:
    ledger, (a, _, c) = opened(MODEL, IN_SRAM)
    known = ledger._foreseen
    taken = {known.number(each): known.own(each, reading(each))["sram"] for each in (a, c)}
    assert {f"{a.id}.block", f"{c.id}.block"} <= known.pool("sram", 0, {}, taken).offsets.keys()


def test_two_partitions_are_over_budget() -> None:
    ledger, (a, b, c) = opened(MODEL, IN_SRAM, "sram")
    for each in (a, c):
        ledger, refused = ledger.with_kernel(each, with_block(reading(each), 16_000))
        assert refused is None
    ledger, refused = ledger.with_kernel(b, packing(b, 1_000))
    assert refused is None
    over = 16_000 + 16_000 + 1_024 - SIZE
    assert ledger.over_budget("sram") == {a.id: over, c.id: over}


def test_a_promise_is_kept_in_both_memories_of_an_instance() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    promised, budget = ledger.budget(a)
    given = {memory: promised._promised[a.id, memory].bytes for memory in ("sram", "tcm")}
    assert given == {pool.memory: pool.guaranteed for pool in budget.sites["a"]}


def test_the_account_after_a_promise_is_kept_in_both_memories() -> None:
    """Promising uses up search effort in each."""
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    spent = {name: evolve(pool, work=7) for name, pool in ledger._pools.items()}
    promise = PoolLedger.promise

    class Searching:
        """A memory in which every promise takes a search."""

        def __init__(self, memory: str) -> None:
            self.memory = memory

        def promise(self, span: tuple[int, int]) -> tuple[PoolLedger, object]:
            return spent[self.memory], promise(ledger._pools[self.memory], span)[1]

    searching = cast(Mapping[str, PoolLedger], {name: Searching(name) for name in ledger._pools})
    after, _ = evolve(ledger, pools=searching).budget(a)
    assert {name: pool._work for name, pool in after._pools.items()} == {"sram": 7, "tcm": 7}


def test_a_refused_kernel_gives_back_the_constants_of_both_memories() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    growing = {"sram": 640, "tcm": 128}

    class Growing:
        def with_kernel(self, *_: object) -> tuple["Growing", Mapping[str, int]]:
            return self, growing

    grown = evolve(ledger, constants=cast(ConstantUse, Growing()))
    after, refused = grown.with_kernel(a, with_block(reading(a), 20_000))
    assert refused is not None
    assert (free(after), free(after, "tcm")) == (free(ledger), free(ledger, "tcm"))
    assert dict(after._growth) == {"sram": 0, "tcm": 0}


def test_what_is_needed_beside_constants_is_the_sum_of_buffers_in_that_memory() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    plain = reading(a, "p", own=[("p", 17_000)])
    (block,) = plain.buffers
    more = (evolve(block, name="more", bytes=128), evolve(block, name="apart", bytes=256, memory="tcm"))
    _, refused = ledger.with_kernel(a, evolve(plain, buffers=(block, *more)))
    needed = 17_024 + 64 + 128
    assert refused == Overdrawn(site="a", memory="sram", needed=needed, available=needed - 256)


def test_buffers_are_taken_in_both_memories() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    taken, refused = ledger.with_kernel(a, engine(a, BOTH))
    assert refused is None
    own = {f"{a.id}.{memory}{side}" for memory in BOTH for side in (0, 1)}
    assert {name for pool in taken._pools.values() for name in pool.offsets if name in own} == own


def test_bytes_that_the_second_memory_lacks_are_missed_there() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    _, refused = ledger.with_kernel(a, engine(a, {"sram": 256, "tcm": 9_000}))
    assert refused == Overdrawn(site="a", memory="tcm", needed=9_000, available=8_192)


def test_two_buffers_without_room_are_refused_together() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram")
    full = evolve(ledger, pools={"sram": Full(ledger._pools["sram"])})
    refused = full.with_kernel(a, engine(a, {"sram": 256}))[1]
    assert refused == Overdrawn(site="a", memory="sram", needed=256, available=0)


class Full:
    """A memory with bytes left, and no room for anything."""

    def __init__(self, pool: PoolLedger) -> None:
        self.pool = pool

    def __getattr__(self, name: str) -> object:
        return getattr(self.pool, name)

    def take(self, *_: object) -> tuple[PoolLedger, bool]:
        return self.pool, False


def test_kernels_of_two_partitions_are_known_in_a_memory_that_is_asked_about_later() -> None:
    ledger, (a, _, c) = opened(MODEL, IN_SRAM)
    for each in (a, c):
        ledger, refused = ledger.with_kernel(each, engine(each, {"tcm": 512}))
        assert refused is None
    assert {f"{each.id}.tcm0" for each in (a, c)} <= ledger.asked_about(("tcm",)).offsets.keys()


ADDED = chips.model(
    ("a", "other", ("x",), 640), ("b", "add", ("a",), 640), ("c", "add", ("b",), 640),
    inputs={"x": 640},
)  # fmt: skip


def test_two_results_of_a_kernel_take_the_place_of_an_operand() -> None:
    ledger, (a,) = opened(ADDED, chips.ALONE, "sram", "ddr")
    kernel = chips.c_kernel(a)
    expected = {"b@sram": ("a@sram",), "c@sram": ("b@sram",)}
    assert dict(ledger._foreseen.dying(a, kernel)) == expected
    after, refused = ledger.with_kernel(a, kernel)
    assert refused is None
    assert {name: after._reuses[name] for name in expected} == expected
    shared = after._pools["sram"]._shared
    assert {buffer.name for buffer in shared.values()} == {"b@sram", "c@sram"}


def test_results_share_places_in_both_memories() -> None:
    """One in each; the place is the buffer's own memory's."""
    ledger, _ = opened(ADDED, chips.ALONE, "sram", "ddr")
    memories = {"a@sram": "ddr", "b@sram": "sram"}
    asked: list[str] = []

    class Seen:
        def memory(self, name: str) -> str:
            return memories[name]

    class Sharing:
        def __init__(self, memory: str) -> None:
            self.memory = memory

        def sharing(self, places: object) -> "Sharing":
            asked.append(self.memory)
            return self

    pools = cast(Mapping[str, PoolLedger], {memory: Sharing(memory) for memory in ("sram", "ddr")})
    both = evolve(ledger, foreseen=cast(Foreseen, Seen()), pools=pools)
    both._sharing([("a@sram", ("x",)), ("b@sram", ("x",))])
    assert sorted(asked) == ["ddr", "sram"]


# What is foreseen.


def test_a_constant_on_its_way_may_pass_through_the_second_memory() -> None:
    ledger, (a,) = opened(ADDED, chips.ALONE)
    demand = Demand(tensor="k", write=False, end=End(memories=("tcm", "ddr")))

    class Stated:
        def of(self, *_: object) -> Iterator[Demand]:
            yield demand

    known = evolve(ledger._foreseen, demands=cast(MemoryDemands, Stated()))
    mode = evolve(known.work.setting.mode, constants=("sram",))
    work = evolve(known.work, setting=evolve(known.work.setting, mode=mode))
    kernel = Kernel(partition=a.id, instance="host")
    for streamed, expected in (({}, False), ({("k", "ddr"): 64}, True)):
        homes = evolve(known.homes, streamed=streamed)
        assert evolve(known, work=work, homes=homes).conforms(a, kernel) == expected


def test_buffers_of_two_kernels_are_their_own() -> None:
    """They are no pieces of constants on their way."""
    _, (a, _, c) = opened(MODEL, IN_SRAM)
    work = lowered({each.id: reading(each) for each in (a, c)})
    assert Foreseen.of(work, foreseen(work))._rings == frozenset()


def test_results_take_places_of_tensors_alone() -> None:
    """Scratch is counted with its kernel, whichever place it is."""
    ledger, _ = opened(ADDED, chips.ALONE)
    known = ledger._foreseen
    scratch = evolve(known._program.buffers["a@sram"], name="s", kind="local")
    program = evolve(known._program, buffers={**known._program.buffers, "s": scratch})
    places = {"a@sram": ("s",), "b@sram": ("s", "a@sram"), "c@sram": ("b@sram",)}
    found = evolve(known, program=program)._of_tensors(places)
    assert found == {"b@sram": ("a@sram",), "c@sram": ("b@sram",)}
