"""The simulated run of emitted steps is that of one host thread, which takes them one after the other."""

from typing import cast

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.replay import replay
from target_arch.stages.steps.simulation.times import Times

MICRO = PICO // 10**6


class ConstantUse:
    """A dispatch takes 10 us, a copy 4 us."""

    def run(self, partition: str, operator: str) -> int:
        return 10 * MICRO

    def copy(self, source: str, target: str, engine: str, bytes: int) -> int:
        return 4 * MICRO


def on(instance: str, value: int = 0) -> Dispatch:
    event = Event(timeline=instance, value=value) if value else None
    return Dispatch(
        partition="p", operator=instance, instance=instance, function="f", operands=(), event=event
    )


def copy(value: int) -> Copy:
    part = Slice(of="x", offset=0, row_bytes=4)
    return Copy(source=part, target=part, engine="dma", event=Event(timeline="dma.0", value=value))


def times(*steps: Step) -> list[tuple[str, int, int]]:
    """Who is busy from when to when, in microseconds."""
    row = Buffer(name="x", kind="activation", memory="ram", bytes=4, alignment=4, first=0, last=0)
    order = StepOrder(steps=steps, buffers=(row,), inputs=(), outputs=())
    found = replay(order, cast(Times, ConstantUse()), "host")
    return [(span.where, round(span.start * 1e6), round(span.end * 1e6)) for span in found.spans]


def test_what_stands_after_the_hosts_own_work_begins_after_it() -> None:
    """The device is idle and its data is there: nobody starts it while the host computes."""
    assert times(on("host"), on("npu", 1), copy(1)) == [("host", 0, 10), ("dma.0", 10, 14), ("npu", 10, 20)]


def test_what_stands_before_it_runs_beside_it() -> None:
    assert times(on("npu", 1), copy(1), on("host")) == [("dma.0", 0, 4), ("host", 0, 10), ("npu", 0, 10)]


def test_a_wait_stops_the_host_and_all_it_would_start() -> None:
    waited = (on("npu", 1), Wait(event=Event(timeline="npu", value=1)), copy(1), copy(2), on("host"))
    assert times(*waited) == [("npu", 0, 10), ("dma.0", 10, 14), ("host", 10, 20), ("dma.0", 14, 18)]
