"""IF and WHILE. Of a computed condition both subgraphs are computed and the results of one are selected,
where neither can fail, and so are the variables that they assign; a loop whose trips are known becomes its
iterations.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from attrs import define, field
from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_operators.site import Unreadable
from target_arch.relax.readers.tflite_operators.walk.branches import branches, check_total, loop
from target_arch.relax.readers.tflite_operators.walk.variables import Handle, Variables

MOST_OPERATORS = 20_000
"""Branches and loops of a model that would become more operators are refused."""


@define(eq=False)
class OpenedOperators:
    """How many operators the subgraphs of a model became so far."""

    operators: int = 0

    def add(self, operators: int) -> None:
        """A subgraph of so many operators. Unreadable beyond the limit."""
        self.operators += max(1, operators)
        if self.operators > MOST_OPERATORS:
            raise Unreadable(f"subgraphs would become more than {MOST_OPERATORS:,} operators")


@define(kw_only=True, eq=False)
class Subgraphs:
    """The subgraphs that operators of one graph run; `outputs` gives those of a subgraph, by its number and
    its inputs.
    """

    model: Any
    builder: Any
    variables: Variables
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
        wanted = self.builder.emit(relax.op.reshape(condition, ()))
        return self._selected(wanted, *(partial(self.outputs, index, given) for index in found))

    def _selected(
        self, wanted: Any, then: Callable[[], list[Any]], other: Callable[[], list[Any]]
    ) -> list[Any]:
        """The results of the branch that is taken; variables have the values that it leaves."""
        before = self.variables.now()
        results = then()
        left = self.variables.now()
        self.variables.go_back(before)

        def chosen(one: Any, another: Any) -> Any:
            return self._chosen(wanted, one, another)

        found = [chosen(*pair) for pair in zip(results, other(), strict=True)]
        self.variables.select(left, chosen)
        return found

    def _chosen(self, wanted: Any, one: Any, another: Any) -> Any:
        if isinstance(one, Handle) or isinstance(another, Handle):
            if one != another:
                raise Unreadable("its branches have different variables as a result")
            return one
        if (shape_of(one), dtype_of(one)) != (shape_of(another), dtype_of(another)):
            raise Unreadable("its branches have results of different shapes or types")
        return self.builder.emit(relax.op.where(wanted, one, another))

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
