"""Compile a model, and see what became of it."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from target_arch.api.bundle import Bundle
from target_arch.api.shown import Shown
from target_arch.api.soc import described
from target_arch.diagnostics import refusal
from target_arch.pipeline import Compilation as Stages
from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
from target_arch.plan import text
from target_arch.plan.execution import Execution
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.partitions import Choice
from target_arch.plan.reasoning import operator_hint
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.tvm_import import import_tvm
from target_arch.report import report_page
from target_arch.run import write_bundle
from target_arch.run.bundles.shown import read_report
from target_arch.run.verification.layers import Planned
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
        """Where every buffer lies, and when."""
        plan, soc = self.stages.plan, self.stages.request.soc
        capacities = {arena: soc.memory(arena.memory).size for arena in plan.peaks}
        peaks = ", ".join(f"{arena} {plan.peaks[arena]:,} B" for arena in sorted(plan.peaks))
        return Shown(title=f"memory: {peaks}", value=plan, text=text.memory_plan(plan, capacities))

    @property
    def timeline(self) -> Shown[Execution]:
        """A run as predicted: everything that devices, channels and the host do."""
        run = self.stages.execution
        assert run is not None
        title = f"timeline: {run.makespan * 1e6:.3g} us, {len(run.spans)} activities"
        return Shown(title=title, value=run, text=text.execution(run))

    def explain(self, operator: str) -> Shown[Choice]:
        """Why an operator (by id) is where it is and nowhere else. DiagnosticError for an unknown one."""
        if operator not in self.operators:
            said = f"model `{self.model}` has no operator `{operator}`"
            raise refusal("unknown-operator", "explain", said, operator_hint(operator, self.operators))
        choice = self.stages.graph.choice(operator)
        title = f"{operator} on {choice.instance}: {choice.reason}"
        return Shown(title=title, value=choice, text=text.explanation(self.stages.graph, operator))

    def report(self) -> Shown[Mapping[str, object]]:
        """The report of the bundle, as a page that stands alone; `page` is its HTML."""
        with tempfile.TemporaryDirectory() as folder:
            page = report_page(read_report(self.write(Path(folder) / "bundle").directory))
        steps = text.partition_table(self.stages.graph)
        return Shown(title=f"report of {self.model}", value=self._made.manifest, text=steps, page=page)

    def write(self, directory: str | Path) -> Bundle:
        """Write the bundle into a folder. Raises as `run.write_bundle` does."""
        write_bundle(self._made.bundle, Path(directory))
        hosted = self._made.manifest["port"] == "host"
        stages = self.stages
        planned = Planned(model=stages.model, graph=stages.graph, steps=stages.steps) if hosted else None
        return Bundle(directory=directory, planned=planned)

    def __repr__(self) -> str:
        return f"<compilation of {self.model}: {self._summary()}>"

    def __str__(self) -> str:
        return text.partition_table(self.stages.graph)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _summary(self) -> str:
        counts: dict[str, int] = {}
        for part in self.stages.graph.partitions:
            counts[part.instance] = counts.get(part.instance, 0) + len(part.operators)
        where = ", ".join(f"{count} on {instance}" for instance, count in counts.items())
        return f"{len(self.operators)} operators, {where}; {len(self.stages.steps.steps)} steps"


def compile(
    model: str | Path,
    soc: str | Path | SoC,
    *,
    memory: str = "default",
    require: Mapping[str, str] | None = None,
    prefer: Mapping[str, str] | None = None,
    forbid: Mapping[str, Wish] | None = None,
    targets: Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    states: Mapping[str, str] | None = None,
    name: str | None = None,
    backend_dirs: Sequence[str | Path] = (),
    **further: Any,
) -> Compilation:
    """Compile a model file for a SoC (a value, a file, or the name of a shipped one).

    `memory` is a memory mode of the SoC. `require` and `prefer` map operators (id, kind or `*`) to a
    target_arch or instance, `forbid` to one or several; `targets` are the only target_archs to use, besides
    the host. `input_shapes` and `batch` fix open dimensions, `states` maps inputs to the outputs that are
    their values in the next run. `further` are fields of `target_arch.pipeline.CompileRequest`, such as
    `port` or `lowering_order`. DiagnosticError for every refusal; TypeError for a field that there is not.
    """
    import_tvm()
    plug_ins = PlugIns.discover(tuple(map(Path, backend_dirs)))
    request = CompileRequest(
        model_path=Path(model),
        soc=soc if isinstance(soc, SoC) else described(soc, plug_ins),
        mode=memory,
        require=require or {},
        prefer=prefer or {},
        forbid={key: _several(wish) for key, wish in (forbid or {}).items()},
        targets=tuple(targets),
        input_shapes=InputShapes(
            shapes={key: tuple(shape) for key, shape in (input_shapes or {}).items()}, batch=batch
        ),
        states=states or {},
        name=name,
        plug_ins=plug_ins,
        **further,
    )
    made = compile_models(ModelsRequest(models=(request,)))
    (stages,) = made.models
    return Compilation(stages=stages, made=made)


def _several(wish: Wish) -> tuple[str, ...]:
    return (wish,) if isinstance(wish, str) else tuple(wish)
