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
from target_arch.relax.readers.tflite_operators.walk.branches import branches, check_total, loop
from target_arch.relax.readers.tflite_operators.walk.loops import Subprogram, repeated
from target_arch.relax.readers.tflite_operators.walk.variables import Handle, Variables
from target_arch.relax.site import NotConverted

MOST_OPERATORS = 20_000
"""Branches and loops of a model that would become more operators are refused."""


Conditions = tuple[tuple[Any, bool], ...]
"""Expressions of one element, and whether each has to be true."""


@define(eq=False)
class OpenedOperators:
    """How many operators the subgraphs of a model became so far."""

    operators: int = 0

    def add(self, operators: int) -> None:
        """A subgraph of so many operators. NotConverted beyond the limit."""
        self.operators += max(1, operators)
        if self.operators > MOST_OPERATORS:
            raise NotConverted(f"subgraphs would become more than {MOST_OPERATORS:,} operators")


@define(kw_only=True, eq=False)
class Subgraphs:
    """The subgraphs that operators of one graph run, which itself runs on the conditions `taken`.

    `outputs` gives those of a subgraph, by its number and its inputs; `apart` makes a function of it, whose
    parameters are the inputs without a value, with the outputs of some numbers.
    """

    model: Any
    builder: Any
    variables: Variables
    taken: Conditions
    outputs: Callable[[int, list[Any], Conditions], list[Any]] = field(repr=False)
    apart: Callable[[int, list[Any], list[int]], Subprogram] = field(repr=False)

    def branched(self, operator: Any, values: list[Any]) -> list[Any]:
        """The outputs of an IF."""
        found = branches(self.model, operator)
        condition, *given = values
        taken = _known(condition)
        if taken is not None:
            return self.outputs(found[0] if taken else found[1], given, self.taken)
        for index in found:
            check_total(self.model, index)
        wanted = self.builder.emit(relax.op.reshape(condition, ()))
        then, other = (
            partial(self.outputs, index, given, (*self.taken, (wanted, holds)))
            for index, holds in zip(found, (True, False), strict=True)
        )
        return self._selected(wanted, then, other)

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
                raise NotConverted("its branches have different variables as a result")
            return one
        if (shape_of(one), dtype_of(one)) != (shape_of(another), dtype_of(another)):
            raise NotConverted("its branches have results of different shapes or types")
        return self.builder.emit(relax.op.where(wanted, one, another))

    def looped(self, operator: Any, values: list[Any]) -> list[Any]:
        """The outputs of a WHILE."""
        condition, body = loop(self.model, operator)
        while True:
            (further,) = self.outputs(condition, values, self.taken)
            goes_on = _known(further)
            if goes_on is None:
                return self._repeated(condition, body, values)
            if not goes_on:
                return values
            values = self.outputs(body, values, self.taken)

    def _repeated(self, condition: int, body: int, values: list[Any]) -> list[Any]:
        """The outputs of a loop whose trips are known only at run time."""
        graph = self.model.Subgraphs(body)
        kept = [graph.Inputs(number) == graph.Outputs(number) for number in range(len(values))]
        given = [
            value if same and isinstance(value, Handle | GenericConst) else None
            for value, same in zip(values, kept, strict=True)
        ]
        wanted = [number for number, known in enumerate(given) if known is None]
        moving = [values[number] for number in wanted]
        if any(isinstance(value, Handle) for value in moving):
            raise NotConverted("its variable is computed")
        programs = self.apart(condition, given, [0]), self.apart(body, given, wanted)
        found = iter(repeated(self.builder, self._active(), *programs, moving, self.variables))
        return [next(found) if known is None else known for known in given]

    def _active(self) -> Any:
        """Whether the graph runs."""
        active = relax.const(np.array([True]))
        for condition, holds in self.taken:
            one = self.builder.emit(relax.op.reshape(condition, (1,)))
            one = one if holds else self.builder.emit(relax.op.logical_not(one))
            active = self.builder.emit(relax.op.logical_and(active, one))
        return active


def _known(value: Any) -> bool | None:
    """The value of a condition; None of one that is computed."""
    return bool(np.all(value.value.numpy())) if isinstance(value, GenericConst) else None
