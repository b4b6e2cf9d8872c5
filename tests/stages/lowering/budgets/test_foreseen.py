"""What the ledger foresees of a program: kernels that conform, places that are taken, buffers of a pool."""

from collections.abc import Iterator
from typing import cast

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Operand
from target_arch.plan.memory import BufferKind
from target_arch.plan.partitions import Partition
from target_arch.soc.model import CopyPath
from target_arch.stages.lowering.budgets.foreseen import Foreseen
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.homes import NOWHERE, Demand, End, MemoryDemands, OnTheWay
from target_arch.stages.program.items import Slot
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen
from tests.stages import chips

MODEL = chips.model(("a", "other", ("x",), 640), ("b", "add", ("a",), 640), inputs={"x": 640}, weights=64)
SOC = evolve(chips.ALONE, modes=(evolve(chips.MODE, constants=("sram", "ddr")),))
GRAPH = chips.placed(MODEL, SOC)
(PARTITION,) = GRAPH.partitions


class Stated:
    """These demands, whatever the kernel."""

    def __init__(self, *demands: Demand) -> None:
        self.demands = demands

    def of(self, partition: Partition, kernel: Kernel | None) -> Iterator[Demand]:
        return iter(self.demands)


def seen(**kernels: Kernel) -> Foreseen:
    work = PartialLowering(setting=chips.setting(SOC), graph=GRAPH, kernels=kernels)
    return Foreseen.of(work, foreseen(work))


CONFORMING = {
    "a tensor where it is": (Demand(tensor="a", write=False, end=End(memories=("ddr", "sram"))), True),
    "a result where it goes": (Demand(tensor="a", write=True, end=End(memories=("sram",))), True),
    "a tensor elsewhere": (Demand(tensor="a", write=False, end=End(memories=("ddr",))), False),
    "a constant where the first may be": (Demand(tensor="k", write=False, end=End(memories=("sram",))), True),
    "a constant where another may be": (Demand(tensor="k", write=False, end=End(memories=("ddr",))), True),
    "a constant where none may be": (Demand(tensor="k", write=False, end=End(memories=("tcm",))), False),
    "a result that nobody knows": (Demand(tensor="k", write=True, end=End(memories=("ddr",))), False),
}


@pytest.mark.parametrize("name", CONFORMING)
def test_a_kernel_conforms_where_its_tensors_are_as_assumed(name: str) -> None:
    demand, expected = CONFORMING[name]
    others = Demand(tensor="x", write=False, end=End(memories=("sram",)))
    stated = evolve(seen(), demands=cast(MemoryDemands, Stated(others, demand)))
    assert stated.conforms(PARTITION, Kernel(partition=PARTITION.id, instance="host")) == expected


def over_scratch() -> Kernel:
    """The sum is written over scratch alone, the last reader of which it is."""
    scratch = LocalBuffer(name="s", bytes=640, memory="sram", alignment=4)
    first = Call(
        function="f",
        operands=(Operand(of="x", access="r"), Operand(of="a", access="w"), Operand(of="s", access="w")),
        operator="a",
    )
    last = Call(
        function="g",
        operands=(
            Operand(of="a", access="r"),
            Operand(of="s", access="r"),
            Operand(of="b", access="w", over=("s",)),
        ),
        operator="b",
    )
    return Kernel(partition=PARTITION.id, instance="host", buffers=(scratch,), actions=(first, last))


def test_scratch_is_no_place_for_a_tensor() -> None:
    """It is counted with its kernel, so nothing is saved."""
    assert seen(**{PARTITION.id: over_scratch()}).reuses == {}
    assert list(seen().dying(PARTITION, over_scratch())) == []
    plain = chips.c_kernel(PARTITION)
    assert seen(**{PARTITION.id: plain}).reuses == {"b@sram": ("a@sram",)}
    assert list(seen().dying(PARTITION, plain)) == [("b@sram", ("a@sram",))]


def test_a_buffer_that_nothing_uses_takes_no_bytes() -> None:
    known = seen()
    unused = Slot(name="u", kind=BufferKind.ACTIVATION, memory="sram", bytes=64, alignment=4)
    program = evolve(known._program, buffers={**known._program.buffers, "u": unused})
    pool = evolve(known, program=program).pool("sram", 0, {}, {})
    assert set(pool.offsets) == {"x@sram", "a@sram", "b@sram"}


def test_memory_of_the_caller_and_states_are_not_of_the_workspace() -> None:
    known = seen()
    buffers = known._program.buffers
    state = Slot(name="s", kind=BufferKind.STATE, memory="sram", bytes=64, alignment=4)
    lent = evolve(buffers["x@sram"], caller=True)
    program = evolve(known._program, buffers={**buffers, "x@sram": lent, "s": state})
    assert {"x@sram", "s"} <= program.liveness.lives.keys()
    pool = evolve(known, program=program).pool("sram", 0, {}, {})
    assert set(pool.offsets) == {"a@sram", "b@sram"}


WEIGHTS = chips.tensor("w", 4096, constant=True)


def staged() -> PartialLowering:
    """A kernel of the DSP whose weights go from the DDR through the SRAM, past which no path leads."""
    model = chips.model(("a", "soft", ("x",), 640), inputs={"x": 640})
    (operator,) = model.operators
    model = evolve(
        model,
        tensors={**model.tensors, "w": WEIGHTS},
        operators=(evolve(operator, constants=("w",)),),
    )
    paths = (CopyPath(source="ddr", target="sram"), chips.dma("sram", "tcm"), chips.dma("tcm", "sram"))
    chip = evolve(chips.EDGE, copies=paths)
    graph = chips.placed(model, chip, Rules(require={"a": "dsp"}))
    (partition,) = graph.partitions
    kernel = chips.c_kernel(partition)
    return PartialLowering(setting=chips.setting(chip), graph=graph, kernels={partition.id: kernel})


@pytest.mark.parametrize(("pieces", "expected"), [({}, {"w@sram": 4096}), ({("w", "sram"): 512}, None)])
def test_a_ring_has_the_bytes_of_its_pieces(
    pieces: dict[OnTheWay, int], expected: dict[str, int] | None
) -> None:
    """A constant that goes through a memory in pieces counts as the two that are there, not as a whole."""
    work = staged()
    (partition,) = work.graph.partitions
    seen = Foreseen.of(work, foreseen(work, NOWHERE, pieces))
    held = dict(seen.pool("sram", 0, {}, {}).alive(seen.turn(partition)))
    rings = {f"{partition.id}.ring.sram.{number}": 512 for number in range(2)}
    assert {name: size for name, size in held.items() if name not in ("x@sram", "a@sram")} == (
        rings if expected is None else expected
    )
