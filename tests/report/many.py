"""A report of a model that nobody compiled: as many operators as wanted, of all kinds of branches."""

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.manifest.model import SlotEntry, StepEntry, StepKind, TensorEntry
from target_arch.plan.manifest.operators import PartitionEntry
from target_arch.report.facts.shown import (
    ShownBudget,
    ShownBuffer,
    ShownBundle,
    ShownModel,
    ShownOperator,
    ShownPlace,
    ShownPool,
    ShownRun,
)
from target_arch.soc import read_soc

PLACES = ("host_cpu", "dsp_cpu", "fpga_conv2d", "accelerator")


def shown(count: int) -> ShownBundle:
    """A model of `count` operators on the SoC `zynq_edge`, each in a partition of its own."""
    model = ShownModel(
        name="many",
        verdict="",
        left_out="",
        inputs=(TensorEntry(name="x", shape=(1, 8), dtype="int8", bytes=8, buffer="b"),),
        outputs=(TensorEntry(name="y", shape=(1, 8), dtype="int8", bytes=8, buffer="b"),),
        states=(),
        operators=tuple(map(_operator, range(count))),
        partitions=tuple(_partition(number) for number in range(count)),
        method="search",
        run=_run(count),
        steps=tuple(_step(number) for number in range(2 * count)),
        pools=(_pool(count),),
        budgets=tuple(_budget(number) for number in range(min(count, 40))),
        policy="c-first",
        lowering=tuple(
            SlotEntry(partition=f"p{number}", phase="codegen", reason="r") for number in range(count)
        ),
        attempts=(),
        verification=None,
    )
    return ShownBundle(
        name="many",
        soc=read_soc("zynq_edge"),
        mode="default",
        port="host",
        machine=None,
        abi_hash="0x0",
        models=(model,),
        pools={},
        images=(),
    )


def _place(number: int) -> str:
    return PLACES[number % len(PLACES)]


def _operator(number: int) -> ShownOperator:
    before = ["x"] if number == 0 else [f"conv2d_{number - 1}"]
    before += [f"conv2d_{number - 5}"] if number % 7 == 0 and number > 5 else []
    places = [
        ShownPlace(
            instance=name,
            compute=None if name == "dsp_cpu" else 1e-6,
            copies=(("copy of `x`", 1e-6),),
            measured=False,
            refusal="it has `no` multiplier" if name == "dsp_cpu" else None,
            change="if it were cheaper",
        )
        for name in PLACES
    ]
    return ShownOperator(
        id=f"conv2d_{number}",
        kind="conv2d",
        location=f"layer/{number}",
        before=tuple(before),
        output=f"t{number}",
        shape=(1, 8, 8, 16),
        dtype="int8",
        macs=1000,
        constant_bytes=64,
        partition=f"p{number}",
        instance=_place(number),
        reason="cheapest: 1 us vs 2 us on `host_cpu`",
        places=tuple(places),
    )


def _partition(number: int) -> PartitionEntry:
    return PartitionEntry(
        id=f"p{number}",
        target_arch=_place(number),
        instance=_place(number),
        operators=(f"conv2d_{number}",),
        reason="cheapest",
        notes=(),
    )


def _step(number: int) -> StepEntry:
    wait = number % 2
    kind, where = (StepKind.WAIT, "") if wait else (StepKind.DISPATCH, _place(number // 2))
    event = f"{_place(number // 2)}#{number // 2 // len(PLACES) + 1}"
    return StepEntry(number=number, kind=kind, what=f"{kind} {where}", event=event)


def _run(count: int) -> ShownRun:
    def span(kind: ActivityKind, number: int, step: int, what: str, where: str) -> Activity:
        return Activity(
            step=step, kind=kind, what=what, where=where, start=number * 1e-6, end=number * 1e-6 + 9e-7
        )

    spans = [span(ActivityKind.RUN, n, 2 * n, f"conv2d_{n}", _place(n)) for n in range(count)]
    waits = [
        span(ActivityKind.WAIT, n, 2 * n + 1, str(_step(2 * n).event), "host_cpu")
        for n in range(count)
        if n % len(PLACES)
    ]
    return ShownRun(
        makespan=count * 1e-6,
        bound=count * 0.9e-6,
        division_bound=count * 0.3e-6,
        busy=1.0,
        instances=4,
        alone=count * 1e-6,
        overlap="all",
        spans=tuple(spans),
        waits=tuple(waits),
    )


def _pool(count: int) -> ShownPool:
    buffers = [
        ShownBuffer(
            name=f"t{n}@sram", kind="activation", offset=1024 * (n % 3), bytes=1024, first=2 * n,
            last=2 * n + 4, over=None, holds=(),
        )
        for n in range(count)
    ]  # fmt: skip
    return ShownPool(
        name="sram", memory="sram", capacity=524_288, peak=3072, bound=3072, in_place_bound=3072,
        buffers=tuple(buffers),
    )  # fmt: skip


def _budget(number: int) -> ShownBudget:
    return ShownBudget(
        partition=f"p{number}", pool="npu_inp", sites=(f"conv2d_{number}",), live=100 * number,
        remaining=32768 - 100 * number, guaranteed=30_000 - 100 * number, gap=2768, used=4096,
    )  # fmt: skip
