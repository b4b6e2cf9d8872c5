"""Tasks that stay together."""

from target_arch.plan.kernels import Access, Operand
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.steps import Dispatch, Event, StepOrder
from target_arch.stages.frames.blocks import blocks_of
from target_arch.stages.frames.problem import FrameProblem


def _tiles(name: str) -> Buffer:
    return Buffer(name=name, kind=BufferKind.LOCAL, memory="sram", bytes=8, alignment=1, first=0, last=4)


def _call(tiles: str, value: int) -> Dispatch:
    return Dispatch(
        partition=tiles,
        operator=tiles,
        instance="npu",
        function="f",
        operands=(Operand(of=tiles, access=Access.READ_WRITE),),
        event=Event(timeline="npu", value=value),
    )


def test_kernels_that_need_each_other_are_one_block() -> None:
    """Two whose calls take turns, behind a third one that does not need them."""
    steps = tuple(_call(name, value) for value, name in enumerate(("first", "a", "b", "a", "b"), 1))
    buffers = tuple(_tiles(name) for name in ("first", "a", "b"))
    problem = FrameProblem(
        run=StepOrder(steps=steps, buffers=buffers, inputs=(), outputs=()),
        steps=steps,
        takes=(1,) * 5,
        where=("npu",) * 5,
        before=[(), (0,), (1,), (2,), (3,)],
        carried=(),
        widths={},
    )
    assert [block.tasks for block in blocks_of(problem)] == [(0,), (1, 2, 3, 4)]
