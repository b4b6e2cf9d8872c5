"""The TIR of a partition of a compiled model.

Tests: `tests/relax/test_partitioned.py`.
"""

from typing import Any

from target_arch.backend.lowering import LoweringRequest
from target_arch.diagnostics import name_hint, refusal
from target_arch.pipeline.compilation import CompiledModel
from target_arch.plan.memory import Budget
from target_arch.registry.lookup.guard import Guard
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.lower.partition_tir import partition_tir


def tir_of(made: CompiledModel, partition: str) -> Any:
    """An IRModule with the functions of a partition. DiagnosticError for one that there is not, and where its
    backend or an operator has no TIR.
    """
    known = {each.id: each for each in made.graph.partitions}
    if partition not in known:
        text = f"there is no partition `{partition}`"
        raise refusal("no-module", made.model.name, text, name_hint(partition, known, "there are"))
    asked, cut = made.request, known[partition]
    plug_ins = asked.plug_ins or PlugIns.discover(asked.backend_dirs)
    backend = plug_ins.backends_for(asked.soc)[asked.soc.instance(cut.instance).arch.name]
    hooks = backend.hooks
    if hooks is not None and hooks.graph_codegen is not None:
        raise refusal(
            "no-module", partition, f"backend `{backend.name}` takes partitions as Relax, not as TIR"
        )
    empty = Budget(partition=partition, sites={})
    request = LoweringRequest(
        partition=cut,
        model=made.model,
        soc=asked.soc,
        instance=asked.soc.instance(cut.instance),
        budget=next((each for each in made.budgets if each.partition == partition), empty),
        program=made.program,
        tuning=asked.tuning,
        goal=asked.optimize,
    )
    if hooks is not None:
        return Guard(partition_tir, "hooks", backend.name)(hooks, request)
    try:
        return partition_tir(None, request)
    except ValueError as error:
        raise refusal("no-module", partition, str(error)) from error
