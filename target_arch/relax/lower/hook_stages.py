"""Runs the hooks of a backend: a partition goes from Relax over S-TIR and NS-TIR to its kernel.

Each stage is a function of the one before, so a lowering order with turns of their own for phases reaches
them one by one (`reach`). Stages that need the budget (`schedules` and later) run in the turn for `codegen`,
the only one in which call sites have budgets.

Tests: `tests/relax/lower/test_hook_stages.py`.
"""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from target_arch.backend.hooks import Hooks, TirFunction
from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.kernels import Kernel
from target_arch.plan.orders import PHASES
from target_arch.relax.c.codegen import c_kernel
from target_arch.relax.lower import recorded_schedule as tuned
from target_arch.relax.lower.lowering import loop_names
from target_arch.relax.lower.partition_module import composites, partition_module
from target_arch.relax.lower.standard import standard_functions
from target_arch.relax.tir.nests import rewrite_nests
from target_arch.relax.tir.passes import compact, run_passes, simplified, without_blocks

GRAPH, S_TIR, NS_TIR = PHASES[:3]


def lower_by_hooks(hooks: Hooks, request: LoweringRequest) -> Kernel:
    """The kernel of a partition. Goes on from the results in `request.earlier`. Raises as the hooks do."""
    if hooks.graph_codegen is not None:
        return hooks.graph_codegen(_graph(hooks, request), request)
    functions = ns_tir(hooks, _s_tir(hooks, request), request)
    return (hooks.codegen or c_kernel)(functions, request)


def reach(hooks: Hooks, request: LoweringRequest, phase: str) -> Mapping[str, Any]:
    """The results of a partition's stages up to a phase that has a turn of its own, by phase.

    The Relax module for `graph`, functions for `s-tir`; `ns-tir` waits for the budget.
    """
    reached = {**request.earlier, GRAPH: _graph(hooks, request)}
    if phase == GRAPH or hooks.graph_codegen is not None:
        return reached
    return {**reached, S_TIR: _s_tir(hooks, evolve(request, earlier=reached))}


def graph(hooks: Hooks, request: LoweringRequest) -> Any:
    """The partition as a Relax module, after the graph passes."""
    module = partition_module(request)
    for each in hooks.graph_passes:
        module = each.load(request)(module)
    return module


def s_tir_functions(hooks: Hooks, module: Any, request: LoweringRequest) -> tuple[TirFunction, ...]:
    """The composites of a module in S-TIR, not scheduled."""
    found: list[TirFunction] = []
    for composite in composites(module, request):
        made = (hooks.legalize or standard_functions)(composite)
        found += made if isinstance(made, tuple) else (made,)
    return tuple(found)


def ns_tir(
    hooks: Hooks, functions: tuple[TirFunction, ...], request: LoweringRequest
) -> tuple[TirFunction, ...]:
    """The functions scheduled within the budget, rewritten, and lowered to NS-TIR."""
    return tuple(_flat(hooks, scheduled(hooks, each, request), request) for each in functions)


def scheduled(hooks: Hooks, function: TirFunction, request: LoweringRequest) -> TirFunction:
    """The function after `schedules`, or after the schedule its legalization brought along."""
    if hooks.schedules is not None:
        schedule = hooks.schedules(function, request)
        note = schedule.mod["main"].attrs.get(NOTE, function.note)
        return evolve(function, function=schedule.mod["main"], note=str(note))
    made, task = tuned.scheduled(function.function, function.kind, function.schedule, request.tuning)
    return evolve(function, function=made, tuned=task)


NOTE = "target_arch.note"
"""The attribute of a scheduled function that becomes the note of its `TirFunction`: the tiles chosen, say."""


def _graph(hooks: Hooks, request: LoweringRequest) -> Any:
    return request.earlier[GRAPH] if GRAPH in request.earlier else graph(hooks, request)


def _s_tir(hooks: Hooks, request: LoweringRequest) -> tuple[TirFunction, ...]:
    if S_TIR in request.earlier:
        known: tuple[TirFunction, ...] = request.earlier[S_TIR]
        return known
    return s_tir_functions(hooks, _graph(hooks, request), request)


def _flat(hooks: Hooks, function: TirFunction, request: LoweringRequest) -> TirFunction:
    def at(place: str, value: Any) -> Any:
        passes = (each.load(request) for each in hooks.tir_passes if each.place == place)
        return run_passes(value, *passes)

    value = at("scheduled", function.function)
    loops = loop_names(value)
    value = at("compacted", compact(value))
    value = at("rewritten", rewrite_nests(value, hooks.tir_patterns, request))
    value = at("flat", without_blocks(value))
    return evolve(function, function=at("last", simplified(value)), loops=loops)
