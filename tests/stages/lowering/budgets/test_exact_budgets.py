"""Budgets are what the planner will really do: in place, in several pools, with copies in flight.

The test accelerator holds its inputs and its result at the same time as all its own buffers, which come in
pairs, and carries everything through these by asynchronous copies. It takes what `take` answers per pool.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import DoesNotFit
from target_arch.backend.planner import Algorithm
from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Arena, Budget, Buffer
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import Memory
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.budgets.ledger import Ledger
from target_arch.stages.lowering.ladder import Lowered
from target_arch.stages.memory.allocate import arena_capacity, capacities
from target_arch.stages.memory.packing import ALGORITHMS
from target_arch.stages.memory.packing.sharing import shared_bound
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.placement.place import place
from target_arch.stages.program.alias import elide_copies
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen, scarce
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.simulation.times import Times
from tests.slow import slow_except
from tests.stages import chips
from tests.stages.lowering.budgets.test_ledger import SHARED, UNIT, engine, lower_on

POOLS = evolve(
    SHARED,
    name="pools",
    memories=(*SHARED.memories, Memory(name="tcm", size=8 * chips.KIB, observers={"conv": 0})),
    copies=(*SHARED.copies, *chips.both("sram", "tcm", alignment=1), chips.dma("ddr", "tcm", alignment=1)),
    archs=(chips.HOST, evolve(engine("conv", 0), memory=("sram", "tcm")), engine("npu", 8)),
)
"""One engine with a pool of its own beside the memory in which all work, and one without."""

Take = Callable[[Budget, str, str], int]


def engine_kernel(model: Model, partition: Partition, operator: Operator, sizes: Mapping[str, int]) -> Kernel:
    """Two buffers in every pool that take so many bytes together, busy from the first copy to the last."""
    halves = [
        LocalBuffer(name=f"{memory}{side}", bytes=size, memory=memory, alignment=UNIT)
        for memory in sizes
        for side, size in enumerate(_halves(sizes[memory]))
        if size
    ]
    command = Call(
        function="command",
        operands=tuple(Operand(of=half.name, access="w") for half in halves),
        operator=operator.id,
    )

    def move(name: str, start: int, half: LocalBuffer, *, inward: bool) -> Move:
        part = Slice(of=name, offset=start, row_bytes=min(half.bytes, model.tensors[name].bytes - start))
        local = Slice(of=half.name, offset=0, row_bytes=part.row_bytes)
        return Move(source=part, target=local) if inward else Move(source=local, target=part)

    def store() -> Iterator[Move]:
        start = 0
        for half in cycle(halves):
            if start < model.tensors[operator.output].bytes:
                yield move(operator.output, start, half, inward=False)
                start += half.bytes
            else:
                return

    reads = dict.fromkeys((*operator.inputs, *operator.constants))
    fetch = [move(name, 0, half, inward=True) for name, half in zip(reads, cycle(halves), strict=False)]
    once: tuple[Move | Call, ...] = (*fetch, command, *store(), command)
    return Kernel(
        partition=partition.id, instance=partition.instance, buffers=tuple(halves), actions=once + once
    )


def _halves(size: int) -> tuple[int, int]:
    first = size // 2 // UNIT * UNIT
    return first, size - first


def bytes_of(model: Model) -> dict[str, int]:
    return {name: tensor.bytes for name, tensor in model.tensors.items()}


def lowerer(take: Take):  # type: ignore[no-untyped-def] # noqa: ANN201
    def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        if partition.instance == "host":
            return chips.c_kernel(partition, bytes_of(graph.model))
        (operator,) = partition.operators
        sizes = {pool.memory: take(budget, operator.id, pool.memory) for pool in budget.sites[operator.id]}
        if max(sizes.values()) < UNIT:
            raise DoesNotFit(operator.id, "sram", UNIT, 0)
        return engine_kernel(graph.model, partition, operator, sizes)

    return lower


def guaranteed(budget: Budget, site: str, memory: str) -> int:
    return budget.guaranteed(site, memory)


def little(budget: Budget, site: str, memory: str) -> int:
    return min(chips.KIB, budget.guaranteed(site, memory))


def lowered(model: Model, take: Take, policy: str = "c-first", planner: Planner = BEST) -> Lowered:
    return lower_on(model, POOLS, lowerer(take), policy, planner)


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Random graphs, most of them with sums and other results that may overwrite operands, with reshapes and
    with concatenations.
    """
    sizes = draw(st.sampled_from(((4000, 1000), (7000, 3500, 64), (10500,), (12500, 999, 1))))
    bytes = {"x": sizes[0]}
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    kinds = ("conv", "dense", "add", "add", "soft", "other", "reshape", "reshape", "concat")
    for number in range(draw(st.integers(2, 9))):
        kind, near = draw(st.sampled_from(kinds)), list(bytes)[-3:]
        inputs = tuple(draw(st.sampled_from(near)) for _ in range(2 if kind in ("add", "concat") else 1))
        copied = sum(bytes[name] for name in inputs) if kind in ("reshape", "concat") else 0
        bytes[f"n{number}"] = copied or draw(st.sampled_from(sizes))
        rows.append((f"n{number}", kind, inputs, bytes[f"n{number}"]))
    return chips.model(*rows, inputs={"x": sizes[0]}, weights=draw(st.sampled_from((0, 300))))


def stacked(buffers: Sequence[Buffer]) -> dict[str, int]:
    """The worst of all plans: nothing is ever used twice, so that only what was promised can fit."""
    offsets, end = {}, 0
    for buffer in buffers:
        offsets[buffer.name] = end = -(-end // buffer.alignment) * buffer.alignment
        end += buffer.bytes
    return offsets


WORST = Planner(
    algorithm="stacked",
    algorithms={**ALGORITHMS, "stacked": Algorithm(name="stacked", description="a test", pack=stacked)},
)
POLICIES = ("c-first", "program")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("planner", slow_except([WORST], [BEST, WORST]), ids=["best", "worst"])
@settings(max_examples=8, deadline=None)
@given(models())
def test_what_is_guaranteed_always_plans(policy: str, planner: Planner, model: Model) -> None:
    """Whatever the planner finds: where it finds nothing, what was promised is the plan."""
    try:
        lowered(model, little, policy, planner)
    except DoesNotFitError:
        assume(False)
    result = lowered(model, guaranteed, policy, planner)
    assert result.attempts == ()
    for budget in result.budgets:
        for pools in budget.sites.values():
            for pool in pools:
                size = POOLS.memory(pool.memory).size
                assert 0 <= pool.guaranteed <= pool.remaining == size - pool.live
                assert pool.used == pool.guaranteed


@settings(max_examples=10, deadline=None)
@given(models())
def test_a_byte_more_than_remains_has_no_plan(model: Model) -> None:
    """No step order and no offsets help: what is live at the same time, all sums in place, is too much."""
    try:
        result = lowered(model, little)
    except DoesNotFitError:
        assume(False)
    for budget in result.budgets:
        partition = result.graph.partition(budget.partition)
        (operator,) = partition.operators
        for pool in budget.sites[operator.id]:
            sizes = {p.memory: little(budget, operator.id, p.memory) for p in budget.sites[operator.id]}
            sizes[pool.memory] = pool.remaining + 1
            kernel = engine_kernel(model, partition, operator, sizes)
            assert_no_plan({**result.kernels, partition.id: kernel}, result.graph, pool.memory)


def assert_no_plan(kernels: Mapping[str, Kernel], graph: PartitionGraph, memory: str) -> None:
    work = PartialLowering(setting=chips.setting(POOLS), graph=graph, kernels=kernels)
    for residence in (choose_homes(work), foreseen(work)):
        program = elide_copies(join(work, residence), slices=True, held=scarce(work))
        steps = steps_of(work, program, residence, Times(work))
        fixed = [buffer for buffer in steps.buffers if buffer.kind == "constant"]
        plan = work.setting.planner.plan(fixed, capacities(POOLS))
        there = arena_capacity(plan, memory, POOLS.memory(memory).size)
        moving = [buffer for buffer in steps.buffers if buffer.arena == Arena(memory)]
        assert shared_bound(moving) > there
        with pytest.raises(DoesNotFitError) as refusal:
            work.setting.planner.plan(moving, dict.fromkeys((memory,), there))
        assert refusal.value.bound > there


TIGHT = chips.model(
    ("a", "conv", ("x",), 12_000),
    ("sum", "add", ("a", "x"), 12_000),
    ("b", "conv", ("sum",), 6_000),
    inputs={"x": 12_000},
)
"""Three tensors of a sum do not fit the 32 KiB beside one another; in place they do."""


def test_a_sum_that_fits_only_in_place_takes_nothing_from_a_promise() -> None:
    result = lowered(TIGHT, guaranteed, planner=WORST)
    assert [
        (site, pool.memory, pool.live, pool.remaining, pool.guaranteed)
        for budget in result.budgets
        for site, pools in budget.sites.items()
        for pool in pools
    ] == [
        ("a", "sram", 24_000, 8_768, 8_704),
        ("a", "tcm", 0, 8_192, 8_192),
        ("b", "sram", 18_000, 14_768, 14_720),
        ("b", "tcm", 0, 8_192, 8_192),
    ]
    assert dict(result.plan.in_place) == {"sum@sram": "a@sram"}


def test_a_kernel_that_allows_it_makes_the_next_promise_larger() -> None:
    """The ledger was made while nobody knew that the sum is in place."""
    graph = place(TIGHT, chips.setting(POOLS), chips.BACKENDS)
    work = PartialLowering(setting=chips.setting(POOLS), graph=graph, kernels={})
    ledger = Ledger.of(work, foreseen(work))
    _, sum, last = graph.partitions
    ledger, before = ledger.budget(sum)
    ledger, overdrawn = ledger.with_kernel(sum, chips.c_kernel(sum))
    ledger, after = ledger.budget(sum)
    assert overdrawn is None
    assert (before.sites["sum"][0].live, after.sites["sum"][0].live) == (36_000, 24_000)
    (pool, _) = ledger.budget(last)[1].sites["b"]
    assert (pool.live, pool.guaranteed) == (18_000, 14_720)


VIEWS = chips.model(
    ("a", "conv", ("x",), 12_000),
    ("r", "reshape", ("a",), 12_000),
    ("b", "conv", ("r",), 6_000),
    ("c", "other", ("a", "b"), 1_000),
    inputs={"x": 12_000},
)
"""What is reshaped is read again after the reshaped tensor was: beside one another they leave 2,768 B."""


def sites(budgets: Sequence[Budget]) -> list[tuple[str, int, int, int]]:
    """Live, remaining and guaranteed bytes of `sram` at every call site."""
    pools = ((site, pools[0]) for budget in budgets for site, pools in budget.sites.items())
    return [(site, pool.live, pool.remaining, pool.guaranteed) for site, pool in pools]


@pytest.mark.parametrize("planner", [BEST, WORST], ids=["best", "worst"])
def test_a_reshaped_tensor_counts_once(planner: Planner) -> None:
    result = lowered(VIEWS, guaranteed, planner=planner)
    assert sites(result.budgets) == [("a", 24_000, 8_768, 8_704), ("b", 18_000, 14_768, 14_720)]
    assert {buffer.name for buffer in result.steps.buffers if buffer.aliases} == {"r@sram"}
    assert result.attempts == ()


def test_a_reshape_that_is_lowered_later_counts_once_from_then_on() -> None:
    """In order of execution the ledger is made again: when it was made for `a` nobody knew of the reshape."""
    result = lowered(VIEWS, guaranteed, policy="program", planner=WORST)
    assert sites(result.budgets) == [("a", 24_000, 8_768, 8_704), ("b", 18_000, 14_768, 14_720)]
    assert result.attempts == ()


def test_what_is_written_over_may_have_been_reshaped() -> None:
    """The sum may overwrite `r`, which is `a`; its kernel comes after the ledger."""
    model = chips.model(
        ("a", "conv", ("x",), 6_000),
        ("r", "reshape", ("a",), 6_000),
        ("b", "conv", ("y",), 6_000),
        ("sum", "add", ("r", "b"), 6_000),
        ("c", "conv", ("sum",), 6_000),
        inputs={"x": 1_000, "y": 1_000},
    )
    graph = place(model, chips.setting(POOLS), chips.BACKENDS)
    _, reshape, _, sum, _ = graph.partitions
    kernels = {reshape.id: chips.c_kernel(reshape, bytes_of(model))}
    work = PartialLowering(setting=chips.setting(POOLS), graph=graph, kernels=kernels)
    ledger = Ledger.of(work, foreseen(work))
    ledger, before = ledger.budget(sum)
    ledger, overdrawn = ledger.with_kernel(sum, chips.c_kernel(sum))
    assert overdrawn is None
    assert (before.sites["sum"][0].live, ledger.budget(sum)[1].sites["sum"][0].live) == (18_000, 12_000)
