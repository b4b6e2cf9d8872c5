"""Compile models, and look at the results."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from attrs import evolve, field, frozen

from target_arch.api import views
from target_arch.api.bundle import Bundle
from target_arch.api.model_file import Model, model_file
from target_arch.api.model_outcome import ModelOutcome
from target_arch.api.option_types import typed_arguments
from target_arch.api.options import CompileOptions, requested
from target_arch.api.shown import Shown
from target_arch.diagnostics import listed, refusal
from target_arch.emit import MANIFEST
from target_arch.emit.programs.tracer import WATCHED_PORT
from target_arch.plan.execution import Execution
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model_pools import ModelPools, Sharing
from target_arch.plan.partitions import Choice
from target_arch.plan.printed.text import model_pools
from target_arch.plan.workloads.workload import Workload
from target_arch.run.bundles.manifest import require_same
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import SoC
from target_arch.soc.schema.records import read_record

if TYPE_CHECKING:
    from target_arch.api.views.report import Report
    from target_arch.pipeline import CompiledModel as Stages
    from target_arch.pipeline import ModelsCompilation
    from target_arch.plan.workloads.answers import Analysis


@frozen(kw_only=True, repr=False)
class Compilation:
    """Compiled models: everything between the model files and the bundle.

    What concerns one model is in `models`, and here, too, where there is only one: DiagnosticError where
    there are several.
    """

    models: tuple[ModelOutcome, ...]
    _made: "ModelsCompilation" = field(repr=False)

    @property
    def name(self) -> str:
        """The bundle's name: that of a single model."""
        return self._made.bundle.name

    @property
    def operators(self) -> tuple[str, ...]:
        """The ids of its operators, in the order of execution."""
        return self._only().operators

    @property
    def memory(self) -> Shown[MemoryPlan]:
        """The place of every buffer, and its life."""
        return self._only().memory

    @property
    def timeline(self) -> Shown[Execution]:
        """A run as predicted: everything that devices, channels and the host do."""
        return self._only().timeline

    @property
    def stages(self) -> "Stages":
        """Every value on the way, as `target_arch.pipeline` documents them."""
        return self._only().stages

    def explain(self, operator: str) -> Shown[Choice]:
        """Why an operator (by id) is where it is and nowhere else. DiagnosticError for an unknown one."""
        return self._only().explain(operator)

    def module(self, codegen: str | None = None) -> Any:
        """The model as a Relax `IRModule` with a function for each partition: see `ModelOutcome.module`."""
        return self._only().module(codegen)

    def tir(self, partition: str) -> Any:
        """A partition as functions of TIR: see `ModelOutcome.tir`."""
        return self._only().tir(partition)

    @property
    def pools(self) -> Shown[ModelPools]:
        """The memory of all models together, by pool."""
        pools = self._made.pools
        return Shown(title=f"pools of {self.name}", value=pools, text=model_pools(pools))

    @property
    def responses(self) -> "Shown[Analysis] | None":
        """Of a workload, the worst response times; None without one."""
        timed = self._made.timed
        if timed is None:
            return None
        from target_arch.plan.printed.workloads import response_times

        text = response_times(timed.analysis)
        return Shown(title=f"workload of {self.name}", value=timed.analysis, text=text)

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files of the bundle by their paths."""
        return self._made.bundle.files

    @property
    def manifest(self) -> Manifest:
        """The manifest of the bundle, as it is written."""
        written = cast(Manifest, read_record(Manifest, json.loads(self.files[MANIFEST]), []))
        return evolve(self._made.manifest, files=written.files, weights=written.weights)

    @property
    def unused_records(self) -> tuple[str, ...]:
        """The tasks of the tuning file whose records choose nothing."""
        kernels = (kernel for one in self._made.models for kernel in one.kernels.values())
        used = {task for kernel in kernels for task in kernel.tuned}
        return tuple(sorted(self._made.models[0].request.tuning.records.keys() - used))

    def report(self) -> "Report":
        """The report of the bundle, as a page that stands alone; `page` is its HTML."""
        return views.report_on(self.manifest, self._made.request.models[0].soc)

    @property
    def watchable(self) -> bool:
        """Whether its programs run on this computer, on the port that shows every step."""
        return bool(self._made.manifest.port == WATCHED_PORT)

    @typed_arguments
    def write(self, directory: str | Path) -> Bundle:
        """Write the bundle into a folder. Raises as `run.write_bundle` does."""
        write_bundle(self._made.bundle, Path(directory))
        return self._bundle(directory)

    @typed_arguments
    def bundle(self, directory: str | Path) -> Bundle:
        """The bundle that this compilation, or an equal one, wrote there: so that `verify` can compare its
        operators. DiagnosticError where there is another.
        """
        require_same(Path(directory), self.files)
        return self._bundle(directory)

    def _bundle(self, directory: str | Path) -> Bundle:
        planned = self.models[0].stages if self.watchable and len(self.models) == 1 else None
        return Bundle(directory=directory, planned=planned)

    def __repr__(self) -> str:
        return f"<compilation of {'; '.join(repr(each)[1:-1] for each in self.models)}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.models))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _only(self) -> ModelOutcome:
        if len(self.models) > 1:
            text = f"there are several models: {listed(each.name for each in self.models)}"
            raise refusal("several-models", self.name, text, "`models` has each of them")
        return self.models[0]


def compile(model: Model, soc: str | Path | SoC, **options: Unpack[CompileOptions]) -> Compilation:
    """Compile a model, a file or in memory, for a SoC (a value, a file, or the name of a shipped one).

    DiagnosticError for every refusal, and for options that there are not or of other types.
    """
    return compile_models([(model, options)], soc)


@typed_arguments
def compile_models(
    models: Sequence[tuple[Model, CompileOptions]],
    soc: str | Path | SoC,
    *,
    arenas: str = Sharing.SHARED,
    name: str | None = None,
    workload: Workload | None = None,
) -> Compilation:
    """Compile several models, each with options of its own, for a SoC into one bundle, of that name or
    of one made from the SoC's. `arenas` is `shared`, where models run in turn and their memory overlaps, or
    `separate`, where each keeps its inputs and outputs. `workload` says when the models run, which are its
    own in its order.

    Raises as `compile` does.
    """
    with ExitStack() as files:
        requests = tuple(
            requested(files.enter_context(model_file(model)), soc, options) for model, options in models
        )
        from target_arch.pipeline import ModelsRequest
        from target_arch.pipeline import compile_models as compiled

        made = compiled(ModelsRequest(models=requests, arenas=arenas, name=name, workload=workload))
    return Compilation(models=tuple(ModelOutcome(stages=one) for one in made.models), made=made)
