"""The TIR of a partition, as its backend's hooks lower it, for programs that read or build it themselves.

Tests: `tests/relax/test_partitioned.py`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import tvm
from attrs import evolve

from target_arch.backend.hooks import Hooks, TirFunction
from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.model import Operator
from target_arch.plan.operators.facts import Lowering
from target_arch.relax.lower.fallback import legal_function, names_of
from target_arch.relax.lower.hook_stages import graph, ns_tir, s_tir_functions

OPERATOR, OPERANDS, WRITES = "target_arch.operator", "target_arch.operands", "target_arch.writes"
"""Attributes of a function: the operator that it belongs to, the tensors of its parameters in order, and
those of them that it writes."""


def partition_tir(hooks: Hooks | None, request: LoweringRequest) -> Any:
    """An IRModule of functions in NS-TIR in the order of the operators, called as these are; further ones of
    an operator have a number, too.

    With hooks they are those of the backend, scheduled within the budget of the request; without, those of
    the operators' definitions, and TVM's own of operators that TVM alone lowers; operators that are copies
    have none. Raises as the hooks do.
    """
    functions: dict[str, Any] = {}
    counts = Counter[str]()
    for each in _functions(hooks, request):
        number = counts[each.operator]
        counts[each.operator] += 1
        name = f"{each.operator}_{number}" if number else each.operator
        function = each.function.with_attr("global_symbol", name).with_attr(OPERATOR, each.operator)
        function = function.with_attr(OPERANDS, list(each.operands)).with_attr(WRITES, list(each.writes))
        functions[name] = function
    return tvm.IRModule(functions)


def _functions(hooks: Hooks | None, request: LoweringRequest) -> tuple[TirFunction, ...]:
    if hooks is not None:
        return ns_tir(hooks, s_tir_functions(hooks, graph(hooks, request), request), request)
    found: list[TirFunction] = []
    for operator in request.partition.operators:
        alone = evolve(request, partition=evolve(request.partition, operators=(operator,), regions=()))
        if operator.lowering is Lowering.TVM:
            found += ns_tir(Hooks(), tuple(_of_tvm(operator, request)), alone)
        elif operator.lowering not in (Lowering.COPIES, Lowering.ONE_COPY):
            found += ns_tir(Hooks(), s_tir_functions(Hooks(), graph(Hooks(), alone), alone), alone)
    return tuple(found)


def _of_tvm(operator: Operator, request: LoweringRequest) -> Iterator[TirFunction]:
    """The functions that TVM's legalization makes of an operator."""
    legal = legal_function(request.program.alone(operator.id))
    constants = tuple(evolve(each, name=f"{operator.id}.{each.name}") for each in legal.constants)
    for call in legal.calls:
        reads, writes = (names_of(names, operator) for names in (call.reads, call.writes))
        yield TirFunction(
            operator=operator.id,
            kind=str(operator.kind),
            function=call.function,
            operands=(*reads, *writes),
            writes=writes,
            constants=constants,
        )
