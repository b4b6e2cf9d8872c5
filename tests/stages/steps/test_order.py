"""Residence, inserted copies, waits and lifetimes on small kernels, as texts."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Arena, CallSpan
from target_arch.plan.model import Model
from target_arch.plan.printed import text
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.soc.model import MemoryMode, SoC
from target_arch.stages.errors import StepError
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import fit_memory
from target_arch.stages.steps.order import order_steps
from tests.stages import chips


def work(model: Model, soc: SoC = chips.EDGE, **require: str) -> PartialLowering:
    """A model with C kernels, and without any kernel for accelerators."""
    graph = place(model, chips.setting(soc), chips.BACKENDS, Rules(require=require))
    names = chips.codegens(soc)
    kernels = {p.id: chips.c_kernel(p) for p in graph.partitions if names[p.instance] == "c"}
    return PartialLowering(setting=chips.setting(soc), graph=graph, kernels=kernels)


def steps(given: PartialLowering, drained: tuple[str, ...] = ()) -> StepOrder:
    return order_steps(given, choose_homes(given, drained))


def lives(order: StepOrder) -> dict[str, str]:
    return {buffer.name: f"{buffer.kind} {buffer.first}..{buffer.last}" for buffer in order.buffers}


def refusal(given: PartialLowering) -> str:
    with pytest.raises(StepError) as caught:
        steps(given)
    return str(caught.value)


HOST = chips.model(("a", "other", ("x",), 64), ("b", "add", ("a", "x"), 32), inputs={"x": 64})
DSP = chips.model(
    ("a", "soft", ("x",), 64), ("b", "add", ("a", "x"), 64), ("c", "other", ("b", "x"), 32), inputs={"x": 64}
)


def test_the_host_works_in_place_and_waits_for_nothing() -> None:
    order = steps(work(HOST, chips.ALONE))
    assert text.step_list(order) == (
        "steps: 2\n"
        "step  kind      where  what                                    event\n"
        "   0  dispatch  host   a: f_other(r x@sram, w a@sram)\n"
        "   1  dispatch  host   b: f_add(r a@sram, r x@sram, w b@sram)\n"
        "input x in x@sram\n"
        "output b in b@sram\n"
    )
    assert lives(order) == {"x@sram": "input 0..1", "a@sram": "activation 0..1", "b@sram": "output 1..1"}


def test_tensors_are_copied_once_and_waited_for_late() -> None:
    order = steps(work(DSP, a="dsp", b="dsp", c="host"))
    assert text.step_list(order) == (
        "steps: 9\n"
        "step  kind      where  what                                      event\n"
        "   0  load      dsp    firmware dsp.elf\n"
        "   1  copy      dma    x@sram[0:+64] -> x@tcm[0:+64]             dma.0#1\n"
        "   2  wait      dma.0                                            dma.0#1\n"
        "   3  dispatch  dsp    a: f_soft(r x@tcm, w a@tcm)               dsp#1\n"
        "   4  dispatch  dsp    b: f_add(r a@tcm, r x@tcm, w b@tcm)       dsp#2\n"
        "   5  wait      dsp                                              dsp#2\n"
        "   6  copy      dma    b@tcm[0:+64] -> b@sram[0:+64]             dma.1#1\n"
        "   7  wait      dma.1                                            dma.1#1\n"
        "   8  dispatch  host   c: f_other(r b@sram, r x@sram, w c@sram)\n"
        "input x in x@sram\n"
        "output c in c@sram\n"
    )
    assert lives(order) == {
        "x@sram": "input 0..8",
        "x@tcm": "activation 1..5",
        "a@tcm": "activation 3..5",
        "b@tcm": "activation 4..7",
        "b@sram": "activation 6..8",
        "c@sram": "output 8..8",
    }


def test_scarce_memory_is_drained_before_a_new_buffer_begins() -> None:
    rows = [(f"n{n}", "soft", (f"n{n - 1}" if n else "x",), 64) for n in range(3)]
    given = work(chips.model(*rows, inputs={"x": 64}), soft="dsp")
    late, early = steps(given), steps(given, ("tcm",))
    assert lives(late)["n0@tcm"] == "activation 3..6"
    assert lives(early)["n0@tcm"] == "activation 3..6"
    assert lives(early)["x@tcm"] == "activation 1..4"
    assert lives(late)["x@tcm"] == "activation 1..6"


def test_calls_of_one_timeline_have_in_turn_what_no_copy_touches() -> None:
    rows = [(f"n{n}", "soft", (f"n{n - 1}" if n else "x",), 64) for n in range(4)]
    order = steps(work(chips.model(*rows, inputs={"x": 64}), soft="dsp"))
    calls = {each.name: each.calls for each in order.buffers if each.calls}
    assert calls == {
        "n0@tcm": CallSpan(timeline="dsp", first=3, last=4),
        "n1@tcm": CallSpan(timeline="dsp", first=4, last=5),
    }
    assert lives(order)["n0@tcm"] == "activation 3..7"
    assert lives(order)["n2@tcm"] == "activation 5..7"


def test_an_output_made_elsewhere_is_copied_to_the_io_memory() -> None:
    order = steps(work(chips.model(("a", "soft", ("x",), 64), inputs={"x": 64}), a="dsp"))
    assert order.outputs == (("a", "a@sram"),)
    assert lives(order)["a@sram"] == "output 5..6"


def test_an_input_that_is_an_output_stays_where_it_is() -> None:
    model = evolve(HOST, outputs=("b", "x"))
    order = steps(work(model, chips.ALONE))
    assert order.outputs == (("b", "b@sram"), ("x", "x@sram"))
    assert lives(order)["x@sram"] == "input 0..1"


def test_a_stand_in_keeps_the_tensors_of_a_partition_live() -> None:
    order = steps(work(chips.RESIDUAL, d="host", e="host"))
    stand_ins = [step for step in order.steps if isinstance(step, Dispatch) and not step.function]
    assert [step.operator for step in stand_ins] == ["a", "b", "c"]
    assert [f"{o.access} {o.of}" for o in stand_ins[0].operands] == ["r x@sram", "r a.w@ddr", "w a@sram"]


def test_homes_save_copies_before_they_follow_the_preference() -> None:
    """The engine is fed from ddr alone, so the host leaves there what the engine reads, though it prefers
    sram.
    """
    paths = tuple(p for p in chips.COPIES if (p.source, p.target) != ("sram", "bram"))
    soc = evolve(chips.EDGE, copies=paths)
    model = chips.model(("a", "other", ("x",), 64), ("b", "conv", ("a",), 64), inputs={"x": 64})
    residence = choose_homes(work(model, soc, b="conv"))
    assert residence.homes == {"x": "sram", "a": "ddr", "b": "sram"}
    assert residence.others["x"] == ()


def test_a_tensor_spills_to_the_next_memory() -> None:
    model = chips.model(
        ("a", "other", ("x",), 40_000),
        ("b", "other", ("a",), 40_000),
        ("c", "other", ("b",), 64),
        inputs={"x": 64},
    )
    settled = fit_memory(work(model, chips.ALONE))
    assert settled.homes.homes == {"x": "sram", "a": "ddr", "b": "sram", "c": "sram"}
    assert settled.plan.peaks == {Arena("ddr"): 40_000, Arena("sram"): 40_064}


def test_buffers_in_a_cached_memory_with_duties_do_not_share_a_line() -> None:
    mode = MemoryMode(name="default", workspace=("ddr",), constants=("ddr",), io=("ddr",))
    soc = evolve(chips.EDGE, modes=(mode,))
    order = steps(work(chips.model(("a", "other", ("x",), 64), inputs={"x": 64}), soc))
    assert {buffer.alignment for buffer in order.buffers} == {64}


def tile(source: Slice, target: Slice) -> Kernel:
    """A kernel of the first operator that moves in and calls, for what is wrong with it."""
    return Kernel(
        partition="p0",
        instance="conv",
        buffers=(
            LocalBuffer(name="in", bytes=64, memory="bram"),
            LocalBuffer(name="out", bytes=64, memory="bram"),
        ),
        actions=(
            Move(source=source, target=target),
            Call(function="c", operands=(Operand(of="in", access="r"), Operand(of="out", access="w"))),
            Move(
                source=Slice(of="out", offset=0, row_bytes=64), target=Slice(of="a", offset=0, row_bytes=64)
            ),
        ),
    )


def part(of: str, offset: int, row_bytes: int) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=row_bytes)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (
            part("x", 0, 80),
            part("in", 0, 80),
            "`x@sram[0:+80]` ends outside `x@sram`, which has 64 B [wrong-kernel]",
        ),
        (
            part("x", 0, 32),
            part("in", 0, 16),
            "a move of 32 B, `x@sram[0:+32]`, to 16 B, `p0.in[0:+16]` [wrong-kernel]",
        ),
        (
            part("x", 2, 8),
            part("in", 0, 8),
            "the copy path from `sram` to `bram` needs addresses and strides in multiples of 4 B, "
            "not `x@sram[2:+8]` to `p0.in[0:+8]` [unaligned-move]",
        ),
        (
            part("z", 0, 8),
            part("in", 0, 8),
            "`z` is neither a tensor nor a local buffer of the kernel [wrong-kernel]",
        ),
        (part("a", 0, 8), part("in", 0, 8), "tensor `a` is read before anything wrote it [wrong-kernel]"),
        (part("x", 0, 8), part("a", 0, 8), "a move from `x` to `a` names no local buffer [wrong-kernel]"),
        (
            part("in", 0, 8),
            part("x.w", 0, 8),
            "`x.w` cannot be written: it is no result of the model [wrong-kernel]",
        ),
    ],
)
def test_a_wrong_kernel_is_refused(source: Slice, target: Slice, message: str) -> None:
    given = work(chips.model(("a", "conv", ("x",), 64), inputs={"x": 64}), a="conv")
    given = evolve(given, kernels={"p0": tile(source, target)})
    assert refusal(given) == f"partition p0 on conv: error: {message}"


def test_copies_go_where_they_wait_least() -> None:
    order = steps(work(chips.model(("a", "add", ("x", "y"), 64), inputs={"x": 64, "y": 64}), a="dsp"))
    copies = [str(step.event) for step in order.steps if isinstance(step, Copy)]
    assert copies == ["dma.0#1", "dma.1#1", "dma.0#2"]
