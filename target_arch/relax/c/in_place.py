"""Parameters of a function that may alias: an output may overwrite an input, element by element.

That is safe if the function reads each element for the last time before it writes the element at the same
place. It is proven from the loops alone:

- One statement stores to the written parameter. Its index is a sum of loop variables, each times a number,
  and takes no value twice.
- Cut the loops around that statement in two: the stores of an outer turn are in a block of their own, and
  every load of the read parameter in that turn comes from the same block.
- In every outer turn all loads stand before the first store. Where the cut leaves no inner loop, the load may
  stand in the store itself.

An elementwise function is cut after its innermost loop, one that first fetches a whole row after the loop
over the rows. Pairs that cannot be proven safe are excluded.

Tests: `tests/relax/c/test_in_place.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import tvm
import tvm.sym
import tvm_ffi
from attrs import frozen
from tvm import ir, tirx

from target_arch.plan.model import DTYPE_BYTES


@frozen(kw_only=True, eq=False)
class _Touch:
    """A load or a store: the buffer, the index, the loops around it, and its place in the program."""

    buffer: Any
    index: Any
    loops: tuple[Any, ...]
    number: int
    store: bool


def in_place(function: Any) -> tuple[tuple[int, int], ...]:
    """Pairs of parameters (written, read) of a flat PrimFunc that may be one: same type and size.

    Empty where the function does anything but load and store at indices.
    """
    touches = _Reader(function).touches
    if touches is None:
        return ()
    parameters = list(function.params)
    found = []
    for written, target in enumerate(parameters):
        for read, source in enumerate(parameters):
            stores = [touch for touch in touches if touch.buffer.same_as(target)]
            loads = [touch for touch in touches if touch.buffer.same_as(source)]
            if _alike(target, source) and _proven(stores, loads):
                found.append((written, read))
    return tuple(found)


def _alike(target: Any, source: Any) -> bool:
    return str(target.dtype) == str(source.dtype) and _bytes(target) == _bytes(source)


def _bytes(parameter: Any) -> int:
    count = 1
    for extent in parameter.shape:
        count *= int(extent)
    return count * DTYPE_BYTES.get(str(parameter.dtype), 0)


def _proven(stores: list[_Touch], loads: list[_Touch]) -> bool:
    if len(stores) != 1 or not stores[0].store or not loads or any(load.store for load in loads):
        return False
    store = stores[0]
    factors = _factors(store)
    if factors is None or not _apart(store.loops, factors):
        return False
    return any(
        all(_before(store, load, cut) and _within(store, load, factors, cut) for load in loads)
        for cut in range(len(store.loops), -1, -1)
    )


def _factors(store: _Touch) -> list[int] | None:
    """The factor of each loop variable in the index; None if the index is no such sum."""
    names = [loop.loop_var for loop in store.loops]
    found = tvm.sym.detect_linear_equation(store.index, names)
    if len(found) != len(names) + 1 or not all(isinstance(part, tirx.IntImm) for part in found):
        return None
    return [int(part) for part in found[:-1]]


def _apart(loops: tuple[Any, ...], factors: list[int]) -> bool:
    """True where no two turns have the same index: each factor exceeds what all smaller ones add up to."""
    reached = 0
    for factor, loop in sorted(zip(factors, loops, strict=True), key=lambda pair: pair[0]):
        if int(loop.extent) == 1:
            continue
        if factor <= reached:
            return False
        reached += factor * (int(loop.extent) - 1)
    return True


def _before(store: _Touch, load: _Touch, cut: int) -> bool:
    """True where, in a turn of the outer loops, the load is over before the store."""
    if len(load.loops) < cut or not all(
        one.same_as(other) for one, other in zip(store.loops[:cut], load.loops[:cut], strict=True)
    ):
        return False
    shared = cut < len(store.loops) and cut < len(load.loops) and store.loops[cut].same_as(load.loops[cut])
    return not shared and load.number <= store.number


def _within(store: _Touch, load: _Touch, factors: list[int], cut: int) -> bool:
    """True where the load comes from the block that the same outer turn stores."""
    length = 1
    inner = zip(factors[cut:], store.loops[cut:], strict=True)
    for factor, loop in sorted(inner, key=lambda pair: pair[0]):
        if int(loop.extent) != 1 and factor != length:
            return False
        length *= int(loop.extent)
    analyzer = tvm.sym.Analyzer()
    for loop in load.loops:
        analyzer.bind(loop.loop_var, tvm.ir.Range(0, loop.extent))
    begin = store.index
    for factor, loop in zip(factors[cut:], store.loops[cut:], strict=True):
        begin = begin - loop.loop_var * factor
    reach = analyzer.const_int_bound(analyzer.simplify(load.index - begin))
    return int(reach.min_value) >= 0 and int(reach.max_value) < length


class _Reader:
    """Collects loads and stores of parameters in program order.

    `touches` is None if the function does anything else.
    """

    def __init__(self, function: Any) -> None:
        self._owner: dict[Any, Any] = {parameter: parameter for parameter in function.params}
        self._loops: list[Any] = []
        self._number = 0
        self._found: list[_Touch] = []
        self.touches = self._found if self._statement(function.body) else None

    def _statement(self, node: Any) -> bool:
        """False for a statement with other accesses than loads and stores at indices."""
        self._number += 1
        reader = self._READERS.get(type(node))
        return reader is not None and reader(self, node)

    def _sequence(self, node: Any) -> bool:
        return all(self._statement(child) for child in node.seq)

    def _condition(self, node: Any) -> bool:
        self._loads(node.condition)
        bodies = (node.then_case, node.else_case)
        return all(self._statement(body) for body in bodies if body is not None)

    def _bind(self, node: Any) -> bool:
        self._loads(node.value)
        return True

    def _loop(self, node: Any) -> bool:
        plain = isinstance(node.extent, tirx.IntImm) and int(node.min) == 0 and node.step is None
        self._loops.append(node)
        done = plain and self._statement(node.body)
        self._loops.pop()
        return done

    def _view(self, node: Any) -> bool:
        source = next((arg for arg in getattr(node.data, "args", ()) if arg in self._owner), None)
        if source is not None:
            self._owner[node.buffer] = self._owner[source]
        return True

    def _store(self, node: Any) -> bool:
        for value in (*node.indices, node.value):
            self._loads(value)
        self._touch(node.buffer, node.indices, store=True)
        return len(node.indices) == 1

    def _loads(self, value: Any) -> None:
        def visit(load: Any) -> None:
            self._touch(load.source, load.indices, store=False)

        tvm_ffi.structural_walk(value, (ir.TensorLoad, visit))

    def _touch(self, buffer: Any, indices: Any, *, store: bool) -> None:
        if buffer in self._owner:
            self._found.append(
                _Touch(
                    buffer=self._owner[buffer],
                    index=indices[0],
                    loops=tuple(self._loops),
                    number=self._number,
                    store=store,
                )
            )

    _READERS: ClassVar[Mapping[type, Callable[["_Reader", Any], bool]]] = {
        tirx.SeqStmt: _sequence,
        tirx.For: _loop,
        tirx.IfThenElse: _condition,
        tirx.AttrStmt: lambda self, node: self._statement(node.body),
        tirx.DeclBuffer: _view,
        tirx.AllocBuffer: lambda self, node: True,
        tirx.BufferStore: _store,
        tirx.Bind: _bind,
        tirx.Evaluate: lambda self, node: isinstance(node.value, tirx.IntImm),
    }
