"""Moves the conditions of padded reductions out of the loops they do not depend on.

A padded sum is written as `acc = acc + (inside ? term : 0)`. Here that becomes `if (inside) acc = acc +
term`, and every conjunct of `inside` goes up to the innermost loop it names: the inner loop over channels
then runs without a test.
"""

import math
from collections.abc import Iterator
from typing import Any

import tvm_ffi
from tvm import ir, tirx

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.tir.nests import with_body


def hoist_predicates(statement: Any) -> Any:
    """The statement with its predicated reductions guarded by `if`, as far out as possible. Meaning is
    unchanged.
    """
    if isinstance(statement, tirx.SeqStmt):
        return tirx.SeqStmt([hoist_predicates(child) for child in statement.seq])
    if isinstance(statement, tirx.For):
        return _hoisted_loop(statement)
    if isinstance(statement, tirx.IfThenElse) and statement.else_case is None:
        return tirx.IfThenElse(statement.condition, hoist_predicates(statement.then_case), None)
    if isinstance(statement, tirx.AttrStmt):
        body = hoist_predicates(statement.body)
        return tirx.AttrStmt(statement.node, statement.attr_key, statement.value, body)
    if isinstance(statement, tirx.BufferStore):
        return _guarded_store(statement)
    return statement


def _hoisted_loop(loop: Any) -> Any:
    body = hoist_predicates(loop.body)
    if not isinstance(body, tirx.IfThenElse) or body.else_case is not None:
        return with_body(loop, body)
    conjuncts = list(_conjuncts(body.condition))
    inner = [condition for condition in conjuncts if _mentions(condition, loop.loop_var)]
    outer = [condition for condition in conjuncts if not _mentions(condition, loop.loop_var)]
    looped = with_body(loop, _guarded(inner, body.then_case))
    return _guarded(outer, looped)


def _guarded(conditions: list[Any], statement: Any) -> Any:
    return tirx.IfThenElse(tirx.all(*conditions), statement, None) if conditions else statement


def _guarded_store(store: Any) -> Any:
    """`a = op(a, c ? v : identity)` as `if (c) a = op(a, v)`; other stores as they are."""
    value = store.value
    if not isinstance(value, tirx.Add | tirx.Max):
        return store
    for own, term in ((value.a, value.b), (value.b, value.a)):
        if not _reads_back(own, store) or not _is_selection(term):
            continue
        condition, chosen, otherwise = term.args
        if _is_identity(type(value), otherwise):
            return tirx.IfThenElse(
                condition, tirx.BufferStore(store.buffer, type(value)(own, chosen), store.indices), None
            )
    return store


def _reads_back(expr: Any, store: Any) -> bool:
    if not isinstance(expr, ir.TensorLoad) or not expr.source.same_as(store.buffer):
        return False
    return all(tvm_ffi.structural_equal(a, b) for a, b in zip(expr.indices, store.indices, strict=True))


def _is_selection(expr: Any) -> bool:
    return isinstance(expr, ir.Call) and str(getattr(expr.op, "name", "")).endswith(".if_then_else")


def _is_identity(operator: type, value: Any) -> bool:
    """True where combining with the constant changes nothing: 0 for a sum, the least value for a maximum."""
    if not isinstance(value, tirx.IntImm | tirx.FloatImm):
        return False
    if operator is tirx.Add:
        return float(value.value) == 0.0
    dtype = str(value.ty.dtype)
    if dtype.startswith("int"):
        return bool(int(value.value) == -(2 ** (8 * DTYPE_BYTES[dtype] - 1)))
    return bool(float(value.value) == (0.0 if dtype.startswith("uint") else -math.inf))


def _conjuncts(condition: Any) -> Iterator[Any]:
    if isinstance(condition, tirx.And):
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition


def _mentions(expr: Any, variable: Any) -> bool:
    if isinstance(expr, ir.Var):
        return bool(expr.same_as(variable))
    parts = [
        getattr(expr, name, None) for name in ("a", "b", "value", "condition", "true_value", "false_value")
    ]
    children = [*parts, *getattr(expr, "args", ()), *getattr(expr, "indices", ())]
    return any(isinstance(child, ir.Expr) and _mentions(child, variable) for child in children)
