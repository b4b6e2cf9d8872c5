"""Whether the steps of a model compute what its kernels say."""

from collections.abc import Mapping, MutableMapping

from attrs import frozen

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Fill, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.division import division_faults
from target_arch.stages.check.meaning.ends import ends_faults
from target_arch.stages.check.meaning.kernels import Meaning
from target_arch.stages.check.meaning.model import ModelRules
from target_arch.stages.check.meaning.steps import StepReplay
from target_arch.stages.check.rules.faults import at, described
from target_arch.stages.errors import CheckError
from target_arch.stages.garbage_collector import gc_paused

_KEPT = 16
"""How many kernels of whole models are kept that were found right."""


@frozen(kw_only=True, eq=False)
class RightKernels:
    """Kernels that compute what the model of a graph says, as they were replayed."""

    graph: PartitionGraph
    meaning: Meaning


Judged = MutableMapping[object, RightKernels]
"""Kernels of whole models that were found right, by everything about them that was looked at."""


@gc_paused()
def check_meaning(
    soc: SoC,
    graph: PartitionGraph,
    kernels: Mapping[str, Kernel],
    steps: StepOrder,
    plan: MemoryPlan,
    judged: Judged | None = None,
) -> None:
    """Raises CheckError where kernels do not compute what the model says, or steps that `check` has accepted
    not what the kernels say: inputs, constants, operands, calls, outputs and next states that are others. The
    faults are those of the kernels, or of the first step that has any: what follows is computed from them.
    Kernels that were `judged` before are not judged again; those found right are added.
    """
    meaning = _right(graph, kernels, {} if judged is None else judged).meaning
    faults = _first(steps, StepReplay(soc, steps, plan, meaning))
    if faults:
        raise CheckError(faults)


def _right(graph: PartitionGraph, kernels: Mapping[str, Kernel], judged: Judged) -> RightKernels:
    """The kernels, if they compute what the model says."""
    key = _looked_at(graph, kernels)
    known = judged.get(key)
    if known is not None and known.graph.model is graph.model:
        return known
    unknown = tuple(ends_faults(graph.model, kernels))
    if unknown:
        raise CheckError(unknown)
    found = RightKernels(graph=graph, meaning=Meaning(graph, kernels))
    faults = tuple(ModelRules(graph, found.meaning).faults())
    if faults:
        raise CheckError(faults)
    judged[key] = found
    while len(judged) > _KEPT:
        del judged[next(iter(judged))]
    return found


def _looked_at(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> object:
    """Everything that the rules for kernels look at, but for the model. Operators are known by their
    identity: a graph that is kept holds its own.
    """
    partitions = tuple((p.id, p.instance, *map(id, p.operators)) for p in graph.partitions)
    return partitions, tuple(
        (name, kernel.functions, kernel.constants, kernel.buffers, kernel.actions)
        for name, kernel in kernels.items()
    )


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
