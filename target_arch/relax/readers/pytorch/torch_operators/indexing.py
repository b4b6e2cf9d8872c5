"""Elements that are read from or written to computed places. An index may count from the end."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.readers.pytorch.torch_operators.counted import by_mask
from target_arch.relax.site import NotConverted, constant, within, zero

_BY_VALUES = "the shape of its result depends on values"


def _index(call: TorchCall) -> Any:
    """Several tensors of indices go together, in one common shape."""
    if call.importer.counted.begins(call.node):
        return by_mask(call)
    x, indices = call.argument("self"), _listed(call)
    axes = list(indices)
    common = np.broadcast_shapes(*(shape_of(each) for each in indices.values()))
    first = _first(axes)

    def definition(data: Any, *places: Any) -> Any:
        def element(*at: Any) -> Any:
            around = iter([*at[:first], *at[first + len(common) :]])
            inner = at[first : first + len(common)]
            named = {axis: _read(place, inner) for axis, place in zip(axes, places, strict=True)}
            return data(
                *(
                    within(named[axis], extent) if axis in named else next(around)
                    for axis, extent in enumerate(shape_of(x))
                )
            )

        return te.compute(call.result_shape(), element)

    return call.computed(definition, x, *indices.values())


def _listed(call: TorchCall) -> dict[int, Any]:
    """The tensors of indices by their dimensions."""
    found = {axis: value for axis, value in enumerate(call.argument("indices")) if value is not None}
    if any(dtype_of(value) == "bool" for value in found.values()):
        raise NotConverted(_BY_VALUES)
    return found


def _first(axes: Sequence[int]) -> int:
    """The dimension of the result at which that of the indices begin: that of the first of neighbours."""
    return axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def _read(tensor: Any, at: Sequence[Any]) -> Any:
    """The element of a tensor of fewer or smaller dimensions that is broadcast to a place."""
    rank = len(tensor.shape)
    own = list(at)[len(at) - rank :]
    return tensor(*(0 if int(n) == 1 else place for n, place in zip(tensor.shape, own, strict=True)))


def _index_put(call: TorchCall) -> Any:
    """In the order of the indices, so that the last of equal ones counts."""
    x, values = call.argument("self"), call.argument("values")
    given = [value for value in call.argument("indices") if value is not None]
    if len(given) == 1 and dtype_of(given[0]) == "bool":
        return _put_where(call, given[0])
    indices, shape = _listed(call), shape_of(x)
    common = np.broadcast_shapes((1,), *(shape_of(each) for each in indices.values()))
    own = np.broadcast_shapes(*(shape_of(each) for each in indices.values()))
    axes, first = list(indices), _first(list(indices))
    others = [axis for axis in range(len(shape)) if axis not in indices]
    rest = [shape[axis] for axis in others]
    updates = call.spread(call.cast(values, dtype_of(x)), (*rest[:first], *own, *rest[first:]))
    before, inner = list(range(first)), list(range(first, first + len(own)))
    updates = _turned(call, updates, [*inner, *before, *range(first + len(own), len(own) + len(rest))])
    places = [call.reshaped(call.spread(each, own), (*common, 1)) for each in indices.values()]
    made = call.by_onnx(
        "ScatterND",
        _turned(call, x, [*axes, *others]),
        call.emit(relax.op.concat(places, -1)),
        call.reshaped(updates, (*common, *rest)),
        reduction=_REDUCTIONS["sum" if call.argument("accumulate") else "none"],
    )
    return _turned(call, made, [[*axes, *others].index(axis) for axis in range(len(shape))])


def _turned(call: TorchCall, value: Any, axes: list[int]) -> Any:
    """The dimensions in another order."""
    return value if axes == sorted(axes) else call.emit(relax.op.permute_dims(value, axes))


def _put_where(call: TorchCall, mask: Any) -> Any:
    """One value where the mask is true."""
    x, value = call.argument("self"), call.cast(call.argument("values"), call.result_dtype())
    if prod(shape_of(value)) != 1 or call.argument("accumulate") or call.argument("indices")[0] is None:
        raise NotConverted("several values where a mask is true")
    rank = len(shape_of(mask))
    wide = call.reshaped(mask, (*shape_of(mask), *[1] * (len(shape_of(x)) - rank)))
    chosen = (call.spread(wide, shape_of(x)), call.spread(call.reshaped(value, ()), shape_of(x)))
    return call.emit(relax.op.where(*chosen, x))


def _take(call: TorchCall) -> Any:
    """From the elements in one row."""
    x, index = call.tensors("self", "index")
    count = prod(shape_of(x))

    def definition(data: Any, places: Any) -> Any:
        return te.compute(call.result_shape(), lambda *at: data(within(places(*at), count)))

    return call.computed(definition, call.reshaped(x, (count,)), index)


def _scatter(call: TorchCall, *, reduce: str = "") -> Any:
    """Updates by their own indices along one dimension, each combined with what is there."""
    x, index, axis = call.argument("self"), call.argument("index"), call.argument("dim")
    if not shape_of(x):
        raise NotConverted("a tensor without dimensions")
    named = [argument.name for argument in call.node.target._schema.arguments]
    updates = call.argument("src" if "src" in named else "value")
    if not isinstance(updates, relax.Expr):
        updates = call.spread(constant(updates, dtype_of(x)), shape_of(index))
    reduce = reduce or call.argument("reduce")
    if reduce not in _REDUCTIONS:
        return _scattered_mean(call, x, index, updates, axis)
    if "include_self" in named and not call.argument("include_self"):
        least = constant(_neutral(reduce, dtype_of(x)), dtype_of(x))
        x = call.by_onnx("ScatterElements", x, index, call.spread(least, shape_of(index)), axis=axis)
    return call.by_onnx("ScatterElements", x, index, updates, axis=axis, reduction=_REDUCTIONS[reduce])


def _scattered_mean(call: TorchCall, x: Any, index: Any, updates: Any, axis: int) -> Any:
    """The only other reduction: sums over numbers of elements, rounded down where these are whole numbers."""
    dtype, included = dtype_of(x), call.argument("include_self")
    nothing, one = constant(0, dtype), constant(1, dtype)
    kept = x
    if not included:
        kept = call.by_onnx("ScatterElements", x, index, call.spread(nothing, shape_of(index)), axis=axis)
    total = call.by_onnx("ScatterElements", kept, index, updates, axis=axis, reduction=_REDUCTIONS["sum"])
    start = call.spread(one if included else nothing, shape_of(x))
    ones = call.spread(one, shape_of(index))
    count = call.by_onnx("ScatterElements", start, index, ones, axis=axis, reduction=_REDUCTIONS["sum"])
    divide = relax.op.divide if dtype.startswith("float") else relax.op.floor_divide
    return call.emit(divide(total, call.emit(relax.op.maximum(count, one))))


_REDUCTIONS = dict(
    each.split(":")
    for each in ("none:none", "add:add", "sum:add", "multiply:mul", "prod:mul", "amax:max", "amin:min")
)
"""ONNX's names of PyTorch's reductions."""


def _neutral(reduce: str, dtype: str) -> float:
    """The number that changes nothing in a reduction."""
    if reduce in ("sum", "prod"):
        return int(reduce == "prod")
    if dtype.startswith("float"):
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(dtype)
    return int(limits.min if reduce == "amax" else limits.max)


def _select_scatter(call: TorchCall) -> Any:
    x, source, shape = call.argument("self"), call.argument("src"), call.result_shape()
    axis = call.argument("dim") % len(shape)
    index = call.argument("index") % shape[axis]

    def definition(data: Any, new: Any) -> Any:
        def element(*at: Any) -> Any:
            inner = [place for number, place in enumerate(at) if number != axis]
            return tirx.if_then_else(at[axis] == index, new(*inner), data(*at))

        return te.compute(shape, element)

    return call.computed(definition, x, source)


def _diagonal_scatter(call: TorchCall) -> Any:
    x, source, shape = call.argument("self"), call.argument("src"), call.result_shape()
    first, second = (call.argument(name) % len(shape) for name in ("dim1", "dim2"))
    offset = call.argument("offset")

    def definition(data: Any, new: Any) -> Any:
        def element(*at: Any) -> Any:
            inner = [place for number, place in enumerate(at) if number not in (first, second)]
            along = at[first] if offset >= 0 else at[second]
            inside = tirx.min(along, int(new.shape[-1]) - 1)
            here = at[second] - at[first] == offset
            return tirx.if_then_else(here, new(*inner, inside), data(*at))

        return te.compute(shape, element)

    return call.computed(definition, x, source)


def _masked_scatter(call: TorchCall) -> Any:
    """The elements of the source, one after the other, where the mask is true."""
    x, source, shape = call.argument("self"), call.argument("source"), call.result_shape()
    if not shape:
        raise NotConverted("a tensor without dimensions")
    mask, count = call.spread(call.argument("mask"), shape), prod(shape_of(source))

    def body(out: Any, data: Any, where: Any, new: Any, used: Any) -> None:
        with ib.grid(*shape, 1) as every:
            at = list(every[:-1])
            place = tirx.min(used[at], count - 1)
            ib.buffer_store(out, tirx.if_then_else(where[at], new[[place]], data[at]), at)

    flat = call.cast(call.reshaped(mask, (prod(shape),)), "int32")
    ones = call.by_onnx("CumSum", flat, constant(0, "int64"), exclusive=1)
    return call.written(
        shape, call.result_dtype(), body, x, mask, call.reshaped(source, (count,)), call.reshaped(ones, shape)
    )


def _searched(call: TorchCall) -> Any:
    """How many of the sorted elements come before each value."""
    ordered, values = call.tensors("sorted_sequence", "self")
    if call.argument("sorter") is not None:
        raise NotConverted("the operand `sorter`")
    return _counted(call, ordered, values, right=call.argument("right") or call.argument("side") == "right")


def _bucket(call: TorchCall) -> Any:
    return _counted(call, *call.tensors("boundaries", "self"), right=call.argument("right"))


def _counted(call: TorchCall, ordered: Any, values: Any, *, right: bool) -> Any:
    extent, dtype = shape_of(ordered)[-1], call.result_dtype()

    def definition(sequence: Any, given: Any) -> Any:
        step = te.reduce_axis((0, extent), name="step")

        def element(*at: Any) -> Any:
            known = sequence(*at[: len(sequence.shape) - 1], step)
            before = known <= given(*at) if right else known < given(*at)
            return te.sum(tirx.Select(before, tirx.const(1, dtype), zero(dtype)), axis=step)

        return te.compute(call.result_shape(), element)

    return call.computed(definition, ordered, values)


def _joined(call: TorchCall) -> Any:
    """Without the operands that have no elements, whose shapes PyTorch does not look at."""
    given = [call.cast(each, call.result_dtype()) for each in call.argument("tensors")]
    kept = [each for each in given if 0 not in shape_of(each)] or given[:1]
    axis = call.argument("dim") % len(call.result_shape())
    return kept[0] if len(kept) == 1 else call.emit(relax.op.concat(kept, axis))


def _refused(call: TorchCall) -> Any:
    raise NotConverted(_BY_VALUES)


CONVERTERS: Mapping[str, Convert] = {
    "bincount.default": _refused,
    "_unsafe_index.Tensor": _index,
    "_unsafe_index_put.default": _index_put,
    "bucketize.Tensor": _bucket,
    "cat.default": _joined,
    "diagonal_scatter.default": _diagonal_scatter,
    "index.Tensor": _index,
    "index_put.default": _index_put,
    "masked_scatter.default": _masked_scatter,
    "scatter.reduce": _scatter,
    "scatter.src": partial(_scatter, reduce="none"),
    "scatter.value": partial(_scatter, reduce="none"),
    "scatter.value_reduce": _scatter,
    "scatter_add.default": partial(_scatter, reduce="sum"),
    "scatter_reduce.two": _scatter,
    "searchsorted.Tensor": _searched,
    "select_scatter.default": _select_scatter,
    "take.default": _take,
}
