"""Lower bounds of the time of a run."""

from collections import Counter
from collections.abc import Mapping

from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.soc.rounding import ceil_div
from target_arch.stages.steps.simulation.clock import HOST
from target_arch.stages.steps.simulation.flow import flow
from target_arch.stages.steps.simulation.orders import FREE
from target_arch.stages.steps.simulation.replay import step_times
from target_arch.stages.steps.simulation.times import Times


def order_bound(order: StepOrder, times: Times, channels: Mapping[str, int]) -> int:
    """The picoseconds that no order of these steps goes below in which data flows as it does in this one: the
    longest path of data from step to step, or the time of the busiest instance, engine or host. What the host
    orders takes its time, too, and what another resource needs is settled and ordered before.

    Each piece of a copy is a step: what reads one piece does not need the others. `channels` are by engine
    how many copies it makes at once.
    """
    work = [step for step in order.steps if isinstance(step, Copy | Dispatch)]
    takes = step_times(work, order.buffers, times)
    sizes = {buffer.name: buffer.bytes for buffer in order.buffers}
    places = [_where(step) for step in work]
    orders = [times.orders.get(where, FREE) for where in places]
    ends: list[int] = []
    for number, before in enumerate(flow(work, sizes)):
        ready = orders[number].start
        for other in before:
            elsewhere = places[other] != places[number]
            passed = orders[other].end + orders[number].start if elsewhere else 0
            ready = max(ready, ends[other] + passed)
        ends.append(ready + takes[number])
    seen = (end + each.end for end, each in zip(ends, orders, strict=True))
    busy = Counter({HOST: sum(each.both for each in orders)})
    for where, time in zip(places, takes, strict=True):
        busy[where] += time
    shared = (ceil_div(time, channels.get(where, 1)) for where, time in busy.items())
    return max((*seen, *shared), default=0)


def _where(step: Copy | Dispatch) -> str:
    """The host, the instance or the engine that a step keeps busy."""
    if step.event is None:
        return HOST
    return step.engine if isinstance(step, Copy) else step.event.timeline
