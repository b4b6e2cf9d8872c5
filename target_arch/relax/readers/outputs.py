"""Outputs of a model that are constants.

Tests: `tests/e2e/test_plain_graphs.py`.
"""

from typing import Any

from tvm import relax
from tvm.ir.expr import GenericConst

from target_arch.relax.ir.graph import with_main


def with_computed_outputs(module: Any) -> Any:
    """The module with an operator, a reshape that changes nothing, behind every constant that it returns."""
    function = module["main"]
    *before, last = function.body.blocks or [relax.DataflowBlock([])]
    bound = {binding.var: binding.value for block in (*before, last) for binding in block.bindings[:]}
    returned = _seen_through(function.body.body, bound)
    fields = list(returned.fields) if isinstance(returned, relax.Tuple) else [returned]
    values = [_seen_through(each, bound) for each in fields]
    if not any(isinstance(value, GenericConst) for value in values):
        return module
    added = []
    for index, value in enumerate(values):
        if isinstance(value, GenericConst):
            fields[index] = relax.Var(f"constant_{index}", value.ty)
            added.append(relax.VarBinding(fields[index], relax.op.reshape(value, list(value.ty.shape))))
    body = relax.SeqExpr(
        [*before, type(last)([*last.bindings, *added])],
        relax.Tuple(fields) if isinstance(returned, relax.Tuple) else fields[0],
    )
    return with_main(module, relax.Function(function.params, body, function.ret_ty))


def _seen_through(value: Any, bound: dict[Any, Any]) -> Any:
    """The constant or tuple that a variable stands for; else the value itself."""
    seen = value
    while isinstance(seen, relax.Var) and seen in bound:
        seen = bound[seen]
    return seen if isinstance(seen, GenericConst | relax.Tuple) else value
