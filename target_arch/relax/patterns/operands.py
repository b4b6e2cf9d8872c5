"""Which calls a pattern may match, by the operators of their operands: TVM is asked only about these."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from tvm import ir
from tvm.relax import dpl

_REORDERED = ("relax.add", "relax.multiply", "relax.divide")
"""TVM tries their operands in other orders, too."""


@frozen(kw_only=True)
class Alternative:
    """A call that a pattern matches: its operator, and for each operand the operators whose result it may be.
    None where it may be anything.
    """

    operator: str | None
    operands: tuple[frozenset[str] | None, ...] = ()

    def may_be(self, operator: str, operands: Sequence[str]) -> bool:
        """False for a call of the operator on results of other ones, empty where they are no result."""
        if self.operator not in (None, operator):
            return False
        return all(
            names is None or not own or own in names
            for own, names in zip(operands, self.operands, strict=False)
        )


def alternatives(pattern: Any) -> tuple[Alternative, ...]:
    """All that the pattern may match."""
    if isinstance(pattern, dpl.OrPattern):
        return alternatives(pattern.left) + alternatives(pattern.right)
    operator = _operator(pattern)
    if operator is None or operator in _REORDERED or pattern.args is None:
        return (Alternative(operator=operator),)
    return (Alternative(operator=operator, operands=tuple(_operators(one) for one in pattern.args)),)


def _operators(pattern: Any) -> frozenset[str] | None:
    if not isinstance(pattern, dpl.OrPattern):
        operator = _operator(pattern)
        return None if operator is None else frozenset((operator,))
    left, right = _operators(pattern.left), _operators(pattern.right)
    return None if left is None or right is None else left | right


def _operator(pattern: Any) -> str | None:
    called = pattern.op if isinstance(pattern, dpl.CallPattern) else None
    if not isinstance(called, dpl.ExprPattern) or not isinstance(called.expr, ir.Op):
        return None
    return str(called.expr.name)
