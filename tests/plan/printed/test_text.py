"""The printed form of the values between stages, whole texts."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.lowered import Attempt
from target_arch.plan.memory import Arena, Budget, Buffer, MemoryPlan, PoolBudget
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.orders import LoweringOrder, LoweringSlot
from target_arch.plan.partitions import Candidate, Choice, Cost, Partition, PartitionGraph
from target_arch.plan.printed import text
from target_arch.plan.steps import Copy, Dispatch, Event, Load, StepOrder, Wait

CONV = Operator(id="conv_0", kind="conv2d", arithmetic="tflite", inputs=("x",), constants=(), output="a")
RELU = Operator(id="relu_1", kind="relu", arithmetic="tflite", inputs=("a",), constants=(), output="b")
MODEL = Model(
    name="m",
    source="m.tflite",
    inputs=("x",),
    outputs=("b",),
    tensors={name: Tensor(name=name, shape=(4,), dtype="int8") for name in "xab"},
    operators=(CONV, RELU),
)
ON_NPU = Choice(
    operator="conv_0",
    instance="npu",
    reason="cheapest: 12.5 us vs 1.2 ms on `host`",
    candidates=(
        Candidate(instance="host", cost=Cost(compute=1.2e-3)),
        Candidate(instance="dsp", refusal="its operands need 300,000 B, `tcm` has 32,768 B"),
        Candidate(instance="npu", cost=Cost(compute=10e-6, copy=2.5e-6)),
    ),
)
ON_HOST = Choice(operator="relu_1", instance="host", reason="only `host` can take it", candidates=())
GRAPH = PartitionGraph(
    model=MODEL,
    partitions=(
        Partition(id="p0", instance="npu", operators=(CONV,), reason=ON_NPU.reason),
        Partition(id="p1", instance="host", operators=(RELU,), reason=ON_HOST.reason),
    ),
    choices=(ON_NPU, ON_HOST),
)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0 ns"),
        (2.5e-9, "2.5 ns"),
        (340e-6, "340 us"),
        (1.25e-3, "1.25 ms"),
        (0.9996e-3, "1 ms"),
        (12.0, "12 s"),
        (1234.0, "1234 s"),
    ],
)
def test_duration(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


def test_partition_table() -> None:
    assert text.partition_table(GRAPH) == (
        "partitions: 2\n"
        "id  operator  kind    instance  why there\n"
        "p0  conv_0    conv2d  npu       cheapest: 12.5 us vs 1.2 ms on `host`\n"
        "p1  relu_1    relu    host      only `host` can take it\n"
    )


def test_explanation() -> None:
    assert text.explanation(GRAPH, "conv_0") == (
        "operator conv_0: on npu; cheapest: 12.5 us vs 1.2 ms on `host`\n"
        "   instance  compute  copies    total  refused because\n"
        "   host       1.2 ms    0 ns   1.2 ms\n"
        "   dsp                                 its operands need 300,000 B, `tcm` has 32,768 B\n"
        "*  npu         10 us  2.5 us  12.5 us\n"
        "parts\n"
        "  host: compute 1.2 ms\n"
        "  npu: compute 10 us\n"
        "what would change it\n"
        "  `host`: if its compute fell from 1.2 ms to below 12.5 us\n"
    )


def test_lowering_order() -> None:
    slots = (
        LoweringSlot(partition="p1", phase="codegen", reason="C first"),
        LoweringSlot(partition="p0", phase="codegen", reason="then the rest"),
    )
    assert text.lowering_order(LoweringOrder(policy="c-first", slots=slots)) == (
        "lowering order: c-first\n"
        "slot  id  phase    reason\n"
        "   1  p1  codegen  C first\n"
        "   2  p0  codegen  then the rest\n"
    )


def test_budgets() -> None:
    pools = (
        PoolBudget(memory="inp", live=0, remaining=8192, guaranteed=8192, used=512),
        PoolBudget(memory="out", live=96, remaining=8096, guaranteed=4096),
    )
    assert text.budgets([Budget(partition="p0", sites={"conv_0": pools})]) == (
        "budgets in bytes\n"
        "id  call site  pool  capacity  live  remaining  guaranteed    gap  used\n"
        "p0  conv_0     inp      8,192     0      8,192       8,192      0   512\n"
        "p0  conv_0     out      8,192    96      8,096       4,096  4,000\n"
    )


def test_memory_plan() -> None:
    buffers = (
        Buffer(name="a@sram", kind="activation", memory="sram", bytes=4000, alignment=16, first=1, last=3),
        Buffer(name="x@sram", kind="input", memory="sram", bytes=1000, alignment=16, first=0, last=1),
    )
    plan = MemoryPlan(
        buffers=buffers,
        offsets={"a@sram": 0, "x@sram": 4000},
        peaks={Arena("sram"): 5000},
        bounds={Arena("sram"): 4900},
    )
    assert text.memory_plan(plan, {Arena("sram"): 65536}) == (
        "memory plan in bytes\n"
        "arena  capacity   peak  bound  in place  gap\n"
        "sram     65,536  5,000  4,900     4,900  100\n"
        "\n"
        "sram\n"
        "offset  bytes  steps  kind        buffer\n"
        "     0  4,000  1..3   activation  a@sram\n"
        "  4000  1,000  0..1   input       x@sram\n"
    )


def test_a_buffer_in_the_place_of_another() -> None:
    one = Buffer(name="x@m", kind="input", memory="m", bytes=64, alignment=16, first=0, last=1)
    other = evolve(one, name="y@m", kind="output", first=1, last=2, over=("x@m",))
    plan = MemoryPlan(
        buffers=(one, other),
        offsets={"x@m": 0, "y@m": 0},
        peaks={Arena("m"): 64},
        bounds={Arena("m"): 128},
        shared={Arena("m"): 64},
        in_place=(("y@m", "x@m"),),
    )
    assert text.memory_plan(plan) == (
        "memory plan in bytes\n"
        "arena  capacity  peak  bound  in place  gap\n"
        "m                  64    128        64    0\n"
        "\n"
        "m\n"
        "offset  bytes  steps  kind    buffer\n"
        "     0     64  0..1   input   x@m\n"
        "     0     64  1..2   output  y@m over x@m\n"
    )


def test_step_list() -> None:
    first, second = Event(timeline="dma.0", value=1), Event(timeline="npu", value=1)
    steps = (
        Load(instance="npu", process="bitstream", image="npu.bit"),
        Copy(
            source=Slice(of="x@sram", offset=0, row_bytes=32, rows=4, stride=64),
            target=Slice(of="p0.inp", offset=0, row_bytes=32, rows=4, stride=32),
            engine="dma",
            cache="clean source",
            event=first,
        ),
        Wait(event=first),
        Dispatch(
            partition="p0",
            operator="conv_0",
            instance="npu",
            function="conv2d",
            operands=(Operand(of="p0.inp", access="r"), Operand(of="p0.out", access="w", offset=8)),
            event=second,
        ),
        Wait(event=second),
    )
    order = StepOrder(steps=steps, buffers=(), inputs=(("x", "x@sram"),), outputs=(("b", "b@sram"),))
    assert text.step_list(order) == (
        "steps: 5\n"
        "step  kind      where  what                                                     event\n"
        "   0  load      npu    bitstream npu.bit\n"
        "   1  copy      dma    x@sram[0:+4x32/64] -> p0.inp[0:+4x32/32] (clean source)  dma.0#1\n"
        "   2  wait      dma.0                                                           dma.0#1\n"
        "   3  dispatch  npu    conv_0: conv2d(r p0.inp, w p0.out+8)                     npu#1\n"
        "   4  wait      npu                                                             npu#1\n"
        "input x in x@sram\n"
        "output b in b@sram\n"
    )


def test_attempts() -> None:
    made = Attempt(kind="split", operator="a", instance="npu", reason="too large", outcome="before `b`")
    assert text.attempts((made,)) == (
        "attempts: 1\n"
        "tried  operator  instance  outcome     as it did not fit\n"
        "split  a         npu       before `b`  too large\n"
    )
    assert text.attempts(()) == ""
