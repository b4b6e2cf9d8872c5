"""Operators along some dimensions of a tensor."""

import math
import operator as operators
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm import relax

from target_arch.plan.arithmetic import (
    ADDITION_LEFT_SHIFT,
    DTYPE_RANGE,
    INT32_MAX,
    float32,
    quantize_multiplier,
)
from target_arch.relax.readers.tflite_operators.grids import encoded, ending, reals, steps
from target_arch.relax.readers.tflite_operators.site import (
    STORED,
    Converter,
    TFLiteOperator,
    require_computed,
    require_reals,
    same_grid,
)
from target_arch.relax.site import NotConverted
from target_arch.relax.te.loops import running


def _axes(site: TFLiteOperator) -> tuple[int, ...]:
    rank = len(site.x.shape)
    given = {int(value) for value in site.tensor(1).constant.ravel()}
    if any(not -rank <= value < rank for value in given):
        raise NotConverted(f"axes {sorted(given)} of {rank}")
    return tuple(sorted({value % rank for value in given}))


def total(site: TFLiteOperator) -> Any:
    """MEAN and SUM."""
    if not site.stored or site.x.dtype in ("int32", "int64"):
        whole = site.operator == "MEAN" and site.x.dtype.startswith("int")
        return _whole_mean(site) if whole else _total_of_reals(site)
    axes, x, out = _axes(site), site.x, site.out
    count = math.prod(x.shape[axis] for axis in axes)
    offsets = {"offset0": -x.zero_point * count, "offset": out.zero_point}
    if site.operator == "SUM":
        if x.dtype == "int16" and (x.zero_point, out.zero_point) != (0, 0):
            raise NotConverted("int16 values with a zero point")
        # LiteRT's optimized kernel; its reference one is wrong on integers.
        scale = float32(x.scale / out.scale)
        return site.defined("float_total", x.expr, axes=axes, scale=scale, **offsets)
    if x.dtype in STORED and axes == (1, 2) and len(x.shape) == 4:
        return _total_of_reals(site)  # LiteRT has a rule for it that the patterns of pools know
    multiplier, shift = quantize_multiplier(x.scale / out.scale)
    more = min(count.bit_length() - 1, 32, 31 + shift)
    multiplier, shift = (multiplier << more) // count, shift - more
    return site.defined("scaled_total", x.expr, axes=axes, multiplier=multiplier, shift=shift, **offsets)


def _total_of_reals(site: TFLiteOperator) -> Any:
    require_computed(site.x)
    reduce = relax.op.mean if site.operator == "MEAN" else relax.op.sum
    keep = bool(site.options("ReducerOptions").KeepDims())
    return steps(site.out, reduce(reals(site.x, site.x.expr), _axes(site), keep))


def _whole_mean(site: TFLiteOperator) -> Any:
    """The mean of integers that are no steps of a grid, rounded towards zero."""
    axes = _axes(site)
    count = math.prod(site.x.shape[axis] for axis in axes)
    total = relax.op.sum(site.x.expr, axes, keepdims=len(site.out.shape) == len(site.x.shape))
    return relax.op.divide(total, relax.const(count, site.x.dtype))


def greatest(site: TFLiteOperator) -> Any:
    """REDUCE_MAX and REDUCE_MIN: of stored values as of reals."""
    if not same_grid(site.x, site.out):
        raise NotConverted("its output is quantized unlike its input")
    least, axes = int(site.operator == "REDUCE_MIN"), _axes(site)
    dtype = _ordered(site.x.dtype)
    return site.defined_as("greatest", (_values(site),), site.out.shape, dtype, axes=axes, least=least)


def place(site: TFLiteOperator) -> Any:
    """ARG_MAX and ARG_MIN."""
    axes = _axes(site)
    if len(axes) != 1:
        raise NotConverted(f"{len(axes)} axes")
    return site.defined("place_of_greatest", _values(site), axes=axes, least=int(site.operator == "ARG_MIN"))


def _ordered(dtype: str) -> str:
    """The element type in which values are compared: false is less than true."""
    return "uint8" if dtype == "bool" else dtype


def _values(site: TFLiteOperator) -> Any:
    x = site.x
    return x.expr if _ordered(x.dtype) == x.dtype else relax.op.astype(x.expr, _ordered(x.dtype))


def cumulative(site: TFLiteOperator) -> Any:
    """CUMSUM."""
    options, (axis,) = site.options("CumsumOptions"), _axes(site)
    ways = {"exclusive": bool(options.Exclusive()), "reverse": bool(options.Reverse())}
    body = running(site.x.shape, axis, 0, operators.add, **ways)
    if site.x.quantization is None:
        return site.written(site.x.shape, site.x.dtype, body, site.x.expr, name="cumsum")
    return _of_steps(site, axis, body)


def _of_steps(site: TFLiteOperator, axis: int, body: Callable[..., None]) -> Any:
    """A running sum of int8 as TFLite Micro's, which LiteRT has not: the first is minus the zero point."""
    x, bits = site.x, ADDITION_LEFT_SHIFT - 1
    if x.dtype != "int8":
        raise NotConverted(f"stored values of type {x.dtype}")
    scale = encoded(2.0 * x.scale / ((1 << ADDITION_LEFT_SHIFT) * site.out.scale))
    if scale.shift > 0:
        raise NotConverted("an output whose scale is too fine beside that of its input")
    farthest = max(abs(end - x.zero_point) for end in DTYPE_RANGE[x.dtype])
    if (abs(x.zero_point) + farthest * x.shape[axis]) << bits > INT32_MAX:
        raise NotConverted(f"sums of {x.shape[axis]} elements, which may overflow TFLite Micro's 32 bits")
    steps = relax.op.subtract(relax.op.astype(x.expr, "int32"), relax.const(x.zero_point, "int32"))
    scaled = site.builder.emit(relax.op.multiply(steps, relax.const(1 << bits, "int32")))
    sums = site.written(x.shape, "int32", body, scaled, name="cumsum")
    attributes = {**scale.named("0"), **scale.named("1"), **ending(site.out)}
    return site.defined("leaky", sums, swapped=0, offset0=-x.zero_point << bits, **attributes)


def _of_truth_values(reduce: Callable[..., Any], site: TFLiteOperator) -> Any:
    """REDUCE_ALL and REDUCE_ANY: the least and the greatest, which TVM has of numbers alone."""
    require_reals(site)
    require_computed(site.x)
    if site.x.dtype != "bool":
        raise NotConverted(f"values of type {site.x.dtype}")
    numbers = relax.op.astype(site.x.expr, "int8")
    return relax.op.astype(reduce(numbers, _axes(site), False), "bool")


def _product(site: TFLiteOperator) -> Any:
    require_reals(site)
    require_computed(site.x)
    return relax.op.prod(site.x.expr, _axes(site), False)


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("MEAN", "SUM"), total),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), greatest),
    "CUMSUM": cumulative,
    "REDUCE_ALL": partial(_of_truth_values, relax.op.min),
    "REDUCE_ANY": partial(_of_truth_values, relax.op.max),
    "REDUCE_PROD": _product,
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), place),
}
