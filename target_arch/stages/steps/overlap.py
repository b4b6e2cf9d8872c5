"""Overlap within the memory that is left: the steps of a fitted model in a faster order.

The fitted steps run one partition after the other. Their items are put in orders that overlap (`list_order`),
as they are and with copies cut (`cut_copies`), and memory is planned again for the fastest of these, then for
the next. If all overflow, no buffer begins early in the memory that overflowed; if that does not help either,
the fitted steps stay. So overlap never costs capacity.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from target_arch.diagnostics import listed
from target_arch.plan.execution import Activity, ActivityKind, Execution
from target_arch.plan.memory import Arena
from target_arch.plan.steps import StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.memory.allocate import capacities
from target_arch.stages.paths.routes import PICO
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.cut_copies import cut_copies
from target_arch.stages.steps.fit import Fitted
from target_arch.stages.steps.list_order import OrderProblem, list_orders, problem
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.simulation.bounds import order_bound
from target_arch.stages.steps.simulation.division import division_bound
from target_arch.stages.steps.simulation.replay import Replay, replay
from target_arch.stages.steps.simulation.times import Times
from target_arch.stages.steps.warm_lines import warmed

TRIES = 3
"""The most memory plans that are made for orders that overlap."""

FULL = "whatever can run at the same time does"


@frozen(kw_only=True)
class _Run:
    """A step order with its simulated run."""

    steps: StepOrder
    replayed: Replay

    @property
    def makespan(self) -> float:
        return self.replayed.makespan


@gc_paused()
def overlapped(work: PartialLowering, settled: Fitted) -> Fitted:
    """The fitted model with a simulated run, and with steps that overlap if these are faster and fit."""
    times = Times(work)
    given = _problems(work, settled.program, times)
    alone = _run(work, settled.steps, times)
    held: tuple[Arena, ...] = ()
    for _ in range(TRIES):
        full: Arena | None = None
        for found in _faster(work, settled.homes, given, times, held, alone):
            try:
                planned = work.setting.planner.plan(found.steps.buffers, capacities(work.soc))
                plan = warmed(planned, found.steps, work.soc)
            except DoesNotFitError as refusal:
                full = refusal.pool
            else:
                execution = _execution(work, times, found, alone, _overlap_text(held))
                return evolve(settled, steps=found.steps, plan=plan, execution=execution)
        if full is None or full in held:
            break
        held = (*held, full)
    return evolve(settled, execution=_execution(work, times, alone, alone, _instead(held)))


def _problems(work: PartialLowering, program: Program, times: Times) -> tuple[OrderProblem, ...]:
    """The program as it is, and with its copies cut where that changes anything."""
    programs = (program, cut_copies(program, times))
    return tuple(problem(work, each, times) for each in programs[: 1 + (programs[1] is not program)])


def _faster(
    work: PartialLowering,
    homes: TensorHomes,
    given: Sequence[OrderProblem],
    times: Times,
    held: Sequence[Arena],
    alone: _Run,
) -> list[_Run]:
    """The runs that overlap and are faster than one partition after the other, the fastest first; the last is
    that of the program as it is with an eager host, so its refusal tells what is full.
    """
    plain, *others = (
        _run(work, steps, times) for each in given for steps in _orders(work, homes, each, times, held)
    )
    better = sorted((run for run in others if run.makespan < plain.makespan), key=lambda run: run.makespan)
    return [run for run in (*better, plain) if run.makespan < alone.makespan]


def fastest(work: PartialLowering, program: Program, homes: TensorHomes, times: Times) -> Execution:
    """A simulated run of a program whose memory is not planned: its steps in an order that overlaps, or one
    partition after the other where that is not slower.
    """
    alone = _run(work, steps_of(work, program, homes, times), times)
    runs = _faster(work, homes, _problems(work, program, times), times, (), alone)
    if runs:
        return _execution(work, times, runs[0], alone, FULL)
    return _execution(work, times, alone, alone, _instead(()))


def _orders(
    work: PartialLowering, homes: TensorHomes, given: OrderProblem, times: Times, held: Sequence[Arena]
) -> Iterator[StepOrder]:
    """The steps in orders that overlap."""
    memories = tuple(arena.memory for arena in held if arena.shareable)
    drained = evolve(homes, drained=memories)
    for program in list_orders(work, given, memories):
        yield steps_of(work, program, drained, times, crowded=True)


def _run(work: PartialLowering, steps: StepOrder, times: Times) -> _Run:
    return _Run(steps=steps, replayed=replay(steps, times, work.soc.host.name))


def _execution(work: PartialLowering, times: Times, found: _Run, alone: _Run, overlap: str) -> Execution:
    bound, division = _bounds(work, times, found.steps) if work.setting.bounds else (0, 0)
    spans = found.replayed.spans
    return Execution(
        makespan=found.makespan,
        bound=bound / PICO,
        alone=alone.makespan,
        overlap=overlap,
        division_bound=division / PICO,
        busy=_busy(spans, found.makespan),
        instances=len(work.soc.instances),
        spans=spans,
        waits=found.replayed.waits,
    )


def _bounds(work: PartialLowering, times: Times, steps: StepOrder) -> tuple[int, int]:
    """The picoseconds that no order of these steps goes below, and no division of their operators."""
    channels = {dma.name: dma.channels for dma in work.soc.dmas}
    return order_bound(steps, times, channels), division_bound(work, steps, times)


def _busy(spans: Sequence[Activity], makespan: float) -> float:
    """The instances that compute at a time, on average over the run."""
    runs = (span.end - span.start for span in spans if span.kind is ActivityKind.RUN)
    return sum(runs) / makespan if makespan else 0.0


def _overlap_text(held: Sequence[Arena]) -> str:
    return f"{FULL}, but nothing begins early in {listed(map(str, held))}, which is full" if held else FULL


def _instead(held: Sequence[Arena]) -> str:
    if not held:
        return "one partition after the other, as no order that overlaps was faster"
    return f"one partition after the other, as more at the same time does not fit {listed(map(str, held))}"
