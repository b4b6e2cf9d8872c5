"""The way out: a placed model as a Relax module with a function for each partition.

The module is the program that was imported, in its author's layout and element types, cut where the placement
cuts it: TVM builds it alone, runs passes on it, or hands the functions to a code generator. What the planner
added, as copies into other layouts, is not in it.

Tests: `tests/relax/test_partitioned.py`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import tvm
from attrs import frozen
from tvm import relax, tirx

from target_arch.plan.partitions import Partition
from target_arch.relax.ir.graph import Graph, called_function
from target_arch.relax.ir.variables import variables_of
from target_arch.relax.operators.program import RelaxProgram, substituted

INSTANCE = "target_arch.instance"
"""The attribute of a partition's function that names its instance."""
OPERATORS = "target_arch.operators"
"""The attribute that has the ids of its operators."""
SYMBOL = "global_symbol"


@frozen(kw_only=True, eq=False)
class _Cut:
    """A partition in the program: the variables that it computes, in order, that it reads of others, and that
    others read.
    """

    partition: Partition
    inside: tuple[Any, ...]
    reads: tuple[Any, ...]
    results: tuple[Any, ...]


def partitioned_module(
    program: RelaxProgram, partitions: Sequence[Partition], prefix: str, codegen: str | None
) -> Any:
    """The module. `main` calls `<prefix>_<partition>` for each partition that has operators of the program.

    With `codegen` these functions are for that code generator of TVM, except for those that call functions of
    TIR, which only TVM has.
    """
    graph, cuts = program.graph, _cuts(program, partitions)
    tir = {var: each for var, each in program.module.functions.items() if isinstance(each, tirx.PrimFunc)}
    builder = relax.BlockBuilder(tvm.IRModule(tir))
    known: dict[Any, Any] = {}
    with builder.function("main", [_declared(var, known) for var in graph.function.params]):
        with builder.dataflow():
            for cut in cuts:
                name = f"{prefix}_{cut.partition.id}"
                called = builder.add_func(_function(graph, cut, name, codegen), name)
                value = builder.emit(relax.Call(called, [known[var] for var in cut.reads]), cut.partition.id)
                known |= _taken_apart(value, cut.results)
            for var in _behind(graph, graph.outputs, known):
                known[var] = builder.emit(substituted(graph.bound[var], known), str(var.name))
            results = [builder.emit_output(known[var]) for var in graph.outputs]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    return builder.finalize()


def _cuts(program: RelaxProgram, partitions: Sequence[Partition]) -> tuple[_Cut, ...]:
    """The partitions in the program, those without a variable in it left out."""
    graph, results = program.graph, program.results
    own = {
        partition.id: tuple(results[each.id] for each in partition.operators if each.id in results)
        for partition in partitions
    }
    everywhere = frozenset(var for variables in own.values() for var in variables)
    insides = {id: _behind(graph, variables, everywhere - {*variables}) for id, variables in own.items()}
    wanted = frozenset((*_reads(graph, _behind(graph, graph.outputs, everywhere)), *graph.outputs))
    reads = {id: _outside(graph, inside) for id, inside in insides.items()}
    wanted |= {var for variables in reads.values() for var in variables}
    return tuple(
        _Cut(
            partition=partition,
            inside=insides[partition.id],
            reads=reads[partition.id],
            results=tuple(var for var in own[partition.id] if var in wanted),
        )
        for partition in partitions
        if any(var in wanted for var in own[partition.id])
    )


def _behind(graph: Graph, variables: Iterable[Any], known: Iterable[Any]) -> tuple[Any, ...]:
    """The variables to compute for these, from known ones and the inputs, in the order of the program."""
    there, queue = frozenset(known), list(variables)
    needed: dict[Any, None] = {}
    while queue:
        var = queue.pop()
        if var in there or var in needed or graph.is_parameter(var):
            continue
        needed[var] = None
        queue += variables_of(graph.bound[var])
    return tuple(sorted(needed, key=graph.positions.__getitem__))


def _reads(graph: Graph, variables: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(read for var in variables for read in variables_of(graph.bound[var])))


def _outside(graph: Graph, inside: Sequence[Any]) -> tuple[Any, ...]:
    """The variables that these read and are not among them."""
    own = frozenset(inside)
    return tuple(var for var in _reads(graph, inside) if var not in own)


def _function(graph: Graph, cut: _Cut, name: str, codegen: str | None) -> Any:
    """The function of a partition."""
    known: dict[Any, Any] = {}
    builder = relax.BlockBuilder()
    with builder.function("main", [_declared(var, known) for var in cut.reads]):
        with builder.dataflow():
            for var in cut.inside:
                known[var] = builder.emit(substituted(graph.bound[var], known), str(var.name))
            results = [builder.emit_output(known[var]) for var in cut.results]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    function = builder.get()["main"].with_attr(SYMBOL, name)
    function = function.with_attr(INSTANCE, cut.partition.instance)
    function = function.with_attr(OPERATORS, [operator.id for operator in cut.partition.operators])
    calls_tir = any(called_function(graph.bound[var]) is not None for var in cut.inside)
    return function if codegen is None or calls_tir else function.with_attr("Codegen", codegen)


def _declared(var: Any, known: dict[Any, Any]) -> Any:
    """A parameter for a variable, which is known from here on."""
    known[var] = relax.Var(str(var.name), var.ty)
    return known[var]


def _taken_apart(value: Any, variables: Sequence[Any]) -> dict[Any, Any]:
    """The results of a call by the variables that they are."""
    if len(variables) == 1:
        return {variables[0]: value}
    return {var: relax.TupleGetItem(value, number) for number, var in enumerate(variables)}
