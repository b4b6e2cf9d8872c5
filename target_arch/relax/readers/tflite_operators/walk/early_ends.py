"""Operators that end a run early: what later ones compute counts only in runs that go on."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from attrs import define, field
from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_operators.walk.variables import Handle, Variables
from target_arch.relax.site import NotConverted


@define(eq=False)
class EarlyEnds:
    """The places where runs of a graph may end, in order."""

    builder: Any
    variables: Variables
    _ends: list[tuple[Any, dict[str, Any]]] = field(factory=list)
    """Conditions on which runs go on, and the values of variables there."""
    _passed: dict[int, int] = field(factory=dict)
    """How many of them come before the operator that writes a tensor."""

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, goes_on: Any) -> Any:
        """An end of runs where `goes_on`, one element, is false; the condition without dimensions."""
        condition = self.builder.emit(relax.op.reshape(goes_on, ()))
        self._ends.append((condition, self.variables.now()))
        return condition

    def note(self, tensors: Iterable[int], passed: int) -> None:
        """The ends that come before the operator that writes these tensors."""
        self._passed |= dict.fromkeys(tensors, passed)

    def settle(self, tensors: list[int], values: list[Any]) -> list[Any]:
        """The values of these outputs after a run, of those that operators computed: where the run ended
        before, they are as the run before left them, zeros at first. So are variables.
        """
        for condition, before in reversed(self._ends):
            self.variables.select(before, partial(self._where, condition))
        return [self._held(index, value) for index, value in zip(tensors, values, strict=True)]

    def _held(self, index: int, value: Any) -> Any:
        passed = self._passed.get(index, 0)
        if not passed:
            return value
        if isinstance(value, Handle):
            raise NotConverted("a variable is an output of the model")
        name, shape, dtype = f"output/{index}", shape_of(value), dtype_of(value)
        left = self.variables.value(name, shape, dtype, f"output{index}_held")
        for condition, _ in self._ends[:passed]:
            value = self._where(condition, left, value)
        self.variables.assign(name, value, shape, dtype)
        return value

    def _where(self, goes_on: Any, before: Any, after: Any) -> Any:
        return self.builder.emit(relax.op.where(goes_on, after, before))
