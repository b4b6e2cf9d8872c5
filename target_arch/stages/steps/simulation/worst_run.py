"""How much later the steps of a run are over at worst than in the simulated run."""

from target_arch.plan.lowered import Lowered
from target_arch.plan.step_ends import step_ends, whole_microseconds
from target_arch.plan.steps import Copy, Dispatch
from target_arch.soc.rounding import ceil_div
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.replay import replay, step_times
from target_arch.stages.steps.simulation.worst_times import WorstTimes


def worst_percent(setting: Setting, lowered: Lowered) -> int | None:
    """The least percentage of the time of the simulated run within which every step is over, if each takes
    its worst time: then no step of a run is over later, as all are issued in the same order. None where the
    costs do not state the worst time of every step, or nothing was simulated.
    """
    order, usual = lowered.steps, lowered.execution
    work = PartialLowering(setting=setting, graph=lowered.graph, kernels=lowered.kernels)
    least, most = WorstTimes(work, 0.0), WorstTimes(work, 1.0)
    steps = [step for step in order.steps if isinstance(step, Copy | Dispatch)]
    stated = step_times(steps, order.buffers, least) == step_times(steps, order.buffers, most)
    stated = stated and least.orders == most.orders
    if usual is None or not stated:
        return None
    worst = replay(order, least, setting.soc.host.name)
    pairs = zip(
        step_ends(order.steps, usual.spans, usual.waits, usual.makespan),
        step_ends(order.steps, worst.spans, worst.waits, worst.makespan),
        strict=True,
    )
    whole = [(whole_microseconds(expected), whole_microseconds(end)) for expected, end in pairs]
    return max((ceil_div(100 * end, expected) for expected, end in whole if expected), default=100)
