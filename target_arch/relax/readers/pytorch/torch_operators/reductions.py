"""Reductions, and elements in their order."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted, constant


def _extremum(call: TorchCall, *, operator: str) -> Any:
    x = call.argument("self")
    axes = call.axes("dim", len(shape_of(x))) if shape_of(x) else []
    return call.by_onnx(operator, x, axes=axes, keepdims=int(call.argument("keepdim")))


def _extremum_with_place(call: TorchCall, *, operator: str, place: Callable[..., Any]) -> Any:
    """Along one dimension, with the place of the first such element."""
    x, axis, kept = call.argument("self"), call.argument("dim"), call.argument("keepdim")
    if not shape_of(x):
        raise NotConverted("a tensor without dimensions")
    found = call.by_onnx(operator, x, axes=[axis % len(shape_of(x))], keepdims=int(kept))
    return [found, call.emit(place(x, axis, kept))]


def _any(call: TorchCall) -> Any:
    """Whether an element is true, or not zero."""
    x = call.argument("self")
    if dtype_of(x) != "bool":
        x = call.emit(relax.op.not_equal(x, constant(0, dtype_of(x))))
    if not shape_of(x):
        return x
    named = len(call.node.target._schema.arguments) > 1
    axes = call.axes("dim", len(shape_of(x))) if named else list(range(len(shape_of(x))))
    return call.by_onnx("ReduceMax", x, axes=axes, keepdims=int(named and call.argument("keepdim")))


def _product(call: TorchCall) -> Any:
    return call.emit(relax.op.prod(call.argument("self"), call.argument("dim"), call.argument("keepdim")))


def _variance(call: TorchCall) -> Any:
    """With the mean."""
    x, kept = call.argument("self"), call.argument("keepdim")
    axes = call.axes("dim", len(shape_of(x)))
    count = 1
    for axis in axes:
        count *= shape_of(x)[axis]
    correction = call.argument("correction")
    left = count - (1 if correction is None else correction)
    if left <= 0 or not shape_of(x):
        raise NotConverted(f"a correction of {correction} for {count} elements")
    mean = call.emit(relax.op.mean(x, axes, keepdims=True))
    apart = call.emit(relax.op.subtract(x, mean))
    total = call.emit(relax.op.sum(call.emit(relax.op.multiply(apart, apart)), axes, keepdims=kept))
    variance = call.emit(relax.op.divide(total, constant(left, dtype_of(x))))
    return [variance, call.reshaped(mean, call.result_shape(1))]


def _median(call: TorchCall) -> Any:
    """The element that half of the others do not exceed; of an even number the smaller one."""
    x = call.argument("self")
    if dtype_of(x) == "bool":
        raise NotConverted("its elements are bool")
    named = len(call.node.target._schema.arguments) > 1
    flat = x if named and shape_of(x) else call.reshaped(x, (-1,))
    axis = call.argument("dim") % len(shape_of(flat)) if named else 0
    middle = (shape_of(flat)[axis] - 1) // 2
    least = call.by_onnx("TopK", flat, constant([middle + 1], "int64"), outputs=2, axis=axis, largest=0)
    found = [call.emit(relax.op.strided_slice(each, [axis], [middle], [middle + 1])) for each in least]
    if not named:
        return call.reshaped(found[0], ())
    return [call.reshaped(each, call.result_shape(0)) for each in found]


def _sorted(call: TorchCall) -> Any:
    """With the places of the elements, those of equal ones in their order."""
    x, name = call.argument("self"), str(call.node.target.__name__)
    if not shape_of(x):
        raise NotConverted("a tensor without dimensions")
    axis = call.argument("dim") % len(shape_of(x))
    count = call.argument("k") if name.startswith("topk") else shape_of(x)[axis]
    largest = call.argument("largest" if name.startswith("topk") else "descending")
    wide = call.cast(x, "int8") if dtype_of(x) == "bool" else x
    found = call.by_onnx("TopK", wide, constant([count], "int64"), outputs=2, axis=axis, largest=int(largest))
    made = [
        call.cast(call.emit(each), dtype) for each, dtype in zip(found, (dtype_of(x), "int64"), strict=True)
    ]
    return made[1] if name.startswith("argsort") else made


CONVERTERS: Mapping[str, Convert] = {
    "amax.default": partial(_extremum, operator="ReduceMax"),
    "amin.default": partial(_extremum, operator="ReduceMin"),
    "any.default": _any,
    "any.dim": _any,
    "any.dims": _any,
    "argsort.default": _sorted,
    "argsort.stable": _sorted,
    "max.dim": partial(_extremum_with_place, operator="ReduceMax", place=relax.op.argmax),
    "median.default": _median,
    "median.dim": _median,
    "min.dim": partial(_extremum_with_place, operator="ReduceMin", place=relax.op.argmin),
    "prod.dim_int": _product,
    "sort.default": _sorted,
    "sort.stable": _sorted,
    "topk.default": _sorted,
    "var_mean.correction": _variance,
}
