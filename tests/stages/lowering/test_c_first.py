"""Why C is lowered first: one model on one small chip, in both orders. `docs/c-first.md` tells the story.

The engine has two forms of a layer: a fast one that keeps its weights transformed (four times the bytes,
resident in the one memory there is), and a plain one. It takes the fast one where its budget has room for it.
The host's `soft` needs a table of 16 KiB, which nobody knows of before it is lowered.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from target_arch.backend.contract import Backend, DoesNotFit, Question
from target_arch.plan.kernels import Call, Codegen, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Arena, Budget
from target_arch.plan.model import Tensor
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.printed import text
from target_arch.plan.steps import Dispatch
from target_arch.soc.model import DLDevice, Dma, LoadProcess, Memory, MemoryMode, SoC, TargetArch
from target_arch.stages.lowering import ladder
from target_arch.stages.lowering.ladder import Lowered, lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.setting import Setting
from tests.stages import chips

PAGE = Path(__file__).parents[3] / "docs" / "c-first.md"
KIB = chips.KIB
TABLE = 16 * KIB
FAST, PLAIN, HOST = 2e-3, 3e-3, 30e-3
"""Seconds of a convolution: the engine's two forms, and the host."""

MODE = MemoryMode(name="default", workspace=("sram",), constants=("sram",), io=("sram",))
SMALL = SoC(
    name="small",
    memories=(Memory(name="sram", size=48 * KIB, base=0x20000000, observers={"engine": 0}),),
    dmas=(Dma(name="dma", channels=1),),
    copies=(chips.dma("sram", "sram", alignment=1, max_bytes=None),),
    archs=(
        TargetArch(
            name="host",
            backend="c",
            device=DLDevice(type="kDLCPU", id=0),
            host=True,
            clock=1e8,
            memory=("sram",),
        ),
        TargetArch(
            name="engine",
            backend="engine",
            device=DLDevice(type="kDLExtDev", id=0),
            memory=("sram",),
            load=LoadProcess(process="command_stream"),
        ),
    ),
    modes=(MODE,),
    partitioning=("engine", "host"),
)
CODEGENS = {"host": Codegen.C, "engine": Codegen.COMMAND_STREAM}

MODEL = chips.model(
    ("conv_0", "conv", ("x",), 8 * KIB),
    ("conv_1", "conv", ("conv_0",), 8 * KIB),
    ("soft", "soft", ("conv_1",), 8 * KIB),
    inputs={"x": 8 * KIB},
    weights=4 * KIB,
)


def supports(question: Question) -> str | None:
    takes = question.instance.arch.host or question.operator.kind == "conv"
    return None if takes else f"`{question.operator.kind}` is not `conv`"


def cost(question: Question) -> float:
    if question.operator.kind != "conv":
        return 1e-3
    return HOST if question.instance.arch.host else PLAIN


BACKENDS = {
    name: Backend(
        name=name,
        description="",
        codegen=CODEGENS[name],
        patterns=(),
        supports=supports,
        cost=cost,
        lower=chips.unused,
    )
    for name in CODEGENS
}
SETTING = Setting.of(SMALL, BACKENDS, MODE)


def constant(name: str, size: int) -> Tensor:
    return Tensor(name=name, shape=(size,), dtype="int8", data=Random(name).randbytes(size))


def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
    return on_host(partition) if partition.instance == "host" else on_engine(graph, partition, budget)


def on_host(partition: Partition) -> Kernel:
    """C functions; `soft` with its table."""
    calls, tables = [], []
    for op in partition.operators:
        own = (constant(f"{op.id}.table", TABLE),) if op.kind == "soft" else ()
        reads = (*op.inputs, *op.constants, *(table.name for table in own))
        operands = (*(Operand(of=name, access="r") for name in reads), Operand(of=op.output, access="w"))
        calls.append(Call(function=f"f_{op.kind}", operands=operands, operator=op.id))
        tables += own
    return Kernel(partition=partition.id, instance="host", constants=tuple(tables), actions=tuple(calls))


def on_engine(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
    """A row buffer of 2 KiB, and weights transformed where the budget has room for what that adds."""
    (op,) = partition.operators
    (name,) = op.constants
    rows, plain = 2 * KIB, graph.model.tensors[name].bytes
    room = budget.guaranteed(op.id, "sram")
    if room < rows:
        raise DoesNotFit(op.id, "sram", rows, room)
    fast = room >= rows + 3 * plain
    weights = constant(f"{op.id}.packed", 4 * plain if fast else plain)
    actions: list[Move | Call] = []
    for tensor, inward in ((op.inputs[0], True), (weights.name, True), (op.output, False)):
        size = weights.bytes if tensor == weights.name else graph.model.tensors[tensor].bytes
        for start in range(0, size, rows):
            part = Slice(of=tensor, offset=start, row_bytes=rows)
            local = Slice(of="rows", offset=0, row_bytes=rows)
            operand = Operand(of="rows", access="r" if inward else "w")
            call = Call(function="fast" if fast else "plain", operands=(operand,), operator=op.id)
            actions += (
                [Move(source=part, target=local), call] if inward else [call, Move(source=local, target=part)]
            )
    return Kernel(
        partition=partition.id,
        instance="engine",
        constants=(weights,),
        buffers=(LocalBuffer(name="rows", bytes=rows, memory="sram"),),
        actions=tuple(actions),
        notes=("fast" if fast else "plain",),
    )


@pytest.fixture(autouse=True, scope="module")
def unvalidated() -> Iterator[None]:
    """Lowering without the validation of what is computed: the engine's sums are nowhere in its calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "check_meaning", lambda *values: None)
        yield


def compiled(policy: str) -> Lowered:
    return lower_in_order(
        setting=SETTING,
        place=lambda rules: place(MODEL, SETTING, BACKENDS, rules),
        order=lambda graph: lowering_order(graph, SMALL, CODEGENS, policy),
        lower=lower,
    )


def seconds(result: Lowered) -> float:
    """Computing, by the form each convolution really has."""
    total = 0.0
    for partition in result.graph.partitions:
        for op in partition.operators:
            form = HOST if partition.instance == "host" else PLAIN
            form = FAST if result.kernels[partition.id].notes == ("fast",) else form
            total += form if op.kind == "conv" else 1e-3
    return total


def line(result: Lowered) -> str:
    where = ", ".join(f"{c.operator} on {c.instance}" for c in result.graph.choices)
    dispatches = sum(isinstance(step, Dispatch) for step in result.steps.steps)
    return (
        f"{result.lowering.policy}: {where}; {len(result.attempts)} attempts, {dispatches} calls, "
        f"{result.plan.peaks[Arena('sram')] + result.plan.peaks[Arena('sram', constant=True)]:,} B, "
        f"{text.duration(seconds(result))}\n"
    )


@pytest.fixture(scope="module")
def told() -> str:
    first, last = compiled("c-first"), compiled("accelerators-first")
    shown = (line(first), text.budgets(first.budgets), line(last))
    return "\n".join(part for part in (*shown, text.attempts(last.attempts)) if part)


def test_c_first_fits_at_once() -> None:
    first, last = compiled("c-first"), compiled("accelerators-first")
    assert first.attempts == ()
    assert {attempt.kind for attempt in last.attempts} == {"re-tile"}
    assert seconds(first) <= seconds(last)


def test_the_page_shows_both(told: str) -> None:
    assert told in PAGE.read_text()
