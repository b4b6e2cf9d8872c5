"""The places of elements that are not zero, as a function of C."""

from collections.abc import Sequence
from math import prod
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local


@frozen(kw_only=True)
class PlacesOfElements:
    """Of a tensor's elements that are not zero the places, in their order, in one array: a row for each
    element if `by_element`, else one for each dimension; then how many there are. Behind them are zeros.
    """

    shape: Sequence[int]
    by_element: bool

    @property
    def most(self) -> int:
        """How many there may be."""
        return prod(self.shape)

    @property
    def rows(self) -> tuple[int, int]:
        """The shape of the places."""
        rank = len(self.shape)
        return (self.most, rank) if self.by_element else (rank, self.most)

    @property
    def size(self) -> int:
        """The extent of the array."""
        return prod(self.rows) + 1

    def write(self, out: Any, x: Any) -> None:
        """All places, and their number."""
        rank = len(self.shape)
        per_element, per_dimension = (rank, 1) if self.by_element else (1, self.most)
        count = local("count", (1,), "int32")
        ib.buffer_store(count, tirx.const(0, "int32"), [0])
        with ib.serial(0, self.size) as i:
            ib.buffer_store(out, tirx.const(0, "int64"), [i])
        with ib.grid(*self.shape, 1) as places:
            at = list(places)[:rank]
            there = x[at] if str(x.dtype) == "bool" else x[at] != tirx.const(0, str(x.dtype))
            with ib.If(there), ib.Then():
                for dimension, place in enumerate(at):
                    index = dimension * per_dimension + count[0] * per_element
                    ib.buffer_store(out, place.astype("int64"), [index])
                ib.buffer_store(count, count[0] + 1, [0])
        ib.buffer_store(out, count[0].astype("int64"), [self.size - 1])
