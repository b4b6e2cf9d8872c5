"""Frames in flight: the pipeline with the shortest period of those that fit.

Schedules of several periods, from the bound up, are tried: the shorter the period, the more stages a frame
goes through, and the more bytes they take. The simulated period decides, then the bytes. Where none comes
near the bound, blocks that may become longer are tried, too, around the work of the host.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, field, frozen

from target_arch.plan.frames import CurvePoint, FramePipeline
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.steps import StepOrder
from target_arch.soc.model import SoC
from target_arch.soc.numbering import timelines
from target_arch.stages.frames.ahead import issued_ahead
from target_arch.stages.frames.around import around_host, longest_first
from target_arch.stages.frames.blocks import TaskBlock, blocks_of
from target_arch.stages.frames.cores import rotating
from target_arch.stages.frames.late_constants import copies_of_constants, with_late_constants
from target_arch.stages.frames.lockstep import in_lockstep
from target_arch.stages.frames.modulo import ModuloSchedule, in_turn, modulo_schedule
from target_arch.stages.frames.problem import FrameProblem, frame_problem
from target_arch.stages.frames.replay import FrameTimes, replayed
from target_arch.stages.frames.rotation import rotated
from target_arch.stages.frames.rounds import Round, round_of
from target_arch.stages.frames.staggered import REWARD, staggered
from target_arch.stages.frames.table import FrameTable, frame_table
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.times import Times

MOST = 14
"""The most frames in flight: the runtime keeps account of two more (`TA_MOST_FRAMES`)."""

_STRETCHED = (0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
"""Percent above the bound of the periods that are tried."""
_PACKED = (0.4, 0.7, 0.85, 0.95)
"""The parts of a period that a resource is busy for at least if it gets no gaps."""
_ENOUGH = 24
"""Schedules for frames in turn on cores, after which no longer period is tried."""
_TASKS = 120
"""The most tasks of such frames together, where others than the cores are at work for them: with more, fewer
cores take turns.
"""


@frozen(kw_only=True)
class _Pipeline:
    """A schedule with all that follows from it."""

    schedule: ModuloSchedule = field(repr=False)
    round: Round = field(repr=False)
    times: FrameTimes
    table: FrameTable = field(repr=False)
    fits: bool

    @property
    def rank(self) -> tuple[int, bool, int, int]:
        """By period in picoseconds, then by whether cores wait for each other, then by bytes."""
        waits = self.schedule.patience == 0
        return (round(self.times.period), waits, sum(self.table.plan.peaks.values()), self.round.stages)


class _Search:
    """The pipelines of one run, each made once."""

    def __init__(
        self, soc: SoC, problem: FrameProblem, plan: MemoryPlan, within: float | None, most: int
    ) -> None:
        self._soc, self._plan = soc, plan
        self._within = None if within is None else within * PICO
        self.problem = problem
        self._blocks = blocks_of(self.problem)
        self._constants = copies_of_constants(problem)
        self._sizes = problem.sizes
        self._ranks = {name: number for number, name in enumerate(timelines(soc))}
        self._made: dict[tuple[tuple[int, ...], tuple[int, ...], int], _Pipeline] = {}
        self._schedules: list[ModuloSchedule] = []
        lockstep = in_lockstep(problem)
        if lockstep is not None:
            self._try(iter([lockstep]))
            apart = staggered(problem)  # which is issued ahead already
            self._keep([] if apart is None else [apart])
            return
        self._try(self._tried(self._blocks))
        if self._far(most) and max(self.problem.widths.values(), default=1) > 1:
            self._try(self._tried(blocks_of(self.problem, narrow=True)))
        if self._far(most):
            self._try(self._around())

    def _far(self, most: int) -> bool:
        """Whether no period so far is near the bound."""
        best = self.best(most)
        return best is None or best.times.period * self.problem.frames > self.problem.bound * (1 + REWARD)

    def _try(self, found: Iterator[ModuloSchedule | None]) -> None:
        self._keep([issued_ahead(self.problem, each) for each in found if each is not None])

    def _keep(self, found: Sequence[ModuloSchedule]) -> None:
        self._schedules += [with_late_constants(each, self._constants) for each in found]
        self._schedules.sort(key=lambda each: (each.period, -each.patience, each.stages))

    def _periods(self) -> Iterator[int]:
        least = max(self.problem.bound, max(self.problem.takes, default=0), 1)
        return (least * (100 + percent) // 100 for percent in _STRETCHED)

    def _tried(self, blocks: Sequence[TaskBlock]) -> Iterator[ModuloSchedule | None]:
        if not self.problem.cores:
            yield in_turn(self.problem)
        found = 0
        for period in self._periods():
            for packed in _PACKED:
                made = modulo_schedule(self.problem, blocks, self._sizes, period, packed)
                found += made is not None
                yield made
            if self.problem.cores and found >= _ENOUGH:
                return

    def _around(self) -> Iterator[ModuloSchedule | None]:
        for period in self._periods():
            yield around_host(self.problem, self._blocks, self._sizes, period)
            yield longest_first(self.problem, self._blocks, self._sizes, period)

    def best(self, frames: int) -> _Pipeline | None:
        """The shortest period with at most so many frames in flight that fits, of those whose frames are in
        time if any are; None where none fits.
        """
        return self._shortest(frames, self._within) or self._shortest(frames, None)

    def _shortest(self, frames: int, within: float | None) -> _Pipeline | None:
        best: _Pipeline | None = None
        for schedule in self._schedules:
            if self._least_frames(schedule) > frames:
                continue
            if best is not None and best.times.period * self.problem.frames <= schedule.period:
                break
            made = self._pipeline(schedule)
            late = within is not None and made.times.latency > within
            able = made.fits and made.round.stages <= frames and not late
            if able and (best is None or made.rank < best.rank):
                best = made
        return best

    def _least_frames(self, schedule: ModuloSchedule) -> int:
        """The frames in flight that a schedule has at least."""
        if not self.problem.cores:
            return schedule.stages
        return (schedule.end - 1) // schedule.period * self.problem.frames + 1

    def enough(self, limit: int) -> _Pipeline | None:
        """The fewest frames that are nearly as fast as so many."""
        most = self.best(limit)
        if most is None or most.schedule.patience:
            return most
        found = (self.best(frames) for frames in range(1, most.round.stages + 1))
        period = most.times.period * (1 + REWARD)
        return next((each for each in found if each is not None and each.times.period <= period), most)

    def _pipeline(self, schedule: ModuloSchedule) -> _Pipeline:
        key = (schedule.starts, schedule.channels, schedule.period)
        if key not in self._made:
            one = round_of(self.problem, schedule, self._ranks)
            table = frame_table(self.problem, self._plan, one)
            self._made[key] = _Pipeline(
                schedule=schedule,
                round=one,
                times=self._times(schedule, one),
                table=table,
                fits=self._fits(table.plan),
            )
        return self._made[key]

    def _times(self, schedule: ModuloSchedule, one: Round) -> FrameTimes:
        """The times of a round, with the period of the busiest core where none waits for another one yet when
        the replay ends.
        """
        times = replayed(self.problem, one)
        if not schedule.patience:
            return times
        return evolve(times, period=max(times.period, schedule.period / self.problem.frames))

    def _fits(self, plan: MemoryPlan) -> bool:
        return all(peak <= self._sizes[arena.memory] for arena, peak in plan.peaks.items() if arena.shareable)


@gc_paused()
def pipelined(
    soc: SoC,
    run: StepOrder,
    plan: MemoryPlan,
    times: Times,
    frames: int | None,
    alone: float,
    within: float | None = None,
) -> FramePipeline | None:
    """The pipeline of a run with as many frames in flight as make results come faster, at most so many; None
    where not even one frame after the other fits. `alone` is the simulated run. Frames take at most `within`
    seconds if that is possible.
    """
    most = MOST if frames is None else frames
    problem = frame_problem(soc, run, times, plan)
    problems = [problem, *_in_turn_on_cores(soc, problem, most)]
    searches = [_Search(soc, each, plan, within, most) for each in problems]
    found = [(search, best) for search in searches if (best := search.enough(most)) is not None]
    if not found:
        return None
    search, best = min(found, key=lambda pair: pair[1].times.period)
    table, problem = best.table, search.problem
    return FramePipeline(
        order=table.order,
        stages=table.stages,
        frames=best.round.stages,
        done=best.round.done,
        rounds=table.rounds,
        buffers=table.buffers,
        plan=table.plan,
        period=best.times.period / PICO,
        latency=best.times.latency / PICO,
        bound=problem.bound / problem.frames / PICO,
        busiest=problem.busiest or soc.host.name,
        alone=alone,
        cores=problem.cores,
        curve=tuple(_curve(searches, plan, best.round.stages)),
    )


def _in_turn_on_cores(soc: SoC, problem: FrameProblem, most: int) -> Iterator[FrameProblem]:
    """The problems of frames that take turns on equal cores."""
    for cores in rotating(soc, problem.run, most):
        every = rotated(soc, problem, cores)
        able = _TASKS // len(problem.steps)
        if in_lockstep(every) is not None or able >= len(cores):
            yield every
        elif able > 1:
            yield rotated(soc, problem, cores[:able])


def _curve(searches: Sequence[_Search], run: MemoryPlan, frames: int) -> Iterator[CurvePoint]:
    """The pipeline with each number of frames, and the bytes that it and a run take in turn."""
    for number in range(1, frames + 1):
        found = [best for search in searches if (best := search.best(number)) is not None]
        if found:
            best = min(found, key=lambda each: each.times.period)
            peaks = {arena: n for arena, n in best.table.plan.peaks.items() if not arena.caller}
            yield CurvePoint(
                frames=number,
                period=best.times.period / PICO,
                bytes={arena: max(size, run.peaks.get(arena, 0)) for arena, size in peaks.items()},
            )
