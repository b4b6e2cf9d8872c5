"""From a PrimFunc with blocks to flat TIR to a C function."""

from typing import Any

import tvm_ffi
from attrs import evolve
from tvm import s_tir, te, tirx

from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.relax.c.printer import PrintedFunction, print_function
from target_arch.relax.lower import recorded_schedule as tuned
from target_arch.relax.te.definition import Definition
from target_arch.relax.tir.passes import compact, simplified, without_blocks
from target_arch.relax.tir.predicates import hoist_predicates


def flat(function: Any) -> Any:
    """NS-TIR of an S-TIR PrimFunc: no blocks, buffers of one dimension, local buffers cut to the part in
    use.
    """
    return simplified(without_blocks(compact(function)))


def lower_definition(definition: Definition, kind: str) -> PrintedFunction:
    """The C of a TE definition."""
    return lower_tuned(definition, kind, NOTHING_TUNED)[0]


def lower_spread(definition: Definition, kind: str, run: int, stride: int) -> PrintedFunction:
    """The C of a TE definition whose output goes to rows of `run` elements, `stride` elements apart."""
    named = scheduled(definition)
    function = without_blocks(compact(named))
    out = function.params[-1]
    declared = [each for each in function.body.seq if isinstance(each, tirx.DeclBuffer)]
    views = [each.buffer for each in declared if each.data.args[0].same_as(out)]

    def spread(store: Any) -> Any:
        if not any(store.buffer.same_as(view) for view in views):
            return store
        index = store.indices[0]
        moved = tirx.floordiv(index, run) * stride + tirx.floormod(index, run)
        return tirx.BufferStore(store.buffer, store.value, [moved])

    body = tvm_ffi.structural_map(function.body, (tirx.BufferStore, spread))
    made = simplified(function.with_body(body))
    printed = print_function(made.with_body(hoist_predicates(made.body)), kind, loops=loop_names(named))
    return evolve(printed, function=evolve(printed.function, in_place=()))


def lower_tuned(definition: Definition, kind: str, tuning: Tuning) -> tuple[PrintedFunction, str | None]:
    """The C of a TE definition, with the schedule of a tuning record where there is one; and its task."""
    function = te.create_prim_func(list(definition.arguments))
    made, task = tuned.scheduled(function, kind, definition.schedule, tuning)
    return print_scheduled(made, kind), task


def scheduled(definition: Definition) -> Any:
    """The S-TIR function of a TE definition, transformed as the definition says."""
    schedule = s_tir.Schedule(te.create_prim_func(list(definition.arguments)))
    definition.schedule(schedule)
    return schedule.mod["main"]


def print_scheduled(scheduled: Any, kind: str, *, wraps: bool = False) -> PrintedFunction:
    """The C of a scheduled S-TIR function. `wraps` as in `print_function`."""
    return print_function(lowered(scheduled), kind, loops=loop_names(scheduled), wraps=wraps)


def lowered(scheduled: Any) -> Any:
    """The NS-TIR that both C and object code are made from."""
    function = flat(scheduled)
    return function.with_body(hoist_predicates(function.body))


def loop_names(function: Any) -> dict[Any, str]:
    """Loop variables of an S-TIR function, by the block axis each of them alone stands for."""
    names: dict[Any, str] = {}

    def visit(realize: Any) -> None:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if isinstance(value, tirx.Var):
                names.setdefault(value, axis.var.name.removeprefix("v_"))

    tvm_ffi.structural_walk(function.body, (s_tir.SBlockRealize, visit))
    return names
