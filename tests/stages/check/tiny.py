"""A chip and plans small enough to plant one fault at a time: what the checker says of buffers and steps."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import frozen

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.model import State
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, StateBuffers, Step, StepOrder, Wait
from target_arch.soc.model import CopyPath, DLDevice, Dma, LoadProcess, Memory, SoC, TargetArch
from target_arch.soc.words import OperandRule
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import EqualBytes
from target_arch.stages.errors import CheckError


def _core(name: str, number: int, **facts: object) -> TargetArch:
    device = DLDevice(type="kDLExtDev", id=number)
    return TargetArch(name=name, backend="c", device=device, **facts)  # type: ignore[arg-type]


FIRMWARE = LoadProcess(process="firmware", image="core.elf")
CHIP = SoC(
    name="tiny",
    memories=(
        Memory(name="rom", size=256, base=0, writable=False),
        Memory(name="ram", size=256, base=0x1000, observers={"npu": 0, "core": 0}),
        Memory(name="tcm_0", size=128, observers={"core": 0}, replica_of="tcm"),
        Memory(name="tcm_1", size=128, observers={"core": 0}, replica_of="tcm"),
        Memory(name="out", size=128, observers={"npu": 0}),
        Memory(name="sums", size=64, observers={"npu": 0}),
        Memory(name="flash", size=128, observers={"npu": 0}, writable=False),
    ),
    dmas=(Dma(name="dma", channels=2), Dma(name="bus", channels=1)),
    copies=(
        CopyPath(source="rom", target="ram"),
        CopyPath(source="ram", target="ram", dimensions=2),
        CopyPath(source="ram", target="ram", engine="bus", dimensions=2),
        CopyPath(source="ram", target="tcm_0", engine="dma", alignment=8, max_bytes=64, dimensions=2),
        CopyPath(source="tcm_0", target="ram", engine="dma", cache="invalidate destination"),
    ),
    archs=(
        TargetArch(
            name="host", backend="c", device=DLDevice(type="kDLCPU", id=0), host=True, memory=("ram",)
        ),
        _core("core", 1, instances=2, memory=("tcm",), load=FIRMWARE),
        _core(
            "npu",
            9,
            memory=("out", "flash"),
            buffers={"acc": "sums"},
            operands=OperandRule.OUTPUTS,
            load=LoadProcess(process="command_stream"),
        ),
    ),
    modes=(),
    partitioning=("npu", "core", "host"),
)

LOADS: tuple[Step, ...] = (
    Load(instance="core[0]", process="firmware", image="core.elf"),
    Load(instance="npu", process="command_stream"),
)


@frozen
class Held:
    """A buffer with its offset."""

    buffer: Buffer
    offset: int | None


def held(name: str, at: int | None = 0, size: int = 8, **facts: object) -> Held:
    """A buffer of `ram` that may live as long as it likes."""
    given = {"kind": "activation", "memory": "ram", "alignment": 1, "first": 0, "last": 99, **facts}
    return Held(Buffer(name=name, bytes=size, **given), at)  # type: ignore[arg-type]


def given(name: str, at: int | None = 0, size: int = 8, **facts: object) -> Held:
    """An input of the model."""
    return held(name, at, size, **{"kind": "input", **facts})


def part(of: str, offset: int = 0, size: int = 8, rows: int = 1, stride: int = 0) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=size, rows=rows, stride=stride)


def event(text: str) -> Event:
    """An event from its printed form."""
    timeline, _, value = text.rpartition("#")
    return Event(timeline=timeline, value=int(value))


def copy(source: Slice | str, target: Slice | str, by: str = "cpu", **facts: object) -> Copy:
    """A copy of 8 bytes unless slices say otherwise; `by` is the host, or the event of an engine."""
    ends = {"source": source, "target": target}
    slices = {name: part(end) if isinstance(end, str) else end for name, end in ends.items()}
    if by != "cpu":
        facts = {"engine": by.partition(".")[0], "event": event(by), **facts}
    return Copy(**{"engine": "cpu", **slices, **facts})  # type: ignore[arg-type]


def fill(source: Slice | str, target: Slice | str, by: str = "cpu", **facts: object) -> Fill:
    """A copy as `copy` makes it, at `init`."""
    return Fill(copy=copy(source, target, by, **facts))


def wait(text: str) -> Wait:
    return Wait(event=event(text))


def call(*operands: Operand, on: str = "host", operator: str = "op", **facts: object) -> Dispatch:
    """A call on the host, or on the instance of the event that `on` names: `npu#1`."""
    if "#" in on:
        facts = {"event": event(on), **facts}
    instance = on.partition("#")[0]
    facts = {"partition": "p", "function": "f", "instance": instance, **facts}
    return Dispatch(operator=operator, operands=operands, **facts)  # type: ignore[arg-type]


def reads(of: str, **facts: object) -> Operand:
    return Operand(of=of, access="r", **facts)  # type: ignore[arg-type]


def writes(of: str, **facts: object) -> Operand:
    return Operand(of=of, access="w", **facts)  # type: ignore[arg-type]


def found(
    buffers: Sequence[Held],
    *steps: Step,
    outputs: Sequence[str] = (),
    in_place: Sequence[tuple[str, str]] = (),
    sizes: Mapping[str, int] | None = None,
    parts: Sequence[EqualBytes] = (),
    soc: SoC = CHIP,
    states: Sequence[State] = (),
    state_buffers: Sequence[StateBuffers] = (),
) -> list[str]:
    """Place and rule of every fault, in the order in which they are reported. Buffers of the kind `input` are
    the inputs of the model.
    """
    all_buffers = tuple(each.buffer for each in buffers)
    order = StepOrder(
        steps=steps,
        buffers=all_buffers,
        inputs=tuple((each.name, each.name) for each in all_buffers if each.kind == "input"),
        outputs=tuple((name, name) for name in outputs),
        states=tuple(state_buffers),
    )
    offsets = {each.buffer.name: each.offset for each in buffers if each.offset is not None}
    plan = MemoryPlan(buffers=all_buffers, offsets=offsets, in_place=tuple(in_place))
    return found_in(order, plan, sizes, parts, soc, states)


def found_in(
    order: StepOrder,
    plan: MemoryPlan,
    sizes: Mapping[str, int] | None = None,
    parts: Sequence[EqualBytes] = (),
    soc: SoC = CHIP,
    states: Sequence[State] = (),
) -> list[str]:
    """The same, of an order and a plan."""
    try:
        check(soc, order, plan, sizes or {}, parts, states)
    except CheckError as error:
        if not error.diagnostics:
            raise
        return [f"{fault.place.partition(' (')[0]}: {fault.rule}" for fault in error.diagnostics]
    return []


Case = Callable[[], list[str]]
"""The question what is wrong with a plan; asked when its test runs."""


def case(buffers: Sequence[Held], *steps: Step, **facts: object) -> Case:
    """The faults of a plan that a row of a table describes, without the word for steps and plan."""
    return partial(_short, buffers, *steps, **facts)


def _short(buffers: Sequence[Held], *steps: Step, **facts: object) -> list[str]:
    texts = found(buffers, *steps, **facts)  # type: ignore[arg-type]
    return [text.removeprefix("step ").removeprefix("memory plan: ") for text in texts]
