"""Different elements, or slices along an axis, as a function of C."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

_COUNT, _PLACE, _KNOWN = 0, 1, 2


def _whole(value: int, dtype: str = "int32") -> Any:
    return tirx.const(value, dtype)


@frozen(kw_only=True)
class DifferentSlices:
    """Of a tensor's slices along an axis, in one array: the first place of each different one, in the order
    of the first elements in which they differ if `is_sorted`, else of their places; of every slice the number
    of the one that it is like; how often each is there; how many there are.
    """

    shape: Sequence[int]
    axis: int
    is_sorted: bool

    @property
    def extent(self) -> int:
        """How many slices there are."""
        return self.shape[self.axis]

    def write(self, out: Any, x: Any) -> None:
        """All results, zeros behind the last different slice."""
        state, sign = local("state", (3,), "int32"), local("sign", (1,), "int32")
        with ib.serial(0, 3 * self.extent + 1) as i:
            ib.buffer_store(out, _whole(0, "int64"), [i])
        ib.buffer_store(state, _whole(0), [_COUNT])
        with ib.serial(0, self.extent) as i:
            self._find(out, x, state, sign, i)
            with ib.If(tirx.EQ(state[_KNOWN], 0)), ib.Then():
                self._insert(out, state, i)
        with ib.serial(0, self.extent) as i:
            self._count(out, x, state, sign, i)
        ib.buffer_store(out, state[_COUNT].astype("int64"), [3 * self.extent])

    def _compare(self, x: Any, sign: Any, i: Any, j: Any) -> None:
        """The sign of the first difference of two slices."""
        others = [size for place, size in enumerate(self.shape) if place != self.axis]
        ib.buffer_store(sign, _whole(0), [0])
        with ib.grid(*others, 1, 1) as around:
            at = list(around)[: len(others)]
            a, b = (x[[*at[: self.axis], each, *at[self.axis :]]] for each in (i, j))
            if str(x.dtype) == "bool":
                a, b = a.astype("int32"), b.astype("int32")
            # Not a condition around it: TVM takes what a loop writes for a constant of the loop.
            is_first = tirx.all(tirx.EQ(sign[0], 0), a != b)
            ib.buffer_store(
                sign, tirx.Select(is_first, tirx.Select(a < b, _whole(-1), _whole(1)), sign[0]), [0]
            )

    def _find(self, out: Any, x: Any, state: Any, sign: Any, i: Any) -> None:
        """The place of a slice among the different ones so far, and whether it is one of them."""
        ib.buffer_store(state, state[_COUNT], [_PLACE])
        ib.buffer_store(state, _whole(0), [_KNOWN])
        with ib.serial(0, self.extent) as j, ib.If(j < state[_COUNT]), ib.Then():
            self._compare(x, sign, i, out[j].astype("int32"))
            with ib.If(tirx.EQ(sign[0], 0)), ib.Then():
                ib.buffer_store(state, _whole(1), [_KNOWN])
            if self.is_sorted:
                with ib.If(tirx.all(sign[0] < 0, state[_PLACE] > j)), ib.Then():
                    ib.buffer_store(state, j.astype("int32"), [_PLACE])

    def _insert(self, out: Any, state: Any, i: Any) -> None:
        with ib.serial(0, self.extent) as step:
            at = self.extent - 1 - step
            with ib.If(tirx.all(at > state[_PLACE], at <= state[_COUNT])), ib.Then():
                ib.buffer_store(out, out[at - 1], [at])
        ib.buffer_store(out, i.astype("int64"), [state[_PLACE]])
        ib.buffer_store(state, state[_COUNT] + 1, [_COUNT])

    def _count(self, out: Any, x: Any, state: Any, sign: Any, i: Any) -> None:
        """The number of the different slice that a slice is like."""
        number, often = self.extent, 2 * self.extent
        ib.buffer_store(state, _whole(0), [_KNOWN])
        with ib.serial(0, self.extent) as j, ib.If(j < state[_COUNT]), ib.Then():
            self._compare(x, sign, i, out[j].astype("int32"))
            with ib.If(tirx.all(tirx.EQ(sign[0], 0), tirx.EQ(state[_KNOWN], 0))), ib.Then():
                ib.buffer_store(state, _whole(1), [_KNOWN])
                ib.buffer_store(out, j.astype("int64"), [number + i])
                ib.buffer_store(out, out[often + j] + _whole(1, "int64"), [often + j])
