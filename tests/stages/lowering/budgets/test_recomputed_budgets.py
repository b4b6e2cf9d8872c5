"""Budgets beside a recomputation from the program: the bytes live in every item, and those of constants.

The ledger is asked directly, without a ladder around it, so that an example takes milliseconds.
"""

from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Budget, BufferKind
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.lowering.budgets.ledger import Ledger, Overdrawn
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.alias import alias_whole
from target_arch.stages.program.items import Run
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen
from tests.stages import chips
from tests.stages.lowering.budgets.test_exact_budgets import POOLS, bytes_of, engine_kernel, models

IN_SRAM = evolve(POOLS, modes=(evolve(chips.MODE, constants=("sram", "ddr")),))
"""Constants in the memory in which all work."""

Kernels = Mapping[str, Kernel]


def placed(model: Model, soc: SoC) -> PartitionGraph:
    require = {op.id: {"conv": "conv", "dense": "npu"}.get(op.kind, "host") for op in model.operators}
    return chips.placed(model, soc, Rules(require=require))


def work_of(graph: PartitionGraph, soc: SoC, kernels: Kernels) -> PartialLowering:
    return PartialLowering(setting=chips.setting(soc), graph=graph, kernels=dict(kernels))


def whole(size: int, unit: int) -> int:
    return -(-size // unit) * unit


class Recomputed:
    """The bytes of the program of a lowering, counted item by item."""

    def __init__(self, work: PartialLowering) -> None:
        self.work = work
        self.program, _ = alias_whole(join(work, foreseen(work)), frozenset(work.kernels))
        self.items, self.slots = self.program.items, self.program.buffers
        kept = {name for _, name in self.program.outputs}
        self.uses: dict[str, list[int]] = {}
        for number, item in enumerate(self.items):
            for name in item.names():
                self.uses.setdefault(name, []).append(number)
        for name, slot in self.slots.items():
            if slot.kind == BufferKind.INPUT:
                self.uses.setdefault(name, []).append(0)
            if name in kept:
                self.uses.setdefault(name, []).append(len(self.items))
        self.over = {
            operand.of
            for number, item in enumerate(self.items)
            if isinstance(item, Run)
            for operand in item.operands
            for name in operand.over
            if max(self.uses[name]) == min(self.uses[operand.of]) == number
            and self.slots[name].bytes == self.slots[operand.of].bytes
            and self.slots[name].memory == self.slots[operand.of].memory
            and name not in kept
        }

    def site(self, partition: Partition, operator: str) -> range:
        """The items of an operator: copies before its run, and for the last one those behind it."""
        mine = [n for n, item in enumerate(self.items) if item.partition == partition.id]
        runs = {n: item.operator for n in mine if isinstance(item := self.items[n], Run)}
        found = [n for n in runs if runs[n] == operator]
        if not found:
            return range(mine[0], mine[-1] + 1)
        earlier = [n for n in runs if n < found[0]]
        first = earlier[-1] + 1 if earlier else mine[0]
        last = mine[-1] if found[-1] == max(runs) else found[-1]
        return range(first, last + 1)

    def tensors(self, memory: str, moments: range) -> int:
        """The most bytes of tensors at one of these moments."""
        kinds = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.ACTIVATION)
        there = [s for s in self.slots.values() if s.memory == memory and s.kind in kinds]
        lives = [
            (s.bytes, min(self.uses[s.name]) + (s.name in self.over), max(self.uses[s.name]))
            for s in there
            if s.name in self.uses
        ]
        return max(sum(size for size, first, last in lives if first <= at <= last) for at in moments)

    def constants(self, memory: str) -> int:
        unit = self.work.setting.alignments[memory]
        kinds = (BufferKind.CONSTANT, BufferKind.STATE)
        return sum(
            whole(s.bytes, unit) for s in self.slots.values() if s.memory == memory and s.kind in kinds
        )

    def live(self, partition: Partition, operator: str, memory: str) -> int:
        return self.constants(memory) + self.tensors(memory, self.site(partition, operator))


def assert_counted(budget: Budget, partition: Partition, recomputed: Recomputed) -> None:
    assert list(budget.sites) == [operator.id for operator in partition.operators]
    for site, pools in budget.sites.items():
        for pool in pools:
            size = recomputed.work.soc.memory(pool.memory).size
            live = recomputed.live(partition, site, pool.memory)
            assert (pool.live, pool.remaining) == (live, max(size - live, 0))
            assert 0 <= pool.guaranteed <= pool.remaining


@st.composite
def cases(draw: st.DrawFn) -> tuple[SoC, Model, dict[str, float]]:
    """A chip, a model, and how much of its promise each operator's kernel takes, in an order of its own."""
    model = draw(models())
    order = draw(st.permutations([operator.id for operator in model.operators]))
    shares = {name: draw(st.sampled_from((0.0, 0.3, 1.0))) for name in order}
    return draw(st.sampled_from((POOLS, IN_SRAM))), model, shares


def kernel_of(graph: PartitionGraph, partition: Partition, budget: Budget, share: float) -> Kernel:
    """A C kernel with scratch at its last operator, or an engine's that packs its weights."""
    model, last = graph.model, partition.operators[-1]
    if partition.instance != "host":
        sizes = {
            pool.memory: max(int(pool.guaranteed * share) // 64 * 64, 64)
            for pool in budget.sites[last.id]
            if pool.memory == "sram"
        }
        return packed(model, engine_kernel(model, partition, last, sizes), growth=int(share * 40))
    kernel = chips.c_kernel(partition, bytes_of(model))
    size = int(budget.sites[last.id][0].guaranteed * share) // 64 * 64
    calls = list(kernel.actions)
    if not size or not isinstance(calls[-1], Call):
        return kernel
    calls[-1] = evolve(calls[-1], copies=False, operands=(*calls[-1].operands, Operand(of="s", access="w")))
    scratch = LocalBuffer(name="s", bytes=size, memory="sram", alignment=64)
    return evolve(kernel, buffers=(scratch,), actions=tuple(calls))


def packed(model: Model, kernel: Kernel, growth: int) -> Kernel:
    """The kernel with weights of its own, so many bytes longer than the model's."""
    read = [
        action.source.of
        for action in kernel.actions
        if isinstance(action, Move) and action.source.of in model.tensors
    ]
    names = [name for name in dict.fromkeys(read) if model.tensors[name].data is not None]
    if not names or not growth:
        return kernel
    own = {name: chips.tensor(f"{name}.own", model.tensors[name].bytes + growth, True) for name in names}
    actions = tuple(
        evolve(action, source=evolve(action.source, of=own[action.source.of].name))
        if isinstance(action, Move) and action.source.of in own
        else action
        for action in kernel.actions
    )
    return evolve(kernel, constants=tuple(own.values()), actions=actions)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_budgets_are_what_the_program_leaves(case: tuple[SoC, Model, dict[str, float]]) -> None:
    """Of a new ledger after every kernel, and of one that follows the kernels as long as all is foreseen."""
    soc, model, shares = case
    graph = placed(model, soc)
    at = {operator.id: partition.id for partition in graph.partitions for operator in partition.operators}
    kernels: dict[str, Kernel] = {}
    following = Ledger.of(work_of(graph, soc, {}), foreseen(work_of(graph, soc, {})))
    for id in dict.fromkeys(at[name] for name in shares):
        partition = graph.partition(id)
        work = work_of(graph, soc, kernels)
        recomputed = Recomputed(work)
        new, budget = Ledger.of(work, foreseen(work)).budget(partition)
        assert_counted(budget, partition, recomputed)
        if not following.unforeseen and not following.aliasing:
            following, same = following.budget(partition)
            assert_counted(same, partition, recomputed)
            budget = same
        kernel = kernel_of(graph, partition, budget, shares[partition.operators[-1].id])
        following, refused = following.with_kernel(partition, kernel)
        if refused is None:
            kernels[partition.id] = kernel
        if new.has_plan(new.memories):
            assert not new.crowded(partition)


def test_what_is_missing_at_a_call_site_is_refused() -> None:
    """Each site for itself: buffers of other sites do not count there."""
    model = chips.model(("a", "other", ("x",), 8_000), ("b", "other", ("a",), 16_000), inputs={"x": 8_000})
    graph = placed(model, POOLS)
    (partition,) = graph.partitions
    work = work_of(graph, POOLS, {})
    ledger, budget = Ledger.of(work, foreseen(work)).budget(partition)
    left = {site: pools[0].remaining for site, pools in budget.sites.items()}
    assert left == {"a": 32_768 - 16_000, "b": 32_768 - 24_000}

    def kernel(at_a: int, at_b: int) -> Kernel:
        plain = chips.c_kernel(partition)
        sizes = {"a": at_a, "b": at_b}
        buffers = tuple(
            LocalBuffer(name=f"s{n}", bytes=s, memory="sram", alignment=1) for n, s in sizes.items() if s
        )
        actions = tuple(
            evolve(call, operands=(*call.operands, Operand(of=f"s{call.operator}", access="w")))
            for call in plain.actions
            if isinstance(call, Call) and sizes[call.operator or ""]
        )
        return evolve(plain, buffers=buffers, actions=actions)

    assert ledger.with_kernel(partition, kernel(left["a"] + 1, left["b"]))[1] == Overdrawn(
        site="a", memory="sram", needed=left["a"] + 1, available=left["a"]
    )
    assert ledger.with_kernel(partition, kernel(left["a"], left["b"] + 1))[1] == Overdrawn(
        site="b", memory="sram", needed=left["b"] + 1, available=left["b"]
    )


SHARED_WEIGHTS = evolve(
    (two := chips.model(("a", "conv", ("x",), 64), ("b", "conv", ("a",), 64), inputs={"x": 64}, weights=100)),
    operators=(two.operators[0], evolve(two.operators[1], constants=("a.w",))),
    tensors={name: tensor for name, tensor in two.tensors.items() if name != "b.w"},
)
"""Two engines' operators read one constant."""


def reading(partition: Partition, *names: str, own: Sequence[tuple[str, int]] = ()) -> Kernel:
    """A kernel of the engine that moves these constants in, some of its own."""
    (operator,) = partition.operators
    block = LocalBuffer(name="block", bytes=64, memory="sram", alignment=64)
    moves = [
        Move(source=Slice(of=name, offset=0, row_bytes=64), target=Slice(of="block", offset=0, row_bytes=64))
        for name in (operator.inputs[0], *names)
    ]
    out = Move(
        source=Slice(of="block", offset=0, row_bytes=64),
        target=Slice(of=operator.output, offset=0, row_bytes=64),
    )
    call = Call(function="c", operands=(Operand(of="block", access="rw"),), operator=operator.id)
    return Kernel(
        partition=partition.id,
        instance=partition.instance,
        buffers=(block,),
        constants=tuple(chips.tensor(name, size, True) for name, size in own),
        actions=(*moves, call, out),
    )


@pytest.mark.parametrize("soc", [IN_SRAM, POOLS], ids=["sram", "ddr"])
def test_a_constant_counts_while_somebody_reads_it(soc: SoC) -> None:
    """100 B are two lines of 64. They go with the last kernel that reads something else instead."""
    graph = placed(SHARED_WEIGHTS, soc)
    one, other = graph.partitions
    work = work_of(graph, soc, {})
    memory = soc.modes[0].constants[0]
    start = Ledger.of(work, foreseen(work)).asked_about((memory,))
    free = start._pools[memory].available
    assert free == soc.memory(memory).size - 128

    def left(ledger: Ledger, partition: Partition, kernel: Kernel) -> tuple[Ledger, int]:
        after, refused = ledger.with_kernel(partition, kernel)
        assert refused is None
        return after, after._pools[memory].available - free

    assert left(start, one, reading(one, "a.w"))[1] == 0
    first, grown = left(start, one, reading(one, "p", own=[("p", 65)]))
    assert grown == -128
    assert left(first, other, reading(other, "a.w"))[1] == -128
    assert left(first, other, reading(other))[1] == 0
    assert left(first, other, reading(other, "p"))[1] == 0
    second, grown = left(first, other, reading(other, "q", own=[("q", 1)]))
    assert grown == -64
    assert left(start, one, reading(one))[1] == 0
    assert second.aliasing == second.unforeseen == 0
