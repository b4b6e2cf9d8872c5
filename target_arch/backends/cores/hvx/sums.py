"""Sums and differences of two tensors of int8 on different grids, 128 elements at once.

Both operands become words, are shifted and scaled as LiteRT does, added, and scaled to the grid of the
result. The last vector ends where the tensors end; it is computed first, since the result may replace an
operand.
"""

from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import PAIR, everywhere, intrinsic, kept, registers
from target_arch.backends.cores.hvx.requantizer import packed, rounded_twice
from target_arch.backends.cores.hvx.writer import (
    BYTE,
    BYTES,
    VECTOR,
    Pointer,
    Writer,
    store_vector,
    vector,
)
from target_arch.plan.arithmetic import Addition, addition
from target_arch.plan.model import Model, Operator
from target_arch.relax.lower.operators import definition_of, signature_of
from target_arch.relax.te.definition import Definition

OPERANDS = 3
"""Two that are added, and the result."""
_MOST_SHIFT = 30


@frozen(kw_only=True, eq=False)
class TensorSum:
    """The sum or difference of two tensors with so many bytes."""

    bytes: int
    about: Addition
    plain: Definition

    @property
    def room(self) -> int:
        return 0

    def definition(self) -> Definition:
        """The same in C."""
        return self.plain

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are the operands and the result."""
        out = to.view(pointers[2], 1)
        end = self.bytes - BYTES
        last = self._words(to, pointers, end) if self.bytes % BYTES else None
        with to.loop(self.bytes // BYTES) as some:
            store_vector(to, out, some * BYTES, packed(self._words(to, pointers, some * BYTES), self.about))
        if last:
            store_vector(to, out, end, packed(last, self.about))

    def _words(self, to: Writer, pointers: tuple[Pointer, ...], first: Any) -> list[Any]:
        """Four vectors with the 128 results from a place."""
        about = self.about
        one, two = (self._operand(to, pointers[side], first, side) for side in (0, 1))
        return [self._result(to, x + y if about.sign > 0 else x - y) for x, y in zip(one, two, strict=True)]

    def _operand(self, to: Writer, pointer: Pointer, first: Any, side: int) -> list[Any]:
        """128 values of an operand as four vectors of words, scaled."""
        about = self.about
        stored = tirx.reinterpret(VECTOR, vector(to.view(pointer, 1), first))
        halves = registers(to, intrinsic("vunpackb", stored, dtype=PAIR))
        words = [word for half in halves for word in registers(to, intrinsic("vunpackh", half, dtype=PAIR))]
        offset, left = everywhere(about.input_offsets[side]), everywhere(about.left_shift)
        multiplier, right = everywhere(about.input_multipliers[side]), -about.input_shifts[side]
        return [rounded_twice(to, (word + offset) << left, multiplier, right) for word in words]

    def _result(self, to: Writer, total: Any) -> Any:
        about = self.about
        total = kept(to, total)
        return kept(to, rounded_twice(to, total, everywhere(about.output_multiplier), -about.output_shift))


def sum_of(operator: Operator, model: Model) -> TensorSum | None:
    """The sum of two tensors of one shape; None where one is a constant or repeated, or a shift goes to the
    left.
    """
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if operator.constants or len(tensors) != OPERANDS or len({tensor.shape for tensor in tensors}) > 1:
        return None
    if {tensor.dtype for tensor in tensors} != {BYTE} or tensors[0].bytes < BYTES:
        return None
    about = addition(operator, model)
    if any(not -_MOST_SHIFT <= shift <= 0 for shift in (*about.input_shifts, about.output_shift)):
        return None
    plain = definition_of(signature_of(operator, model))
    return TensorSum(bytes=tensors[0].bytes, about=about, plain=plain)
