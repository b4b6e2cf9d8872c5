"""The TVM side of an imported model, kept beside `plan.Model` to lower single Relax calls."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from tvm import relax
from tvm.ir import IRModule

from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.graph import Graph, called_function
from target_arch.relax.ir.variables import variables_of
from target_arch.relax.patterns.matcher import Draft


@frozen(kw_only=True, eq=False)
class RelaxProgram:
    """The Relax program a model was imported as.

    `functions` has, for every operator that TVM lowers, a Relax function of its inputs (in the order of
    `Operator.inputs`) that returns its output; constants are inside. `graph` are the facts of `main`.
    `constant_names` maps a constant's `content_of` to the name its author gave it. `results` has the variable
    of `main` that each operator of the program computes, by the operator's id. `loaded` is the file's program
    as the library has it that wrote the file, for its reference to run; None where that reads the file.
    """

    module: IRModule
    graph: Graph = field(repr=False)
    functions: Mapping[str, Any] = field(factory=dict, repr=False)
    constant_names: Mapping[bytes, str] = field(factory=dict, repr=False)
    results: Mapping[str, Any] = field(factory=dict, repr=False)
    loaded: Any = field(default=None, repr=False)

    def alone(self, operator: str) -> IRModule:
        """The function of such an operator as `main` of a module, with the TIR functions that it calls."""
        function = self.functions[operator].with_attr("global_symbol", "main")
        values = (binding.value for binding in bindings_of(function))
        called = {tir: self.module[tir] for value in values if (tir := called_function(value)) is not None}
        return IRModule({"main": function, **called})


def function_of(graph: Graph, draft: Draft) -> Any:
    """The operator of a draft as a Relax function with one parameter per input, in order."""
    parameters = {var: relax.Var(f"x{index}", var.ty) for index, var in enumerate(draft.inputs)}
    order = _inside(graph, draft)
    builder = relax.BlockBuilder()
    with builder.function("main", list(parameters.values())):
        with builder.dataflow():
            known = dict(parameters)
            for var in order:
                known[var] = builder.emit(substituted(graph.bound[var], known))
            result = builder.emit_output(known[draft.output])
        builder.emit_func_output(result)
    return builder.get()["main"]


def _inside(graph: Graph, draft: Draft) -> list[Any]:
    """The variables to compute from the inputs of a draft to its output, constants too, in program order."""
    needed, queue = dict.fromkeys([draft.output]), [draft.output]
    while queue:
        for read in variables_of(graph.bound[queue.pop()]):
            if read in graph.positions and read not in draft.inputs and read not in needed:
                needed[read] = None
                queue.append(read)
    return sorted(needed, key=graph.positions.__getitem__)


def substituted(value: Any, known: Mapping[Any, Any]) -> Any:
    """The expression with the known values in place of its variables."""
    if isinstance(value, relax.Var):
        return known[value]
    if isinstance(value, relax.Call):
        arguments = [substituted(argument, known) for argument in value.args]
        return relax.Call(value.op, arguments, value.attrs, value.ty_args)
    if isinstance(value, relax.Tuple):
        return relax.Tuple([substituted(item, known) for item in value.fields])
    if isinstance(value, relax.TupleGetItem):
        return relax.TupleGetItem(substituted(value.tuple_value, known), value.index)
    return value
