"""No order of the steps is below the bound, also where steps wait for a part of a copy only."""

from collections.abc import Sequence
from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.steps import StepOrder
from target_arch.soc.costs import NOTHING_MEASURED, Costs, OrderCost
from target_arch.soc.model import CopyPath, Dma, SoC
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.dependences import accesses, dependences
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.items import Item, Transfer
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.overlap import fastest
from target_arch.stages.steps.simulation.bounds import order_bound
from target_arch.stages.steps.simulation.replay import replay
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import models

ROOMY = 64


def chip(soc: SoC, piece: int, channels: int, speeds: Sequence[float]) -> SoC:
    """The chip with room for everything, copies in pieces of so many bytes, and engines of these speeds: the
    copies of the DMA engine are divided among them.
    """
    engines = tuple(Dma(name=f"dma_{number}", channels=channels) for number in range(len(speeds)))
    by_engine = dict(zip((dma.name for dma in engines), speeds, strict=True))
    limits = {"max_bytes": piece, "setup": 1e-7, "dimensions": 1}

    def changed(number: int, path: CopyPath) -> CopyPath:
        engine = engines[number % len(engines)].name
        return evolve(path, engine=engine, bandwidth=by_engine[engine], **limits) if path.is_async else path

    copies = tuple(changed(number, path) for number, path in enumerate(soc.copies))
    memories = tuple(evolve(memory, size=memory.size * ROOMY) for memory in soc.memories)
    return evolve(soc, memories=memories, dmas=engines, copies=copies)


@st.composite
def orders(draw: st.DrawFn) -> Costs:
    """What steps of devices take of the host."""
    names = [*(arch.name for arch in chips.EDGE.archs if not arch.host), "dma_0", "dma_1", "dma_2"]
    times = st.sampled_from((0.0, 1e-6, 30e-6))
    return Costs(orders={name: OrderCost(start=draw(times), end=draw(times)) for name in names})


@st.composite
def socs(draw: st.DrawFn) -> SoC:
    speeds = draw(st.lists(st.sampled_from((2e7, 1e8, 8e8)), min_size=1, max_size=3))
    soc = draw(st.sampled_from((chips.EDGE, chips.quad())))
    return chip(soc, draw(st.sampled_from((64, 128, 192))), draw(st.integers(1, 3)), speeds)


def piecewise(graph: PartitionGraph, partition: Partition, soc: SoC, tiles: int) -> Kernel:
    """The kernel of an accelerator that copies each operand at once, and computes tile after tile of it."""
    instance, op = soc.instance(partition.instance), partition.operators[0]
    inside = instance.buffers.get("inp", instance.memory[0])
    outside = instance.buffers.get("out", instance.memory[0])
    size = {name: graph.model.tensors[name].bytes for name in (*op.inputs, *op.constants, op.output)}
    read = dict.fromkeys((*op.constants, *op.inputs))
    buffers = [LocalBuffer(name=f"l_{name}", bytes=size[name], memory=inside) for name in read]
    buffers.append(LocalBuffer(name=f"l_{op.output}", bytes=size[op.output], memory=outside))

    def part(name: str, tile: int, access: Access) -> Operand:
        count = size[name] // tiles
        return Operand(of=f"l_{name}", access=access, offset=tile * count, bytes=count)

    def whole(of: str, name: str) -> Slice:
        return Slice(of=of, offset=0, row_bytes=size[name])

    actions: list[Move | Call] = [
        Move(source=whole(name, name), target=whole(f"l_{name}", name)) for name in read
    ]
    for tile in range(tiles):
        operands = (
            *(part(name, tile, Access.READ) for name in read),
            part(op.output, tile, Access.WRITE),
        )
        actions.append(Call(function="command", operands=operands, words=(1, tile), operator=op.id))
    actions.append(Move(source=whole(f"l_{op.output}", op.output), target=whole(op.output, op.output)))
    return Kernel(
        partition=partition.id, instance=partition.instance, buffers=tuple(buffers), actions=tuple(actions)
    )


def in_pieces(program: Program) -> Program:
    """The program with each piece of a transfer as a transfer of its own."""
    items: list[Item] = []
    for item in program.items:
        if isinstance(item, Transfer):
            items += (evolve(item, pieces=(piece,)) for piece in item.pieces)
        else:
            items.append(item)
    return evolve(program, items=tuple(items))


def flow(program: Program) -> list[set[int]]:
    """By item the items that wrote a byte that it reads, byte by byte."""
    writer: dict[tuple[str, int], int] = {}
    found: list[set[int]] = []
    for number, item in enumerate(program.items):
        touched = accesses(program, item)
        reads = [place for part, writes in touched if not writes for place in places(part)]
        found.append({writer[place] for place in reads if place in writer})
        writer |= {place: number for part, writes in touched if writes for place in places(part)}
    return found


def places(part: Slice) -> list[tuple[str, int]]:
    starts = range(part.offset, part.end, part.stride or part.row_bytes)
    return [(part.of, start + byte) for start in starts for byte in range(part.row_bytes)]


def shuffled(program: Program, before: Sequence[Sequence[int] | set[int]], random: Random) -> Program:
    order: list[int] = []
    left = set(range(len(before)))
    while left:
        able = [number for number in sorted(left) if not left.intersection(before[number])]
        order.append(random.choice(able))
        left.remove(order[-1])
    return evolve(program, items=tuple(program.items[number] for number in order))


def bound_of(work: PartialLowering, steps: StepOrder) -> int:
    return order_bound(steps, Times(work), {dma.name: dma.channels for dma in work.soc.dmas})


def work_of(
    model: Model, soc: SoC, tiles: int = 0, rules: Rules | None = None, costs: Costs = NOTHING_MEASURED
) -> PartialLowering:
    """Placed, and lowered where there are tiles."""
    setting, names = evolve(chips.setting(soc), costs=costs), chips.codegens(soc)
    graph = place(model, setting, chips.BACKENDS, rules or Rules())
    kernels = {
        part.id: chips.c_kernel(part) if names[part.instance] == "c" else piecewise(graph, part, soc, tiles)
        for part in (graph.partitions if tiles else ())
    }
    return PartialLowering(setting=setting, graph=graph, kernels=kernels)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(models(), socs(), orders(), st.integers(0, 99))
def test_no_order_with_the_same_flow_is_below_the_bound(
    model: Model, soc: SoC, costs: Costs, seed: int
) -> None:
    """Stand-ins use no buffer twice, so every order in which data flows as it does is a valid one."""
    work = work_of(model, soc, costs=costs)
    homes, random, times = choose_homes(work), Random(seed), Times(work)
    program = in_pieces(join(work, homes, timed=True))
    before, bound = flow(program), bound_of(work, steps_of(work, program, homes, times))
    for _ in range(8):
        steps = steps_of(work, shuffled(program, before, random), homes, times, crowded=random.random() < 0.5)
        assert replay(steps, times, soc.host.name).makespan * PICO >= bound - 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), socs(), orders(), st.sampled_from((2, 4, 8)), st.integers(0, 99))
def test_no_order_of_tiles_is_below_the_bound(
    model: Model, soc: SoC, costs: Costs, tiles: int, seed: int
) -> None:
    work = work_of(model, soc, tiles, costs=costs)
    homes, random, times = choose_homes(work), Random(seed), Times(work)
    program = in_pieces(join(work, homes))
    before, bound = dependences(program), bound_of(work, steps_of(work, program, homes, times))
    for _ in range(8):
        steps = steps_of(work, shuffled(program, before, random), homes, times)
        assert bound_of(work, steps) == bound
        assert replay(steps, times, soc.host.name).makespan * PICO >= bound - 1


def test_a_tile_begins_when_its_piece_is_there() -> None:
    """Eight pieces in, eight tiles and eight pieces out, of 100, 10 and 100 us, on two channels: pieces out
    begin as soon as the host has issued the last tile, which takes its 10 us beside the first of them. As
    long as a copy, a tile and a copy, 1,610 us, is no bound.
    """
    model = chips.model(("a", "conv", ("x",), 512), inputs={"x": 512})
    soc = chip(chips.EDGE, 64, 2, (64 / 100e-6,))
    soc = evolve(soc, copies=tuple(evolve(path, setup=0.0) for path in soc.copies))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(chips.SPEED, "conv", 80e-6)
        work = work_of(model, soc, 8, Rules(require={"a": "conv"}))
        homes, times = choose_homes(work), Times(work)
        run = fastest(work, join(work, homes), homes, times)
    assert (run.makespan, run.bound) == (pytest.approx(1600e-6), pytest.approx(800e-6))


def test_the_order_of_runs_on_one_instance_is_no_part_of_the_bound() -> None:
    """What the host waits for could run first there: a bound that keeps the order forbids that."""
    model = chips.model(
        ("a", "conv", ("x",), 1024),
        ("b", "conv", ("x",), 1024),
        ("c", "other", ("b",), 64),
        inputs={"x": 1024},
    )
    work = work_of(model, chips.EDGE, rules=Rules(require={"conv": "conv", "c": "host"}))
    parts = sorted(work.graph.partitions, key=lambda part: part.operators[0].id)
    work = evolve(work, graph=evolve(work.graph, partitions=tuple(parts)))
    homes, times = choose_homes(work), Times(work)
    steps = steps_of(work, join(work, homes, timed=True), homes, times)
    alone = replay(steps, times, "host").makespan * PICO
    assert bound_of(work, steps) <= alone - times.run(parts[0].id, "a")


def test_a_run_below_its_bound_is_reported() -> None:
    with pytest.raises(DiagnosticError) as caught:
        Execution(makespan=700e-6, bound=702e-6, alone=1e-3, overlap="", spans=())
    assert str(caught.value) == (
        "simulated run: error: it takes 700 us, and its lower bound is 702 us [below-bound]"
    )
