"""Values as runs of elements in buffers that they share, since a function has few operands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from tvm.script.ir_builder import tirx as ib

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.c.printer import STACK_BYTES
from target_arch.relax.repeated.straight import Straight
from target_arch.relax.site import local

Array = np.ndarray[Any, Any]
Form = tuple[int, str]
"""The number and the type of elements."""


@frozen(kw_only=True, eq=False)
class SharedRun:
    """`size` elements of a buffer, from `first` on."""

    buffer: Any
    size: int
    first: int = 0

    def load(self, index: Any) -> Any:
        """An element."""
        return self.buffer[self.first + index]

    def store(self, value: Any, index: Any) -> None:
        """An element, as a statement of the builder in force."""
        ib.buffer_store(self.buffer, value, [self.first + index])

    def copy(self, source: "SharedRun") -> None:
        """All elements, those of another place."""
        with ib.serial(0, self.size) as i:
            self.store(source.load(i), i)


def allocated(forms: Sequence[Form]) -> list[SharedRun]:
    """A place of its own for each; those too large for the stack share a buffer for each type."""
    sums: dict[str, int] = {}
    found: list[tuple[int, str, int | None]] = []
    for size, dtype in forms:
        large = size * DTYPE_BYTES[dtype] > STACK_BYTES
        found.append((size, dtype, sums.get(dtype, 0) if large else None))
        if large:
            sums[dtype] = sums.get(dtype, 0) + size
    shared = {dtype: local("values", (size,), dtype) for dtype, size in sums.items()}
    return [
        SharedRun(buffer=local("value", (size,), dtype), size=size)
        if first is None
        else SharedRun(buffer=shared[dtype], size=size, first=first)
        for size, dtype, first in found
    ]


@define(eq=False)
class Constants:
    """The constants of subprograms, one after the other, in an array for each element type."""

    arrays: dict[str, list[Array]] = field(factory=dict)
    _placed: list[tuple[str, str, int, int]] = field(factory=list)

    @classmethod
    def of(cls, programs: Sequence[Straight]) -> "Constants":
        """The constants of these subprograms."""
        made = cls()
        for number, program in enumerate(programs):
            for name, values in program.constants.items():
                made._add(f"{number} {name}", values)
        return made

    def _add(self, name: str, values: Array) -> None:
        dtype = str(values.dtype)
        before = self.arrays.setdefault(dtype, [])
        self._placed.append((name, dtype, sum(each.size for each in before), values.size))
        before.append(values.reshape(-1))

    @property
    def joined(self) -> tuple[Array, ...]:
        """The arrays."""
        return tuple(np.concatenate(each) for each in self.arrays.values())

    def places(self, number: int, operands: Sequence[Any]) -> Mapping[str, SharedRun]:
        """The constants of a subprogram by name, in the operands that the arrays are."""
        buffers = dict(zip(self.arrays, operands, strict=True))
        return {
            name.split(" ", 1)[1]: SharedRun(buffer=buffers[dtype], size=size, first=first)
            for name, dtype, first, size in self._placed
            if name.startswith(f"{number} ")
        }
