"""Compile a model, and see what became of it."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from attrs import field, frozen

from target_arch.api.bundle import Bundle
from target_arch.api.shown import Shown
from target_arch.api.soc import described
from target_arch.pipeline import Compilation as Stages
from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
from target_arch.plan import text
from target_arch.plan.execution import Execution
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.partitions import Choice
from target_arch.plan.reasoning import require_operators
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.tvm_import import import_tvm
from target_arch.run import write_bundle
from target_arch.run.bundles.manifest import require_same
from target_arch.soc import SoC

Wish = str | Sequence[str]
"""A target_arch or instance, or several."""


@frozen(kw_only=True, repr=False)
class Compilation:
    """A compiled model: everything between the model file and the bundle.

    `stages` has every value on the way, as `target_arch.pipeline` documents them.
    """

    stages: Stages
    _made: ModelsCompilation = field(repr=False)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.stages.model.name

    @property
    def operators(self) -> tuple[str, ...]:
        """The ids of its operators, in the order of execution."""
        return tuple(operator.id for operator in self.stages.model.operators)

    @property
    def memory(self) -> Shown[MemoryPlan]:
        """The place of every buffer, and its life."""
        plan = self.stages.plan
        peaks = ", ".join(f"{arena} {plan.peaks[arena]:,} B" for arena in sorted(plan.peaks))
        return Shown(
            title=f"memory: {peaks}", value=plan, text=text.memory_plan(plan, self.stages.capacities)
        )

    @property
    def timeline(self) -> Shown[Execution]:
        """A run as predicted: everything that devices, channels and the host do."""
        run = self.stages.execution
        assert run is not None
        title = f"timeline: {run.makespan * 1e6:.3g} us, {len(run.spans)} activities"
        return Shown(title=title, value=run, text=text.execution(run))

    def explain(self, operator: str) -> Shown[Choice]:
        """Why an operator (by id) is where it is and nowhere else. DiagnosticError for an unknown one."""
        require_operators([operator], self.stages.model, "explain")
        choice = self.stages.graph.choice(operator)
        title = f"{operator} on {choice.instance}: {choice.reason}"
        return Shown(title=title, value=choice, text=text.explanation(self.stages.graph, operator))

    def report(self) -> Shown[Mapping[str, object]]:
        """The report of the bundle, as a page that stands alone; `page` is its HTML."""
        with tempfile.TemporaryDirectory() as folder:
            page = self.write(Path(folder) / "bundle").report().page
        steps = text.partition_table(self.stages.graph)
        return Shown(title=f"report of {self.model}", value=self._made.manifest, text=steps, page=page)

    def write(self, directory: str | Path) -> Bundle:
        """Write the bundle into a folder. Raises as `run.write_bundle` does."""
        write_bundle(self._made.bundle, Path(directory))
        return self.bundle(directory)

    def bundle(self, directory: str | Path) -> Bundle:
        """The bundle that this compilation, or an equal one, wrote there: so that `verify` can compare its
        operators. DiagnosticError where there is another.
        """
        require_same(Path(directory), self._made.bundle.files)
        hosted = self._made.manifest["port"] == "host"
        return Bundle(directory=directory, planned=self.stages if hosted else None)

    def __repr__(self) -> str:
        return f"<compilation of {self.model}: {self._summary()}>"

    def __str__(self) -> str:
        return text.partition_table(self.stages.graph)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _summary(self) -> str:
        where = text.placed_operators(self.stages.graph)
        return f"{len(self.operators)} operators, {where}; {len(self.stages.steps.steps)} steps"


class CompileOptions(TypedDict, total=False):
    """The options of `compile`; those that are absent have the command line's defaults."""

    memory: str
    """A memory mode of the SoC."""
    require: Mapping[str, str]
    """The target_arch or instance that an operator (id, kind or `*`) must be on."""
    prefer: Mapping[str, str]
    """... that it is on where that is possible."""
    forbid: Mapping[str, Wish]
    """... that it is not on; one or several."""
    targets: Sequence[str]
    """The only target_archs to use, besides the host."""
    input_shapes: Mapping[str, Sequence[int]]
    """Shapes of inputs with open dimensions."""
    batch: int
    """The extent of an open first dimension."""
    input_values: Mapping[str, float]
    """Inputs of an ONNX model that are constants, and the number that all their elements are."""
    states: Mapping[str, str]
    """Inputs, and the outputs that are their values in the next run."""
    io: str
    """Whose the memory of inputs and outputs is: `arena`, the bundle's, or `caller`."""
    optimize: str
    """What matters most of the code: `size`, `balanced` or `speed`."""
    name: str
    """The name in C; the file's without it."""
    port: str
    """Where the bundle runs."""
    lowering_order: str
    """A policy's name."""
    backend_dirs: Sequence[str | Path]
    """Folders with plug-ins."""


def compile(model: str | Path, soc: str | Path | SoC, **options: Unpack[CompileOptions]) -> Compilation:
    """Compile a model file for a SoC (a value, a file, or the name of a shipped one).

    DiagnosticError for every refusal; TypeError for an option that there is not.
    """
    import_tvm()
    plug_ins = PlugIns.discover(tuple(map(Path, options.get("backend_dirs", ()))))
    chip = soc if isinstance(soc, SoC) else described(soc, plug_ins)
    request = CompileRequest(model_path=Path(model), soc=chip, plug_ins=plug_ins, **_fields(options))
    made = compile_models(ModelsRequest(models=(request,)))
    (stages,) = made.models
    return Compilation(stages=stages, made=made)


def _fields(options: CompileOptions) -> dict[str, Any]:
    """The fields of a request that options are; an option that is not known stays, and is no field."""
    shapes = {name: tuple(shape) for name, shape in options.get("input_shapes", {}).items()}
    read = ("memory", "forbid", "targets", "input_shapes", "input_values", "batch", "backend_dirs")
    return {
        "mode": options.get("memory", "default"),
        "forbid": {name: _several(wish) for name, wish in options.get("forbid", {}).items()},
        "targets": tuple(options.get("targets", ())),
        "input_shapes": InputShapes(
            shapes=shapes, batch=options.get("batch"), values=options.get("input_values", {})
        ),
        **{name: value for name, value in options.items() if name not in read},
    }


def _several(wish: Wish) -> tuple[str, ...]:
    return (wish,) if isinstance(wish, str) else tuple(wish)
