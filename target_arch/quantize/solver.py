"""The choice of a precision for each layer: the least error within limits, by OR-tools' CP-SAT.

Errors, constants and times of layers add up; of the bytes of tensors the largest change counts, since they
live one after the other. Tests: `tests/quantize/test_solver.py`, which enumerates all choices.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from attrs import define, field, frozen

from target_arch.explore.measures import BYTES
from target_arch.quantize.library import library_missing
from target_arch.quantize.precision import Precisions

_ERROR_UNIT, _TIME_UNIT, _SHARE_UNIT = 1e-12, 1e-12, 1e-6
"""The solver computes in whole numbers of these: of errors, of seconds and joules, of shares of a limit; and
of bytes."""
_ROUNDING = 1e-6
"""A share of a unit that is an error of rounding."""
_MOST = 1 << 50
_EFFORT = 20.0
"""How long a choice is searched for, in the solver's deterministic time."""


@frozen(kw_only=True)
class LayerPrices:
    """The effects of each choice of a layer: `errors` of the result, and what is `added` to a measure, as
    constants and time are; or, of the bytes of `tensors`, needed beside those of the base.
    """

    errors: tuple[float, ...]
    added: Mapping[str, tuple[float, ...]]
    tensors: Mapping[str, tuple[float, ...]]


@frozen(kw_only=True)
class Problem:
    """Layers with their choices; `base` are the measures where nothing is added, `most` their limits."""

    choices: tuple[Precisions, ...]
    layers: tuple[LayerPrices, ...] = field(repr=False)
    base: Mapping[str, float]
    most: Mapping[str, float]

    @property
    def combinations(self) -> int:
        """How many choices there are for all layers together."""
        return math.prod(map(len, self.choices))

    def predicted(self, precisions: Precisions, measure: str) -> float:
        """A measure of these precisions."""
        numbers = [choices.index(one) for choices, one in zip(self.choices, precisions, strict=True)]
        pairs = list(zip(self.layers, numbers, strict=True))
        added = sum(layer.added[measure][number] for layer, number in pairs)
        tensors = max(layer.tensors[measure][number] for layer, number in pairs)
        return self.base[measure] + added + max(tensors, 0.0)


def best(problem: Problem, without: Iterable[Precisions]) -> Precisions | None:
    """The precisions with the least sum of errors that keep all limits, and are none of those `without`; None
    where there are none. ToolMissing without OR-tools.
    """
    solving = _Solving.of(problem, without)
    for name, most in problem.most.items():
        unit = 1.0 if name.startswith(BYTES) else _TIME_UNIT
        solving.model.add(solving.total(name, unit) <= math.floor(most / unit))
    solving.model.minimize(solving.sum(lambda layer: layer.errors, _ERROR_UNIT))
    return solving.precisions()


def nearest(problem: Problem, without: Iterable[Precisions]) -> Precisions | None:
    """The precisions whose largest share of a limit is least; else as `best`."""
    solving = _Solving.of(problem, without)
    share = solving.model.new_int_var(0, _MOST, "share")
    for name, most in problem.most.items():
        solving.model.add(solving.total(name, max(most, _TIME_UNIT) * _SHARE_UNIT) <= share)
    solving.model.minimize(share)
    return solving.precisions()


@define(eq=False)
class _Solving:
    """A model of CP-SAT with a variable for each choice of each layer, one of which is 1."""

    problem: Problem
    solver: Any
    model: Any
    chosen: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, problem: Problem, without: Iterable[Precisions]) -> "_Solving":
        try:
            solver = import_module("ortools.sat.python.cp_model")
        except ImportError as error:
            raise library_missing("ortools") from error
        model = solver.CpModel()
        chosen = tuple(
            tuple(model.new_bool_var(f"{layer} {choice}") for choice in choices)
            for layer, choices in enumerate(problem.choices)
        )
        for variables in chosen:
            model.add_exactly_one(variables)
        solving = cls(problem, solver, model, chosen)
        for precisions in without:
            model.add(sum(solving.variables(precisions)) < len(chosen))
        return solving

    def variables(self, precisions: Precisions) -> list[Any]:
        """The variables that are 1 for these precisions."""
        rows = zip(self.problem.choices, self.chosen, precisions, strict=True)
        return [variables[choices.index(one)] for choices, variables, one in rows]

    def sum(self, values: Callable[[LayerPrices], Sequence[float]], unit: float) -> Any:
        """The sum of a value of all choices that are taken, in whole units, rounded up."""
        return sum(
            math.ceil(value / unit - _ROUNDING) * variable
            for layer, variables in zip(self.problem.layers, self.chosen, strict=True)
            for value, variable in zip(values(layer), variables, strict=True)
        )

    def total(self, name: str, unit: float) -> Any:
        """A measure of the choices that are taken, in whole units."""
        tensors = self.model.new_int_var(0, _MOST, f"tensors {name}")
        for layer, variables in zip(self.problem.layers, self.chosen, strict=True):
            for value, variable in zip(layer.tensors[name], variables, strict=True):
                self.model.add(tensors >= math.ceil(value / unit - _ROUNDING) * variable)
        added = self.sum(lambda layer: layer.added[name], unit)
        return math.ceil(self.problem.base[name] / unit - _ROUNDING) + added + tensors

    def precisions(self) -> Precisions | None:
        """The solution; None where there is none."""
        search = self.solver.CpSolver()
        search.parameters.num_workers = 1
        search.parameters.random_seed = 0
        search.parameters.max_deterministic_time = _EFFORT
        status = search.solve(self.model)
        if status not in (self.solver.OPTIMAL, self.solver.FEASIBLE):
            return None
        return tuple(
            next(
                one
                for one, variable in zip(choices, variables, strict=True)
                if search.boolean_value(variable)
            )
            for choices, variables in zip(self.problem.choices, self.chosen, strict=True)
        )
