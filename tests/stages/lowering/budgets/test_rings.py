"""Rings of constants on their way count before the kernel that they serve is known, and never too little.

The test engine takes tiles through its own memory. Its constants go from the DDR through the SRAM.
"""

from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.stages.lowering.budgets.foreseen import Foreseen
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.homes import NOWHERE, OnTheWay
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import fit_memory, foreseen
from tests.stages import chips

CHIP = evolve(
    chips.EDGE,
    copies=tuple(path for path in chips.COPIES if (path.source, path.target) != ("ddr", "bram")),
)
UNIT = 16
"""The alignment of the SRAM of `CHIP`, where the rows of a piece begin."""

Cut = tuple[int, int, int]
"""Rows of a constant, bytes of each, and how many columns it is cut into."""


def network(cuts: Sequence[Cut]) -> Model:
    """A chain of operators of the engine, each with one constant."""
    inputs = ("x", *(f"n{number}" for number in range(len(cuts))))
    rows = [(f"n{n}", "conv", (name,), 256) for n, name in zip(range(len(cuts)), inputs, strict=False)]
    model = chips.model(*rows, inputs={"x": 256}, weights=1)
    weights = {f"n{n}.w": chips.tensor(f"n{n}.w", r * b, constant=True) for n, (r, b, _) in enumerate(cuts)}
    return evolve(model, tensors={**model.tensors, **weights})


def kernel(model: Model, partition: Partition, cut: Cut) -> Kernel:
    """Two tiles of the image: for each, one column of the constant after the other comes in again."""
    (operator,) = partition.operators
    rows, row_bytes, columns = cut
    width, half = row_bytes // columns, 128
    local = [LocalBuffer(name=f"l.{name}", bytes=half, memory="bram") for name in ("in", "out")]
    local.append(LocalBuffer(name="l.w", bytes=rows * width, memory="bram"))
    reads = tuple(Operand(of=name, access="r") for name in ("l.w", "l.in"))
    command = Call(
        function="command", operands=(*reads, Operand(of="l.out", access="w")), operator=operator.id
    )
    actions: list[Move | Call] = []
    for tile in range(2):
        for column in range(columns):
            part = Slice(
                of=operator.constants[0], offset=column * width, row_bytes=width, rows=rows, stride=row_bytes
            )
            actions.append(Move(source=part, target=_bytes("l.w", 0, rows * width)))
            if not column:
                actions.append(
                    Move(source=_bytes(operator.inputs[0], tile * half, half), target=_bytes("l.in", 0, half))
                )
            actions.append(command)
        actions.append(
            Move(source=_bytes("l.out", 0, half), target=_bytes(operator.output, tile * half, half))
        )
    return Kernel(
        partition=partition.id, instance=partition.instance, buffers=tuple(local), actions=tuple(actions)
    )


def _bytes(name: str, offset: int, bytes: int) -> Slice:
    return Slice(of=name, offset=offset, row_bytes=bytes)


def placed(cuts: Sequence[Cut]) -> PartitionGraph:
    model = network(cuts)
    return chips.placed(model, CHIP, Rules(require={f"n{number}": "conv" for number in range(len(cuts))}))


def work_of(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> PartialLowering:
    return PartialLowering(setting=chips.setting(CHIP), graph=graph, kernels=kernels)


def remaining(work: PartialLowering, partition: Partition, pieces: Mapping[OnTheWay, int]) -> tuple[int, int]:
    """The bytes of the SRAM that remain while a partition runs, and the largest block to be promised."""
    seen = Foreseen.of(work, foreseen(work, NOWHERE, pieces))
    pool, turn = seen.pool("sram", 0, {}, {}), seen.turn(partition)
    _, block = pool.promise(turn)
    return pool.available - pool.live(turn), block.bytes


CUTS = st.sampled_from(
    ((1, 4096, 1), (64, 64, 1), (64, 64, 2), (512, 8, 2), (16, 520, 2), (1, 512, 1), (90, 24, 3))
)


@settings(max_examples=15, deadline=None)
@given(st.lists(CUTS, min_size=1, max_size=3), st.sampled_from((512, 1024)))
def test_what_is_guaranteed_beside_a_ring_remains_once_its_kernel_is_known(
    cuts: list[Cut], block: int
) -> None:
    graph = placed(cuts)
    pieces = {(f"n{number}.w", "sram"): block for number in range(len(cuts))}
    kernels: dict[str, Kernel] = {}
    known = {p.id: kernel(graph.model, p, cut) for p, cut in zip(graph.partitions, cuts, strict=True)}
    for partition in graph.partitions:
        left, promised = remaining(work_of(graph, kernels), partition, pieces)
        kernels[partition.id] = known[partition.id]
        at_the_end, _ = remaining(work_of(graph, known), partition, pieces)
        assert promised <= left <= at_the_end


@pytest.mark.parametrize("cut", [(1, 4096, 1), (64, 64, 1)])
def test_a_ring_of_whole_pieces_is_counted_exactly(cut: Cut) -> None:
    graph = placed([cut])
    (partition,) = graph.partitions
    pieces = {("n0.w", "sram"): 512}
    before = remaining(work_of(graph, {}), partition, pieces)
    after = remaining(work_of(graph, {partition.id: kernel(graph.model, partition, cut)}), partition, pieces)
    assert before == after
    whole = remaining(work_of(graph, {}), partition, {})
    assert before[0] - whole[0] == 4096 - 2 * 512


def test_rows_of_a_piece_count_with_their_alignment() -> None:
    """A piece of 512 B has 32 rows of 4 B, as each begins at a multiple of 16 B; the last one ends sooner."""
    cut = (512, 8, 2)
    graph = placed([cut])
    (partition,) = graph.partitions
    work = work_of(graph, {partition.id: kernel(graph.model, partition, cut)})
    homes = foreseen(work, NOWHERE, {("n0.w", "sram"): 512})
    rings = [slot.bytes for slot in join(work, homes).buffers.values() if ".ring." in slot.name]
    assert rings == [32 * UNIT, 32 * UNIT]


def test_a_constant_goes_in_pieces_before_its_kernel_is_known() -> None:
    """Otherwise it takes the SRAM whole, and its operator would have to go elsewhere."""
    graph = placed([(1, 4096, 1)])
    small = tuple(evolve(m, size=4096) if m.name == "sram" else m for m in CHIP.memories)
    setting = chips.setting(evolve(CHIP, memories=small, modes=(evolve(chips.MODE, workspace=("sram",)),)))
    fitted = fit_memory(PartialLowering(setting=setting, graph=graph, kernels={}))
    assert fitted.homes.streamed == {("n0.w", "sram"): 512}
