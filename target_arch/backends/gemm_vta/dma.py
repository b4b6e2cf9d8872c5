"""The TIR pattern: a nest that copies to or from a buffer is deleted, and a DMA call put in its place.

A nest is a copy where its block stores one element that it loads, perhaps under conditions and with another
value where they do not hold: padding. Its loops become the fields of the call:

- the innermost run of lanes (16 values, or 16 x 16 of a weight block) is an entry; a condition on it says
  how many of its bytes there are: `WIDTH`;
- the next two loops, in the order in which entries are in the buffer, are columns and rows, with their
  strides in DRAM; conditions on them are padding before and after;
- loops beyond stay, around the call.

    gemm_vta.load(buffer, entry, tensor, offset, rows, columns, width, row stride, column stride,
                  top, bottom, left, right, fill)
    gemm_vta.store(buffer, entry, tensor, offset, rows, columns, width, row stride, column stride)
"""

from collections.abc import Iterator
from math import prod
from typing import Any

from attrs import evolve, frozen
from tvm import ir, sym, tirx

from target_arch.backend.hooks import Nest
from target_arch.backend.lowering import LoweringRequest
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES
from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.tir.nests import with_body

LOAD, STORE = "gemm_vta.load", "gemm_vta.store"
_PREFIX, _SUFFIX = "local.", "_buffer"


def buffer_name(buffer: Any) -> str | None:
    """`inp`, `wgt` or `acc` for a buffer of the engine, None for one in DRAM."""
    scope = str(buffer.scope())
    return scope.removeprefix(_PREFIX).removesuffix(_SUFFIX) if scope.startswith(_PREFIX) else None


@frozen(kw_only=True)
class _Copy:
    """One element of a nest: the element stored, the element loaded, and the conditions without which `fill`
    is stored.
    """

    local: Any
    local_indices: Any
    dram: Any
    dram_indices: Any
    conditions: tuple[Any, ...]
    fill: int
    inward: bool


@frozen(kw_only=True)
class _Axis:
    """A loop of a nest: its extent, how far it moves in the buffer and in DRAM (elements), and its padding.

    One that `stays` is a loop around the call, since the padding of another depends on it.
    """

    loop: Any
    extent: Any
    local: int
    dram: int
    before: Any = 0
    after: Any = 0
    stays: bool = False

    @property
    def padded(self) -> bool:
        return not (isinstance(self.before, int) and isinstance(self.after, int))


def dma(nest: Nest, request: LoweringRequest) -> Any:
    """The DMA call that is equivalent to a nest, in the loops that are left; None where it is no copy."""
    copy = _copy(nest)
    if copy is None:
        return None
    analyzer = sym.Analyzer()
    for loop in nest.loops:
        analyzer.bind(loop.loop_var, ir.Range.from_min_extent(loop.min, loop.extent))
    return _call(copy, _Shape(copy, nest, analyzer))


def _copy(nest: Nest) -> _Copy | None:
    store, conditions = nest.block.body, [each for each in _conjuncts(nest.predicate) if not _true(each)]
    while isinstance(store, tirx.IfThenElse) and store.else_case is None:
        conditions += _conjuncts(store.condition)
        store = store.then_case
    if not isinstance(store, tirx.BufferStore):
        return None
    value, fill = store.value, 0
    if isinstance(value, ir.Call) and str(getattr(value.op, "name", "")).endswith("if_then_else"):
        condition, value, other = value.args
        conditions += _conjuncts(condition)
        fill = int(other.value)
    if isinstance(value, tirx.Cast):
        value = value.value
    if not isinstance(value, ir.TensorLoad):
        return None
    inward = buffer_name(store.buffer) is not None
    local, dram = (store, value) if inward else (value, store)
    sides = [each.buffer if each is store else each.source for each in (local, dram)]
    if buffer_name(sides[0]) is None or buffer_name(sides[1]) is not None:
        return None
    return _Copy(
        local=sides[0],
        local_indices=local.indices,
        dram=sides[1],
        dram_indices=dram.indices,
        conditions=tuple(conditions),
        fill=fill,
        inward=inward,
    )


def _conjuncts(condition: Any) -> Iterator[Any]:
    if isinstance(condition, tirx.And):
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition


def _true(condition: Any) -> bool:
    return isinstance(condition, tirx.IntImm) and bool(condition.value)


class _Shape:
    """The axes of a copy and where it begins, from the affine form of its indices."""

    def __init__(self, copy: _Copy, nest: Nest, analyzer: Any) -> None:
        self._analyzer, self._loops = analyzer, {loop.loop_var: loop for loop in nest.loops}
        self._variables = list(self._loops)
        local, self.local_start = self._affine(_flat(copy.local, copy.local_indices))
        dram, self.dram_start = self._affine(_flat(copy.dram, copy.dram_indices))
        self.axes = [
            _Axis(loop=loop, extent=int(loop.extent), local=local[n], dram=dram[n])
            for n, loop in enumerate(nest.loops)
            if int(loop.extent) > 1
        ]
        for condition in copy.conditions:
            self._bound(condition)

    def _affine(self, expr: Any) -> tuple[list[int], Any]:
        """Coefficients of the loops, and the constant term. ValueError unless it is affine."""
        found = sym.detect_linear_equation(self._analyzer.simplify(expr), self._variables)
        if not found:
            raise ValueError(f"the engine's DMA cannot follow {expr}")
        return [int(each.value) for each in found[:-1]], found[-1]

    def _bound(self, condition: Any) -> None:
        """Narrow the axis that a condition `low <= affine` or `affine < high` is about."""
        below = isinstance(condition, tirx.LT | tirx.GT)
        greater, lesser = (condition.a, condition.b)
        if isinstance(condition, tirx.LT | tirx.LE):
            greater, lesser = lesser, greater
        room, start = self._affine(greater - lesser)
        steps = dict(zip(self._variables, room, strict=True))
        moving = [axis for axis in self.axes if steps[axis.loop.loop_var]]
        inner = next((axis for axis in moving if abs(steps[axis.loop.loop_var]) == 1), None)
        if inner is None:
            raise ValueError(f"the engine's DMA has no padding for {condition}")
        for axis in moving:
            if axis is not inner:
                start = start + axis.loop.loop_var * steps[axis.loop.loop_var]
                self.axes[self.axes.index(axis)] = evolve(axis, stays=True)
        # room + start >= 0 holds inside, > 0 where the comparison is strict.
        slack = start - int(below)
        if steps[inner.loop.loop_var] > 0:
            changed = evolve(inner, before=self._clipped(-slack, inner.extent))
        else:
            changed = evolve(inner, after=self._clipped(inner.extent - 1 - slack, inner.extent))
        self.axes[self.axes.index(inner)] = changed

    def _clipped(self, count: Any, extent: int) -> Any:
        count = self._analyzer.simplify(count)
        return self._analyzer.simplify(tirx.max(0, tirx.min(count, extent)))


def _flat(buffer: Any, indices: Any) -> Any:
    """The offset of an element in a buffer, row by row."""
    extents = [int(extent) for extent in buffer.shape]
    return sum(index * prod(extents[n + 1 :]) for n, index in enumerate(indices))


def _call(copy: _Copy, shape: _Shape) -> Any:
    name = buffer_name(copy.local)
    assert name is not None
    item, entry = DTYPE_BYTES[str(copy.local.dtype)], ENTRY_BYTES[name] // DTYPE_BYTES[str(copy.local.dtype)]
    axes = sorted(shape.axes, key=lambda axis: axis.local)
    lanes = [axis for axis in axes if axis.local < entry]
    columns, rows, outer = _runs([axis for axis in axes if axis.local >= entry], entry)
    width = DTYPE_BYTES[str(copy.dram.dtype)] * _width(lanes)
    step = DTYPE_BYTES[str(copy.dram.dtype)]
    start = shape.dram_start + rows.before * rows.dram + columns.before * columns.dram
    fields = [
        copy.local.data,
        tirx.floordiv(shape.local_start + _moved(outer, "local"), entry),
        copy.dram.data,
        (start + _moved(outer, "dram")) * step,
        rows.extent,
        columns.extent,
        width,
        rows.dram * step,
        columns.dram * step,
    ]
    assert item in (1, 4)
    if copy.inward:
        fields += [rows.before, rows.after, columns.before, columns.after, copy.fill]
    statement: Any = tirx.Evaluate(tirx.call_extern("int32", LOAD if copy.inward else STORE, *fields))
    for axis in reversed(outer):
        statement = with_body(axis.loop, statement)
    return statement


def _moved(axes: list[_Axis], where: str) -> Any:
    return sum((axis.loop.loop_var * getattr(axis, where) for axis in axes), tirx.IntImm("int32", 0))


def _width(lanes: list[_Axis]) -> Any:
    """The number of lanes of an entry that hold data."""
    whole = prod(axis.extent for axis in lanes)
    padded = [axis for axis in lanes if axis.padded]
    if not padded:
        return whole
    (axis,) = padded
    return whole - axis.after * (whole // axis.extent)


def _runs(axes: list[_Axis], entry: int) -> tuple[_Axis, _Axis, list[_Axis]]:
    """Columns, rows, and the loops that stay, outermost first.

    Loops that go on where the one inside ends are one run; a loop that leaves gaps in the buffer stays.
    """
    runs: list[_Axis] = []
    for axis in axes:
        last = runs[-1] if runs else None
        if last and not (last.padded or axis.padded or last.stays or axis.stays) and _follows(axis, last):
            runs[-1] = evolve(last, extent=last.extent * axis.extent)
        else:
            runs.append(axis)
    found: list[_Axis] = []
    dense = entry
    while runs and len(found) < 2 and runs[0].local == dense and not runs[0].stays:
        found.append(runs.pop(0))
        dense *= found[-1].extent
    if any(axis not in axes for axis in runs):
        raise ValueError("the engine's DMA has two dimensions, this copy has more")
    none = _Axis(loop=None, extent=1, local=0, dram=0)
    columns, rows = (*found, none, none)[:2]
    return columns, rows, runs[::-1]


def _follows(outer: _Axis, inner: _Axis) -> bool:
    return (outer.local, outer.dram) == (inner.local * inner.extent, inner.dram * inner.extent)
