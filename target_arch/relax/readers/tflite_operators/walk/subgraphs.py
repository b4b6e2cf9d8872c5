"""IF and WHILE. Of a computed condition both subgraphs are computed and the results of one are selected,
where neither can fail or keeps values from run to run; a loop whose trips are known becomes its iterations.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, field, frozen
from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import shape_of
from target_arch.relax.readers.tflite_operators.site import Unreadable
from target_arch.relax.readers.tflite_operators.walk.branches import branches, check_total, loop

MOST_OPERATORS = 20_000
"""Branches and loops of a model that would become more operators are refused."""


@define(eq=False)
class Inlined:
    """How many operators the subgraphs of a model became so far."""

    operators: int = 0

    def add(self, operators: int) -> None:
        """A subgraph of so many operators. Unreadable beyond the limit."""
        self.operators += max(1, operators)
        if self.operators > MOST_OPERATORS:
            raise Unreadable(f"subgraphs would become more than {MOST_OPERATORS:,} operators")


@frozen(kw_only=True, eq=False)
class Subgraphs:
    """The subgraphs that operators of one graph run; `outputs` gives those of a subgraph, by its number and
    its inputs.
    """

    model: Any
    builder: Any
    outputs: Callable[[int, list[Any]], list[Any]] = field(repr=False)

    def branched(self, operator: Any, values: list[Any]) -> list[Any]:
        """The outputs of an IF."""
        found = branches(self.model, operator)
        condition, *given = values
        taken = _known(condition)
        if taken is not None:
            return self.outputs(found[0] if taken else found[1], given)
        for index in found:
            check_total(self.model, index)
        results = [self.outputs(index, given) for index in found]
        return list(_selected(self.builder, condition, *results))

    def looped(self, operator: Any, values: list[Any]) -> list[Any]:
        """The outputs of a WHILE."""
        condition, body = loop(self.model, operator)
        while True:
            (further,) = self.outputs(condition, values)
            goes_on = _known(further)
            if goes_on is None:
                raise Unreadable("how often its subgraph runs is known only at run time")
            if not goes_on:
                return values
            values = self.outputs(body, values)


def _known(value: Any) -> bool | None:
    """The value of a condition; None of one that is computed."""
    return bool(np.all(value.value.numpy())) if isinstance(value, GenericConst) else None


def _selected(builder: Any, condition: Any, then: list[Any], other: list[Any]) -> Iterator[Any]:
    """Each result of the branch that is taken."""
    wanted = builder.emit(relax.op.reshape(condition, ()))
    for one, another in zip(then, other, strict=True):
        if shape_of(one) != shape_of(another):
            raise Unreadable("its branches have results of different shapes")
        yield builder.emit(relax.op.where(wanted, one, another))
