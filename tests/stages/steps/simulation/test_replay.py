"""The simulated run of emitted steps is that of one host thread, which takes them one after the other."""

from typing import cast

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Buffer
from target_arch.plan.step_ends import step_ends
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.orders import NO_ORDERS, Orders, OrderTime
from target_arch.stages.steps.simulation.replay import Replay, replay
from target_arch.stages.steps.simulation.times import Times

MICRO = PICO // 10**6


class ConstantUse:
    """A dispatch takes 10 us, a copy 4 us; each takes of the host what `orders` say."""

    def __init__(self, orders: Orders = NO_ORDERS) -> None:
        self.orders = orders

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


def simulated(*steps: Step, orders: Orders = NO_ORDERS) -> Replay:
    row = Buffer(name="x", kind="activation", memory="ram", bytes=4, alignment=4, first=0, last=0)
    order = StepOrder(steps=steps, buffers=(row,), inputs=(), outputs=())
    return replay(order, cast(Times, ConstantUse(orders)), "host")


def times(*steps: Step, orders: Orders = NO_ORDERS) -> list[tuple[str, int, int]]:
    """Who is busy from when to when, in microseconds."""
    spans = simulated(*steps, orders=orders).spans
    return [(span.where, round(span.start * 1e6), round(span.end * 1e6)) for span in spans]


def test_what_stands_after_the_hosts_own_work_begins_after_it() -> None:
    """The device is idle and its data is there: nobody starts it while the host computes."""
    assert times(on("host"), on("npu", 1), copy(1)) == [("host", 0, 10), ("dma.0", 10, 14), ("npu", 10, 20)]


def test_what_stands_before_it_runs_beside_it() -> None:
    assert times(on("npu", 1), copy(1), on("host")) == [("dma.0", 0, 4), ("host", 0, 10), ("npu", 0, 10)]


def test_a_wait_stops_the_host_and_all_it_would_start() -> None:
    waited = (on("npu", 1), Wait(event=Event(timeline="npu", value=1)), copy(1), copy(2), on("host"))
    assert times(*waited) == [("npu", 0, 10), ("dma.0", 10, 14), ("host", 10, 20), ("dma.0", 14, 18)]


ORDERS = {"npu": OrderTime(3 * MICRO, 2 * MICRO)}
WAIT = Wait(event=Event(timeline="npu", value=2))


def test_what_is_ordered_begins_when_the_host_has_ordered_it() -> None:
    """The second order is made while the device works on the first; a copy costs the host nothing."""
    assert times(on("npu", 1), copy(1), on("npu", 2), on("host"), orders=ORDERS) == [
        ("dma.0", 3, 7),
        ("npu", 3, 13),
        ("host", 6, 16),
        ("npu", 13, 23),
    ]


def test_each_step_that_is_over_is_settled_in_turn() -> None:
    """The first was over at 13 us, so the host saw it while the second one worked."""
    run = simulated(on("npu", 1), on("npu", 2), WAIT, on("host"), orders=ORDERS)
    assert [(span.where, round(span.end * 1e6)) for span in run.spans][-1] == ("host", 35)
    assert [(w.kind, w.step, round(w.start * 1e6), round(w.end * 1e6)) for w in run.waits] == [
        ("order", 0, 0, 3),
        ("order", 1, 3, 6),
        ("wait", 2, 6, 25),
        ("settle", 0, 13, 15),
        ("settle", 1, 23, 25),
    ]


def test_an_end_that_was_seen_is_not_seen_again() -> None:
    waits = (Wait(event=Event(timeline="npu", value=1)), WAIT, WAIT)
    run = simulated(on("npu", 1), on("npu", 2), *waits, orders=ORDERS)
    assert [(w.step, round(w.end * 1e6)) for w in run.waits if w.kind == "settle"] == [(0, 15), (1, 25)]
    assert run.makespan == 25e-6


def test_steps_are_over_for_the_host_when_it_has_seen_it() -> None:
    steps = (on("npu", 1), on("npu", 2), WAIT, on("host"))
    run = simulated(*steps, orders=ORDERS)
    ends = step_ends(steps, run.spans, run.waits, run.makespan)
    assert [round(end * 1e6) for end in ends] == [15, 25, 25, 35, 35]
