"""Faults planted in the calls of regions: other tensors, too little scratch, a wrong place for the output."""

from collections.abc import Callable

import pytest
from attrs import evolve

from target_arch.backends.plain_c.regions.linewise import FusedOperators
from target_arch.backends.plain_c.regions.schedule import in_place, in_turns
from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisCut
from target_arch.plan.regions.lines import LineWindow, Pass, Producer, RegionPlan, TensorLines
from target_arch.stages.errors import CheckError
from target_arch.stages.regions.replay import check_stripes
from tests.stages import chips

MODEL = chips.model(
    ("a", "other", ("x",), 72), ("b", "other", ("a",), 72), ("c", "other", ("y",), 60),
    inputs={"x": 72, "y": 60},
)  # fmt: skip
GRAPH = chips.placed(MODEL, chips.ALONE)
(PARTITION,) = GRAPH.partitions


def rows() -> Pass:
    """Two operators in stripes of a row, the output in the place of the input."""
    given = TensorLines(name="x", lines=12, line_bytes=6)
    first = FusedOperators(
        operators=("a",),
        reads=(LineWindow(tensor=given, along=Window.same(12, 3)),),
        image=TensorLines(name="a", lines=12, line_bytes=6),
    )
    last = FusedOperators(
        operators=("b",),
        reads=(LineWindow.equal(first.image),),
        image=TensorLines(name="b", lines=12, line_bytes=6),
    )
    plain = in_turns([first, last], 1)
    assert plain is not None
    placed = in_place(plain, given)
    assert placed is not None
    return placed


def planned(axis: Axis, one: Pass) -> RegionPlan:
    cut = AxisCut(axis=axis, size=one.producers[0].each, of=one.producers[0].image.lines)
    return RegionPlan(cuts=(cut,), passes=(one,))


PASS = rows()
ROWS = planned(Axis.ROWS, PASS)
X = TensorLines(name="x", lines=6, line_bytes=12)
COPY = TensorLines(name="x.copied", lines=6, line_bytes=12)
CHANNELS = planned(
    Axis.CHANNELS,
    Pass(
        given=(X,),
        producers=(
            Producer(operators=(), reads=(LineWindow.equal(X),), image=COPY, each=2, held=2),
            Producer(
                operators=("b",),
                reads=(LineWindow.equal(COPY),),
                image=TensorLines(name="b", lines=6, line_bytes=12),
                each=2,
            ),
        ),
        over=X,
        scratch=24,
    ),
)


def kernel(plan: RegionPlan, **facts: object) -> Kernel:
    """One call of a region, with facts of it changed."""
    values = {"reads": "x", "over": ("x",), "scratch": plan.scratch, "writes": "b", "function": "f", **facts}
    call = Call(
        function=str(values["function"]),
        operands=(
            Operand(of=str(values["reads"]), access="r"),
            Operand(of="weights", access="r"),
            Operand(of=str(values["writes"]), access="w", over=values["over"]),  # type: ignore[arg-type]
            Operand(of="lines", access="w"),
        ),
        operator="b",
    )
    lines = LocalBuffer(name="lines", bytes=values["scratch"], memory="sram")  # type: ignore[arg-type]
    return Kernel(
        partition=PARTITION.id, instance="host", buffers=(lines,), actions=(call,), stripes={"f": plan}
    )


def reordered(made: Kernel) -> Kernel:
    """The kernel whose call has what it writes first, the scratch before the output."""
    (call,) = made.actions
    assert isinstance(call, Call)
    return evolve(made, actions=(evolve(call, operands=(*call.operands[:1:-1], *call.operands[:2])),))


def moving(made: Kernel) -> Kernel:
    """The kernel with a move before its call."""
    one = Slice(of="x", offset=0, row_bytes=4)
    return evolve(made, actions=(Move(source=one, target=one), *made.actions))


def said(made: Kernel) -> str:
    try:
        check_stripes(GRAPH, {PARTITION.id: made})
    except CheckError as error:
        (fault,) = error.diagnostics
        assert (fault.rule, fault.place) == ("wrong-stripe", f"function f of partition {PARTITION.id}")
        return fault.message
    return ""


CASES: dict[str, tuple[Callable[[], Kernel], str]] = {
    "as the rows need it": (lambda: kernel(ROWS), ""),
    "by channels": (lambda: kernel(CHANNELS), ""),
    "an output with a place of its own": (lambda: kernel(ROWS, over=()), ""),
    "a byte too little scratch": (
        lambda: kernel(ROWS, scratch=ROWS.scratch - 1),
        f"its call for `b` has {ROWS.scratch - 1} B of scratch, it needs {ROWS.scratch} B",
    ),
    "a channel too little scratch": (
        lambda: kernel(CHANNELS, scratch=12),
        "its call for `b` has 12 B of scratch, it needs 24 B",
    ),
    "another input": (
        lambda: kernel(ROWS, reads="y", over=()),
        "its call for `b` has tensors of [60, 72] B, its lines [72, 72] B",
    ),
    "another input, and too little scratch": (
        lambda: kernel(ROWS, reads="y", over=(), scratch=0),
        "its call for `b` has tensors of [60, 72] B, its lines [72, 72] B",
    ),
    "an input that no model has": (
        lambda: kernel(ROWS, reads="nothing", over=()),
        "its call for `b` has tensors of [72] B, its lines [72, 72] B",
    ),
    "operands in another order": (lambda: reordered(kernel(ROWS)), ""),
    "operands in another order, over the weights": (
        lambda: reordered(kernel(ROWS, over=("weights", "x"))),
        "its call for `b` may write over `weights`, which is still read",
    ),
    "a move beside the call": (lambda: moving(kernel(ROWS)), ""),
    "another output": (
        lambda: kernel(ROWS, writes="c", over=()),
        "its call for `b` has tensors of [72, 60] B, its lines [72, 72] B",
    ),
    "an output over what is read to the end": (
        lambda: kernel(planned(Axis.ROWS, evolve(PASS, over=None, producers=_direct(PASS))), over=("x",)),
        "its call for `b` may write over `x`, which is still read",
    ),
    "an output over the weights": (
        lambda: kernel(ROWS, over=("weights", "x")),
        "its call for `b` may write over `weights`, which is still read",
    ),
    "a function that nothing calls": (lambda: kernel(ROWS, function="g"), "no call runs it"),
}


def _direct(plan: Pass) -> tuple[Producer, ...]:
    """The producers, the last of which writes each row where it stays."""
    return (*plan.producers[:-1], evolve(plan.producers[-1], held=0, offset=0))


@pytest.mark.parametrize("name", CASES)
def test_calls_of_regions(name: str) -> None:
    made, message = CASES[name]
    assert said(made()) == message


def test_what_may_be_overwritten_is_said_in_order() -> None:
    names = ("h", "g", "f", "e", "d", "c", "a")
    with pytest.raises(CheckError) as refusal:
        check_stripes(GRAPH, {PARTITION.id: kernel(ROWS, over=(*names, "x"))})
    assert [fault.message for fault in refusal.value.diagnostics] == [
        f"its call for `b` may write over `{name}`, which is still read" for name in sorted(names)
    ]


def test_partitions_without_a_kernel_have_no_regions() -> None:
    check_stripes(GRAPH, {})
