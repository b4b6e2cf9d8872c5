"""The work of a function of TIR, counted by the extents of its loops.

A function that a reader wrote has loops of its own: how often they turn follows from no shape of its
operands, as in the cells of a recurrent layer.
"""

from collections.abc import Iterator
from typing import Any

import tvm_ffi
from attrs import frozen
from tvm import ir, s_tir, sym, tirx
from tvm.ir.prim.expr import BinaryOpExpr, CmpExpr, LogicalExpr
from tvm.script.ir_builder import tirx as ib

_REAL, _FUNCTION = 2, 60
"""Operations that one of floats counts as, and a call of a function of floats, as of `exp`."""
_UNKNOWN = 2**31 - 1
"""The longest extent of a loop of which nothing else is known."""
TURNS = "turns"
"""The attribute of a statement whose one loop turns so often on average, which its extent does not say."""
_OPERATION = (BinaryOpExpr, CmpExpr, LogicalExpr, tirx.Not, tirx.Select, ir.TensorLoad)


@frozen(kw_only=True)
class LoopWork:
    """Products that are added to a sum, and all other operations, loads among them: those of floats count as
    several.
    """

    products: int
    operations: int


def loop_work(function: Any) -> LoopWork:
    """The work of one call. A loop that ends on a condition or at a number that is in memory counts as one
    turn, one whose extent depends on another loop as its longest; one inside of an attribute `TURNS` as that
    says.
    """
    products = operations = 0.0
    for turns, store in _stores(function.body, 1, sym.Analyzer()):
        if _adds_a_product(store):
            products += turns
        else:
            operations += turns * (1 + _operations(store.value))
    return LoopWork(products=round(products), operations=round(operations))


def turning(turns: float) -> Any:
    """The statement around a loop that turns so often on average."""
    return ib.attr(tirx.const(0, "int32"), TURNS, tirx.const(turns, "float32"))


def _stores(statement: Any, turns: float, analyzer: Any) -> Iterator[tuple[float, Any]]:
    """Every store, and how often it is executed."""
    match statement:
        case tirx.BufferStore():
            yield turns, statement
        case tirx.AttrStmt() if statement.attr_key == TURNS:
            loop = statement.body
            yield from _stores(loop.body, turns * float(statement.value.value), analyzer)
        case tirx.For():
            analyzer.bind(statement.loop_var, ir.Range.from_min_extent(statement.min, statement.extent))
            longest = int(analyzer.const_int_bound(statement.extent).max_value)
            known = 1 if longest >= _UNKNOWN else max(longest, 0)
            yield from _stores(statement.body, turns * known, analyzer)
        case tirx.SeqStmt():
            for one in statement.seq:
                yield from _stores(one, turns, analyzer)
        case tirx.IfThenElse():
            for one in (statement.then_case, statement.else_case):
                yield from _stores(one, turns, analyzer)
        case s_tir.SBlockRealize():
            yield from _stores(statement.block.body, turns, analyzer)
        case _ if hasattr(statement, "body"):
            yield from _stores(statement.body, turns, analyzer)


def _adds_a_product(store: Any) -> bool:
    """True for `sum[i] = sum[i] + a * b`."""
    value = store.value
    if not isinstance(value, tirx.Add):
        return False
    own = isinstance(value.a, ir.TensorLoad) and value.a.source.same_as(store.buffer)
    return own and isinstance(value.b, tirx.Mul)


def _operations(value: Any) -> int:
    """Operations of an expression."""
    found = 0

    def count(node: Any) -> None:
        nonlocal found
        if isinstance(node, (ir.Call, *_OPERATION)):
            real = str(node.ty.dtype).startswith("float")
            found += (_FUNCTION if isinstance(node, ir.Call) else _REAL) if real else 1

    tvm_ffi.structural_walk(value, (tvm_ffi.Object, count))
    return found
