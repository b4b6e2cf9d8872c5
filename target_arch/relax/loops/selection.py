"""The best elements of many, in order, as a function of C: a heap of places in the result itself."""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

_ITEM, _RANK, _CHILD, _BELOW = range(4)


@frozen(kw_only=True, eq=False)
class BestElements:
    """`value(i)` is an element, `get(rank)` and `put(rank, i)` read and write the place of a chosen one. Of
    equal elements the first one is better.

    While elements are chosen, the worst one is at rank 0, and none at 2 * rank + 1 and 2 * rank + 2 is worse
    than that at `rank`. To choose k of n takes n comparisons and few moves in a random order, n * log(k) of
    both at most.
    """

    value: Callable[[Any], Any]
    get: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    largest: bool

    def write(self, extent: int, k: int, dtype: str) -> None:
        """Put the places of the `k` best of `extent` elements of this type, the best first."""
        state, worst = local("state", (4,), "int32"), local("worst", (1,), dtype)
        with ib.serial(0, k) as rank:
            self.put(rank, rank)
        with ib.serial(0, k // 2) as step:
            rank = k // 2 - 1 - step
            self._sink(state, self.get(rank), rank, k)
        if k < extent:
            ib.buffer_store(worst, self.value(self.get(0)), [0])
            with (
                ib.serial(0, extent - k) as step,
                ib.If(self._beats(self.value(k + step), worst[0])),
                ib.Then(),
            ):
                self._sink(state, k + step, 0, k)
                ib.buffer_store(worst, self.value(self.get(0)), [0])
        with ib.serial(0, k - 1) as step:
            last = k - 1 - step
            ib.buffer_store(state, self.get(last), [_ITEM])
            self.put(last, self.get(0))
            self._sink(state, state[_ITEM], 0, last)

    def _sink(self, state: Any, item: Any, rank: Any, count: Any) -> None:
        """Put an item at this rank or below, among the first `count`, behind what is worse."""
        for number, value in ((_ITEM, item), (_RANK, rank), (_CHILD, 2 * rank + 1)):
            ib.buffer_store(state, tirx.convert(value).astype("int32"), [number])
        rank, child, below = state[_RANK], state[_CHILD], state[_BELOW]
        with ib.While(child < count):
            ib.buffer_store(state, self.get(child), [_BELOW])
            with ib.If(child + 1 < count), ib.Then():
                beside = self.get(child + 1)
                with ib.If(self._is_worse(beside, below)), ib.Then():
                    ib.buffer_store(state, beside, [_BELOW])
                    ib.buffer_store(state, child + 1, [_CHILD])
            with ib.If(self._is_worse(below, state[_ITEM])):
                with ib.Then():
                    self.put(rank, below)
                    ib.buffer_store(state, child, [_RANK])
                    ib.buffer_store(state, 2 * child + 1, [_CHILD])
                with ib.Else():
                    ib.buffer_store(state, tirx.convert(count).astype("int32"), [_CHILD])
        self.put(state[_RANK], state[_ITEM])

    def _beats(self, a: Any, b: Any) -> Any:
        return a > b if self.largest else a < b

    def _is_worse(self, i: Any, j: Any) -> Any:
        a, b = self.value(i), self.value(j)
        return tirx.any(self._beats(b, a), tirx.all(tirx.EQ(a, b), i > j))
