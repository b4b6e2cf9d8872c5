"""One point: from its SoC file and its models to numbers, on the ordinary way of a compilation.

An `Evaluator` is for many points: models are imported once, and what does not depend
on the chip is kept (`target_arch.pipeline.reuse`). An outcome does not depend on what was kept. Tests:
`tests/explore/test_evaluate.py`.
"""

import traceback
from collections.abc import Mapping
from pathlib import Path as File

from attrs import field, frozen

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import DiagnosticError
from target_arch.explore.chip import ChipFile
from target_arch.explore.outcome import ModelNumbers, PointOutcome, Status
from target_arch.pipeline.compile import PlannedModels, plan_models, shortest_run
from target_arch.pipeline.preparation import prepare
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.pipeline.reuse import Reuse
from target_arch.plan.goal import Goal
from target_arch.plan.lowered import Lowered
from target_arch.plan.objective import Objective
from target_arch.plan.printed.reasoning import duration
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc.model import SoC
from target_arch.stages.errors import CheckError
from target_arch.stages.garbage_collector import gc_seldom


@frozen(kw_only=True)
class KnownBetter:
    """A good point of the same space: its number, and the seconds of a run there of these models together.

    It is nowhere worse than another point, unless that has shorter runs; and `strictly` better somewhere, or
    not better in anything that is known without compiling.
    """

    point: int
    models: tuple[str, ...]
    latency: float
    strictly: bool

    def dominates(self, bound: float) -> bool:
        """Whether it is better than a point whose runs take no less than the bound."""
        return self.latency <= bound if self.strictly else self.latency < bound


@frozen(kw_only=True)
class PointTask:
    """A point to evaluate: its SoC file, its model files by name, and what the program is asked for."""

    chip: ChipFile
    models: Mapping[str, File]
    mode: str = "default"
    optimize: Goal = Goal.BALANCED
    objective: Objective = Objective.LATENCY
    known: KnownBetter | None = None
    """A point that is at least as good but for a latency: where no run is shorter, nothing is compiled."""


@frozen
class Evaluator:
    """Evaluates points with these plug-ins, and keeps what they share."""

    plug_ins: PlugIns = field(repr=False)
    reuse: Reuse = field(factory=Reuse, repr=False)

    @gc_seldom()
    def __call__(self, task: PointTask) -> PointOutcome:
        """The outcome of the point. Raises NotInstalled where a backend lacks a tool."""
        return self.planned(task)[0]

    def planned(self, task: PointTask) -> tuple[PointOutcome, PlannedModels | None]:
        """The outcome of the point with its plans; None where there are none. Raises as a call does."""
        try:
            soc = task.chip.soc(self.plug_ins)
        except DiagnosticError as error:
            return _without_numbers(Status.NO_CHIP, error), None
        try:
            outcome = self._dominated(task, soc)
            if outcome is not None:
                return outcome, None
            made = plan_models(ModelsRequest(models=self._requests(task, soc)), self.reuse)
        except NotInstalled:
            raise
        except DiagnosticError as error:
            wrong = isinstance(error, CheckError)
            return _without_numbers(Status.CRASHED if wrong else Status.REFUSED, error), None
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            return PointOutcome(status=Status.CRASHED, rule="defect", reason=text), None
        return _numbers(task, made), made

    def read(self, task: PointTask) -> None:
        """Read the models of a point on its chip. Raises DiagnosticError for one that cannot be read."""
        for request in self._requests(task, task.chip.soc(self.plug_ins)):
            prepare(request, self.reuse)

    def _dominated(self, task: PointTask, soc: SoC) -> PointOutcome | None:
        """The outcome where a bound says that the known point is better; None where it does not."""
        known = task.known
        if known is None:
            return None
        requests = [each for each in self._requests(task, soc) if each.name in known.models]
        bound = sum(shortest_run(each, self.reuse) for each in requests)
        if not known.dominates(bound):
            return None
        other = f"point {known.point} takes {duration(known.latency)} and is as good in all else"
        said = f"no run takes less than {duration(bound)}, {other}"
        return PointOutcome(status=Status.DOMINATED, rule="dominated", reason=said, bound=bound)

    def _requests(self, task: PointTask, soc: SoC) -> tuple[CompileRequest, ...]:
        return tuple(
            CompileRequest(
                model_path=file,
                soc=soc,
                name=name,
                mode=task.mode,
                optimize=task.optimize,
                objective=task.objective,
                plug_ins=self.plug_ins,
            )
            for name, file in task.models.items()
        )


def _without_numbers(status: Status, error: DiagnosticError) -> PointOutcome:
    return PointOutcome(status=status, reason=str(error), rule=error.diagnostics[0].rule)


def _numbers(task: PointTask, made: PlannedModels) -> PointOutcome:
    together: dict[str, int] = {}
    for pool in made.pools.pools:
        together[pool.memory] = together.get(pool.memory, 0) + pool.bytes
    numbers = map(_of_model, made.models)
    models = dict(zip(task.models, numbers, strict=True))
    return PointOutcome(status=Status.FITS, models=models, bytes=dict(sorted(together.items())))


def _of_model(lowered: Lowered) -> ModelNumbers:
    taken: dict[str, int] = {}
    for arena, peak in lowered.memory.peaks.items():
        taken[arena.memory] = taken.get(arena.memory, 0) + peak
    facts, run, costs = lowered.graph.facts, lowered.execution, lowered.costs
    metered = facts is not None and facts.metered == len(lowered.model.operators)
    return ModelNumbers(
        latency=0.0 if run is None else run.makespan,
        energy=facts.energy if facts is not None and metered else None,
        bytes=dict(sorted(taken.items())),
        low=None if costs is None else costs.low,
        high=None if costs is None else costs.high,
        period=None if lowered.frames is None else lowered.frames.period,
    )
