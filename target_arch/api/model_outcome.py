"""One compiled model: its value after every stage."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from target_arch.api.option_types import typed_arguments
from target_arch.api.placed import explained
from target_arch.api.shown import Shown
from target_arch.diagnostics import refusal
from target_arch.emit.build.firmware import DESCRIPTION
from target_arch.plan.execution import Execution
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.partitions import Choice
from target_arch.plan.printed import frames
from target_arch.plan.printed import text as texts
from target_arch.plan.printed.verdict import verdict
from target_arch.plan.products import is_stepped, widens
from target_arch.stages.errors import least_of_steps
from target_arch.stages.simplification.halves import half_weights
from target_arch.stages.simplification.stepped import stepped_weights

if TYPE_CHECKING:
    from target_arch.pipeline import CompiledModel as Stages

_TEXTS: Mapping[str, Callable[["Stages"], str]] = {
    "model": lambda made: str(made.model),
    "partitions": lambda made: texts.partition_table(made.graph),
    "search": lambda made: "" if made.graph.facts is None else texts.search(made.graph.facts),
    "execution": lambda made: "" if made.execution is None else texts.execution(made.execution),
    "lowering": lambda made: texts.lowering_order(made.lowering),
    "budgets": lambda made: texts.budgets(made.budgets),
    "memory": lambda made: texts.memory_plan(made.plan, made.capacities),
    "steps": lambda made: texts.step_list(made.steps),
    "frames": lambda made: "" if made.frames is None else frames.frame_steps(made.frames),
}


@frozen(kw_only=True, repr=False)
class ModelOutcome:
    """A model of a compilation. `stages` has every value on the way, as `target_arch.pipeline` documents
    them.
    """

    stages: "Stages" = field(repr=False)

    @property
    def name(self) -> str:
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
        return Shown(title=f"memory: {peaks}", value=plan, text=self.text("memory"))

    @property
    def timeline(self) -> Shown[Execution]:
        """A run as predicted: everything that devices, channels and the host do."""
        run = self.stages.execution
        assert run is not None
        title = f"timeline: {run.makespan * 1e6:.3g} us, {len(run.spans)} activities"
        return Shown(title=title, value=run, text=self.text("execution"))

    @typed_arguments
    def explain(self, operator: str) -> Shown[Choice]:
        """Why an operator (by id) is where it is and nowhere else. DiagnosticError for an unknown one."""
        whole = self.stages.whole if operator in self.stages.division else None
        frames = self.stages.frames
        turns = () if frames is None else frames.cores
        (found,) = explained(whole or self.stages.graph, [operator], turns=turns)
        return found

    def text(self, stage: str) -> str:
        """A value between two stages, as `compile --dump` prints it: `model`, `partitions`, `search`,
        `execution`, `lowering`, `budgets`, `memory`, `steps` or `frames`.
        """
        return _TEXTS[stage](self.stages)

    @typed_arguments
    def module(self, codegen: str | None = None) -> Any:
        """The imported program as a Relax `IRModule`, with a function for each partition; attributes say its
        instance and its operators. With `codegen` they are for that code generator of TVM, as
        `register_codegen` makes one.

        DiagnosticError where operators are divided: the program has no slices.
        """
        made = self.stages
        if made.model.slices:
            text = "operators are divided over instances, and the imported program has no slices"
            raise refusal("no-module", self.name, text, 'compile with `divide="never"`')
        from target_arch.relax.partitioned import partitioned_module

        return partitioned_module(made.program, made.graph.partitions, self.name, codegen)

    @typed_arguments
    def tir(self, partition: str) -> Any:
        """A partition (by id, as `module` and `text("partitions")` name it) as an `IRModule` of functions in
        NS-TIR: those that its backend's hooks make, else those of its operators' definitions, which the C
        backend takes where it calls no kernel of the runtime.

        DiagnosticError for a partition that there is not, and for backends that take it as Relax.
        """
        from target_arch.pipeline.tir import tir_of

        return tir_of(self.stages, partition)

    @property
    def attempts(self) -> str:
        """The attempts to make it fit, a line each; empty where it did at once."""
        return "".join(f"{attempt}\n" for attempt in self.stages.attempts)

    @property
    def summary(self) -> str:
        """The verdict; operators by instance, the number of steps, the bytes used of every pool, the
        simulated run, what is proved of divisions, and frames in flight.
        """
        made = self.stages
        lines = [
            f"{self.name} {self.verdict}\n",
            f"{self._headline()}\n",
            *(f"  {line}\n" for line in self._notes()),
        ]
        run = (
            ""
            if made.execution is None
            else texts.simulated_run(made.execution, made.graph.facts, costs=made.costs)
        )
        flying = "" if made.frames is None else frames.frames_in_flight(made.frames)
        proved = "" if made.proof is None else texts.division_proof(made.proof)
        return "".join(lines) + run + proved + flying

    @property
    def verdict(self) -> str:
        """That it fits, the time of a run and what it is spent on, and the bytes that it takes: one line."""
        return verdict(self.stages.manifest)

    def __repr__(self) -> str:
        return f"<{self._headline()}>"

    def __str__(self) -> str:
        return self.text("partitions")

    def _headline(self) -> str:
        where = texts.placed_operators(self.stages.graph)
        count = texts.counted_operators(self.stages.model)
        return f"{self.name}: {count}, {where}; {len(self.stages.steps.steps)} steps"

    def _notes(self) -> Iterator[str]:
        """The memory it takes, and what to know of it."""
        made = self.stages
        left_out = str(made.model.simplification or "")
        if left_out:
            yield left_out
        yield from self._narrow()
        memory = made.memory
        for arena in sorted(memory.peaks):
            used, bound = memory.peaks[arena], memory.shared[arena]
            if arena.caller:
                yield f"{arena}: {used:,} B of the caller, in no arena"
            else:
                yield f"{arena}: {used:,} B of {made.capacities[arena]:,} B ({least_of_steps(bound)})"
        port = made.request.soc.port(made.request.port)
        if port is not None:
            yield (
                f"the stack of port `{port.name}` takes {port.stack:,} B of `{port.data}` from the plan; its "
                "code, read-only data and variables are not counted here, but before it is linked: "
                "`report --image`"
            )
        yield from self._firmware()
        if made.manifest.self_test.missing:
            yield f"no self-test vector: {made.manifest.self_test.missing}"

    def _narrow(self) -> Iterator[str]:
        """The weights that are in a narrower type than float32, or could be."""
        model = self.stages.model
        widened = [op for op in model.operators if widens(op, model)]
        stepped = sum(model.tensors[op.constants[0]].bytes for op in widened if is_stepped(op))
        narrow = sum(model.tensors[op.constants[0]].bytes for op in widened if not is_stepped(op))
        if stepped:
            yield f"{stepped:,} B of weights are integers with steps, and take four times as much in float32"
        if narrow:
            yield f"{narrow:,} B of weights are in float16, and take twice as much in float32"
        by_steps = {op.constants[0] for op, *_ in stepped_weights(model)}
        if by_steps:
            known = sum(model.tensors[name].bytes for name in by_steps)
            said = "are integers times a step: with the goal `size` they take a quarter"
            yield f"{known:,} B of weights {said}"
        wide = sum(tensor.bytes for tensor in half_weights(model) if tensor.name not in by_steps)
        if wide:
            yield f"{wide:,} B of weights have values of float16: with the goal `size` they take half"

    def _firmware(self) -> Iterator[str]:
        """The memory of every firmware: its kernels and its stack."""
        files = self.stages.bundle.files
        if DESCRIPTION not in files:
            return
        from target_arch.run.executables.firmware import kernels_fill

        for arch, fill in kernels_fill(files).items():
            yield (
                f"{fill.memory}: {fill.predicted:,} B of {fill.capacity:,} B for kernels and stack of "
                f"`{arch}`'s firmware; with its runtime, as it is linked: `report --image`"
            )
