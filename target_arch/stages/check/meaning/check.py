"""Whether the steps of a model compute what its kernels say."""

from collections.abc import Mapping

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Fill, StepOrder
from target_arch.stages.check.meaning.division import division_faults
from target_arch.stages.check.meaning.ends import ends_faults
from target_arch.stages.check.meaning.kernels import Meaning
from target_arch.stages.check.meaning.model import ModelRules
from target_arch.stages.check.meaning.steps import StepReplay
from target_arch.stages.check.rules.faults import at, described
from target_arch.stages.errors import CheckError
from target_arch.stages.garbage_collector import gc_paused


@gc_paused()
def check_meaning(
    graph: PartitionGraph, kernels: Mapping[str, Kernel], steps: StepOrder, plan: MemoryPlan
) -> None:
    """Raises CheckError where kernels do not compute what the model says, or steps that `check` has accepted
    not what the kernels say: inputs, constants, operands, calls, outputs and next states that are others. The
    faults are those of the kernels, or of the first step that has any: what follows is computed from them.
    """
    unknown = tuple(ends_faults(graph.model, kernels))
    if unknown:
        raise CheckError(unknown)
    meaning = Meaning(graph, kernels)
    faults = tuple(ModelRules(graph, meaning).faults()) or _first(steps, StepReplay(steps, plan, meaning))
    if faults:
        raise CheckError(faults)


def check_imported(model: Model, graph: PartitionGraph) -> None:
    """Raises CheckError where the partitions are not those of the model that was imported, or of one in which
    some of its operators are divided, and which computes the same.
    """
    if graph.model is model:
        return
    if not graph.model.slices:
        message = f"`{graph.model.name}` is not the model that was imported"
        raise CheckError((Diagnostic(rule="wrong-model", place="the partitions", message=message),))
    faults = tuple(division_faults(model, graph.model))
    if faults:
        raise CheckError(faults)


def _first(order: StepOrder, execution: StepReplay) -> tuple[Diagnostic, ...]:
    """The faults at the start, of the first step that has any, or at the end."""
    faults = tuple(at("start of run", execution.begin()))
    for number, step in enumerate(order.steps):
        if faults:
            return faults
        if isinstance(step, Copy | Dispatch | Fill):
            faults = tuple(at(described(number, step), execution.step(step)))
    return faults or tuple(at("end of run", execution.end()))
