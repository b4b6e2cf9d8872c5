"""Budgets are exact: what is promised always fits, what exceeds what remains never does."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Call, Codegen, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import CopyPath, DLDevice, LoadProcess, Memory, SoC, TargetArch
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering import ladder as lower_all
from target_arch.stages.lowering.budgets.foreseen import Foreseen
from target_arch.stages.lowering.budgets.ledger import Ledger
from target_arch.stages.lowering.ladder import Lower, Lowered, lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen
from tests.stages import chips

UNIT = 64
"""Alignment of the shared memory: a cache line, as it is cached and has paths with cache duties."""


def engine(name: str, number: int) -> TargetArch:
    return TargetArch(
        name=name,
        backend=name,
        device=DLDevice(type="kDLExtDev", id=number),
        memory=("sram",),
        load=LoadProcess(process="command_stream"),
    )


SHARED = SoC(
    name="shared",
    memories=(
        Memory(name="ddr", size=1 << 20, base=0x100000, cached=True),
        Memory(
            name="sram", size=32 * chips.KIB, base=0x20000000, cached=True, observers={"conv": 0, "npu": 0}
        ),
    ),
    dmas=chips.EDGE.dmas,
    copies=(
        *chips.both("ddr", "sram", cache="clean source", alignment=1),
        CopyPath(source="sram", target="ddr", bandwidth=100e6, setup=2e-6),
        CopyPath(source="ddr", target="sram", bandwidth=100e6, setup=2e-6),
        chips.dma("sram", "sram", alignment=1),
    ),
    archs=(chips.HOST, engine("conv", 0), engine("npu", 8)),
    modes=(chips.MODE,),
    partitioning=("npu", "conv", "host"),
)
"""Two engines that work in the very memory in which tensors live: no copy is cheaper than one inside."""

Take = Callable[[Budget, str], int]


def lowerer(take: Take):  # type: ignore[no-untyped-def] # noqa: ANN201
    """Engines carry everything through one block, of the size that `take` answers, piece after piece."""

    def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        if partition.instance == "host":
            return chips.c_kernel(partition)
        (operator,) = partition.operators
        size = take(budget, operator.id)
        if size < UNIT:
            raise DoesNotFit(operator.id, "sram", UNIT, size)
        block = LocalBuffer(name="block", bytes=size, memory="sram", alignment=UNIT)
        reads = [(name, True) for name in dict.fromkeys((*operator.inputs, *operator.constants))]
        actions: list[Move | Call] = []
        for name, inward in (*reads, (operator.output, False)):
            length = graph.model.tensors[name].bytes
            for start in range(0, length, size):
                part = Slice(of=name, offset=start, row_bytes=min(size, length - start))
                local = Slice(of="block", offset=0, row_bytes=part.row_bytes)
                touch = Operand(of="block", access="w")
                call = Call(function="command", operands=(touch,), operator=operator.id)
                actions += (
                    [Move(source=part, target=local), call]
                    if inward
                    else [call, Move(source=local, target=part)]
                )
        return Kernel(
            partition=partition.id, instance=partition.instance, buffers=(block,), actions=tuple(actions)
        )

    return lower


def lower_on(model: Model, soc: SoC, lower: Lower, policy: str, planner: Planner = BEST) -> Lowered:
    """The model on a chip of these, with every kind of operator where it belongs."""
    names = chips.codegens(soc)
    require = {op.id: {"conv": "conv", "dense": "npu"}.get(op.kind, "host") for op in model.operators}
    return lower_in_order(
        setting=chips.setting(soc, planner=planner),
        place=lambda rules: chips.placed(model, soc, rules),
        order=lambda graph: lowering_order(graph, soc, names, policy),
        lower=lower,
        rules=Rules(require=require),
    )


def lowered(model: Model, take: Take, soc: SoC = SHARED, policy: str = "c-first") -> Lowered:
    return lower_on(model, soc, lowerer(take), policy)


def guaranteed(budget: Budget, site: str) -> int:
    return budget.guaranteed(site, "sram")


def remaining(budget: Budget, site: str) -> int:
    return budget.sites[site][0].remaining


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Random graphs of tensors of very different sizes, that fill the shared memory more or less."""
    largest = draw(st.sampled_from((1000, 4000, 8000)))
    names = ["x"]
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    for number in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from(("conv", "dense", "add", "other")))
        count = 2 if kind == "add" else 1
        inputs = tuple(draw(st.sampled_from(names[-5:])) for _ in range(count))
        rows.append((f"n{number}", kind, inputs, draw(st.integers(1, largest))))
        names.append(f"n{number}")
    return chips.model(
        *rows, inputs={"x": draw(st.integers(1, largest))}, weights=draw(st.sampled_from((0, 300)))
    )


POLICIES = st.sampled_from(("c-first", "program"))


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(models(), POLICIES)
def test_what_is_guaranteed_always_plans(model: Model, policy: str) -> None:
    try:
        lowered(model, lambda budget, site: min(UNIT, guaranteed(budget, site)), policy=policy)
    except DoesNotFitError:
        assume(False)
    result = lowered(model, guaranteed, policy=policy)
    assert result.attempts == ()
    for budget in result.budgets:
        for site in budget.sites:
            (pool,) = budget.sites[site]
            assert 0 <= pool.guaranteed <= pool.remaining
            assert pool.used == pool.guaranteed
            assert pool.live + pool.remaining == 32 * chips.KIB


@settings(max_examples=10, deadline=None)
@given(models(), POLICIES)
def test_an_alignment_unit_more_than_remains_never_plans(model: Model, policy: str) -> None:
    sites = [op.id for op in model.operators if op.kind in ("conv", "dense")]
    assume(sites)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_all, "remedy", lambda refusal, *_: refusal)
        with pytest.raises(DoesNotFitError):
            lowered(model, lambda budget, site: remaining(budget, site) + UNIT, policy=policy)


def random_model(seed: int) -> Model:
    random = Random(seed)
    rows = [
        (
            f"n{n}",
            random.choice(("conv", "dense", "other")),
            (random.choice(NAMES[max(0, n - 3) : n + 1]),),
            size,
        )
        for n, size in enumerate(random.choices(range(64, 8000), k=10))
    ]
    return chips.model(*rows, inputs={"x": 2000})


NAMES = ("x", *(f"n{number}" for number in range(10)))


@pytest.mark.long
def test_hardly_anything_is_lost_to_fragmentation() -> None:
    """Promised in one piece, of all that remains: the rest is alignment and holes."""
    offered = total = 0
    for seed in range(12):
        for budget in lowered(random_model(seed), lambda budget, site: UNIT).budgets:
            for (pool,) in budget.sites.values():
                offered, total = offered + pool.guaranteed, total + pool.remaining
    assert 0.98 * total < offered <= total


def test_what_was_really_taken_replaces_the_promise() -> None:
    """The second partition sees the first one's block only where both are live; here tensors between."""
    model = chips.model(
        ("a", "conv", ("x",), 4096),
        ("b", "dense", ("a",), 4096),
        ("c", "other", ("b",), 64),
        inputs={"x": 4096},
    )
    result = lowered(model, guaranteed)
    assert [(b.partition, pool.live, pool.remaining, pool.guaranteed, pool.used)
            for b in result.budgets for (pool,) in b.sites.values()] == [
        ("p0", 8192, 24576, 24576, 24576),
        ("p1", 8192, 24576, 24576, 24576),
    ]  # fmt: skip


def work_of(model: Model, soc: SoC) -> PartialLowering:
    graph = place(model, chips.setting(soc), chips.BACKENDS)
    return PartialLowering(setting=chips.setting(soc), graph=graph, kernels={})


def test_a_kernel_that_does_as_foreseen_leaves_the_ledger_fresh() -> None:
    work = work_of(chips.RESIDUAL, chips.EDGE)
    ledger = Ledger.of(work, foreseen(work))
    for partition in work.graph.partitions:
        ledger, given = ledger.budget(partition)
        kernel = chips.lowerer(chips.EDGE)(work.graph, partition, given)
        ledger, overdrawn = ledger.with_kernel(partition, kernel)
        assert overdrawn is None
    assert not ledger.unforeseen


def test_a_kernel_that_wants_its_tensors_elsewhere_is_unforeseen() -> None:
    work = work_of(chips.RESIDUAL, chips.EDGE)
    ledger = Ledger.of(work, foreseen(work))
    partition = next(p for p in work.graph.partitions if p.instance == "conv")
    before, given = ledger.budget(partition)
    kernel = chips.lowerer(chips.EDGE)(work.graph, partition, given)
    operator = partition.operators[0]
    in_place = Call(
        function="f", operands=(Operand(of=operator.inputs[0], access="r"),), operator=operator.id
    )
    after, overdrawn = before.with_kernel(partition, evolve(kernel, actions=(in_place,)))
    assert (overdrawn, before.unforeseen, after.unforeseen) == (None, 0, 1)


def test_taking_more_than_remains_is_told_and_changes_nothing() -> None:
    work = work_of(chips.RESIDUAL, chips.EDGE)
    ledger = Ledger.of(work, foreseen(work))
    partition = next(p for p in work.graph.partitions if p.instance == "conv")
    ledger, before = ledger.budget(partition)
    block = LocalBuffer(name="b", bytes=20_000, memory="bram")
    call = Call(function="f", operands=(Operand(of="b", access="w"),), operator=partition.operators[0].id)
    kernel = Kernel(partition=partition.id, instance="conv", buffers=(block,), actions=(call,))
    ledger, over = ledger.with_kernel(partition, kernel)
    assert over is not None
    assert (over.memory, over.needed, over.available) == ("bram", 20_000, 16_384)
    assert ledger.budget(partition)[1] == before


IN_SRAM = evolve(SHARED, modes=(evolve(chips.MODE, constants=("sram",)),))
"""The same chip with constants in the memory in which the engines work."""

GROWTH = 512


def packing(take: Take, growth: int = GROWTH):  # type: ignore[no-untyped-def] # noqa: ANN201
    """Engines that read weights of their own making instead of the model's, so many bytes larger."""
    plain = lowerer(take)

    def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        kernel = plain(graph, partition, budget)
        names = partition.operators[0].constants
        if partition.instance == "host" or not names:
            return kernel
        packed = chips.tensor(f"{names[0]}.packed", graph.model.tensors[names[0]].bytes + growth, True)
        block = kernel.buffers[0].bytes
        actions = [a for a in kernel.actions if not (isinstance(a, Move) and a.source.of == names[0])]
        for start in range(0, packed.bytes, block):
            part = Slice(of=packed.name, offset=start, row_bytes=min(block, packed.bytes - start))
            into = Slice(of="block", offset=0, row_bytes=part.row_bytes)
            use = Call(
                function="c", operands=(Operand(of="block", access="w"),), operator=partition.operators[0].id
            )
            actions[:0] = [Move(source=part, target=into), use]
        return evolve(kernel, constants=(packed,), actions=tuple(actions))

    return lower


@pytest.mark.parametrize("seed", range(6))
def test_packed_weights_count_at_once(seed: int) -> None:
    """Who takes what is guaranteed less what its own weights grow by gets a plan at once."""
    random = Random(seed)
    rows = [
        (f"n{n}", "conv" if n == 2 else "other", (NAMES[n],), size)
        for n, size in enumerate(random.choices(range(64, 8000), k=6))
    ]
    model = chips.model(*rows, inputs={"x": 2000}, weights=300)
    result = lowered_by(model, packing(lambda budget, site: guaranteed(budget, site) - GROWTH - UNIT))
    assert result.attempts == ()
    (pool,) = result.budgets[0].sites["n2"]
    assert pool.used == pool.guaranteed - GROWTH - UNIT


def lowered_by(model: Model, lower: Lower, policy: str = "c-first", soc: SoC = IN_SRAM) -> Lowered:
    names = chips.codegens(soc)
    require = {op.id: {"conv": "conv", "dense": "npu"}.get(op.kind, "host") for op in model.operators}
    return lower_in_order(
        setting=chips.setting(soc),
        place=lambda rules: chips.placed(model, soc, rules),
        order=lambda graph: lowering_order(graph, soc, names, policy),
        lower=lower,
        rules=Rules(require=require),
    )


def test_weights_that_grow_too_much_are_asked_for_again_in_less_room() -> None:
    """The engine packs generously where it has room; the second attempt has less."""
    model = chips.model(("a", "conv", ("x",), 8000), inputs={"x": 8000}, weights=300)
    offered: list[int] = []

    def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
        offered.append(guaranteed(budget, "a"))
        return packing(lambda *_: 1024, offered[-1] + 1000)(graph, partition, budget)

    result = lowered_by(model, lower)
    assert {(a.kind, a.operator) for a in result.attempts} == {("re-tile", "a")}
    assert len(offered) > 1
    assert offered == sorted(offered, reverse=True)


@pytest.mark.parametrize(("count", "most"), [(10, 12), (80, 22)])
def test_unforeseen_kernels_do_not_renew_the_ledger_each_time(
    monkeypatch: pytest.MonkeyPatch, count: int, most: int
) -> None:
    """An engine that moves its input twice, once from a memory where no stand-in looked for it."""
    made: list[int] = []
    whole = Ledger.of

    def counted(work: PartialLowering, homes: TensorHomes) -> Ledger:
        made.append(1)
        return whole(work, homes)

    monkeypatch.setattr(Ledger, "of", counted)
    monkeypatch.setattr(Foreseen, "conforms", lambda *_: False)
    rows = [(f"n{n}", "conv", (f"n{n - 1}" if n else "x",), 512) for n in range(count)]
    lowered(chips.model(*rows, inputs={"x": 512}), lambda *_: 1024)
    assert len(made) <= most


@pytest.mark.parametrize(
    ("codegen", "refused"),
    [(Codegen.C, False), (Codegen.LLVM, False), (Codegen.CUDA, False), (Codegen.COMMAND_STREAM, True)],
)
def test_constants_of_functions_are_never_refused(codegen: Codegen, refused: bool) -> None:
    """The same kernel, with packed weights that no longer fit: what takes functions has no smaller tiles."""
    model = chips.model(("a", "other", ("x",), 8000), inputs={"x": 8000})
    setting = chips.setting(IN_SRAM)
    setting = evolve(setting, codegens={**setting.codegens, "host": codegen})
    graph = place(model, setting, chips.BACKENDS)
    (partition,) = graph.partitions
    work = PartialLowering(setting=setting, graph=graph, kernels={})
    packed = chips.tensor("packed", 30_000, True)
    reads = (Operand(of="x", access="r"), Operand(of="packed", access="r"))
    call = Call(function="f", operands=(*reads, Operand(of="a", access="w")), operator="a")
    kernel = Kernel(partition=partition.id, instance="host", constants=(packed,), actions=(call,))
    ledger = Ledger.of(work, foreseen(work)).asked_about(("sram",))
    after, overdrawn = ledger.with_kernel(partition, kernel)
    assert after.constants_missing
    assert (overdrawn is not None) == refused
