"""conv2d and dense of float32 values with int8 weights ("dynamic range") as calls of `s8_hybrid.h`."""

from math import prod
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels import reals
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.products import (
    Sizes,
    outgrown,
    sizes_of_image,
    sizes_of_rows,
    work_of,
)
from target_arch.backends.plain_c.kernels.scale import GROUP
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.backends.plain_c.work.forms import KernelTile, Work, WorkUnit
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind

HEADER = "kernels/s8_hybrid.h"
_MOST_PRODUCTS = 1 << 15
"""Products of so many pairs of a value less its zero point (at most 255) and a weight stay within 31 bits."""
_STORED = 32
"""Rows of a dense layer that are in eight bits at a time."""
_INSIDE = (("w", "int8"), ("total", "int32"), ("scale", "float32"), ("bias", "float32"))
"""The parameters that constants are given to, with their types."""


def refusal(operator: Operator, model: Model, layout: WeightLayout, *, bounded: bool = True) -> str | None:
    """Why floats times int8 weights are no such call; None where they are one. Unless `bounded`, packed
    weights may take any size.
    """
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.DENSE):
        return f"no kernel for {operator.kind} of floats times int8 weights"
    reason = refused_constants(operator, model)
    if reason is not None:
        return reason
    w, bias = (model.tensors[name] for name in operator.constants)
    if w.shape[0] != bias.shape[-1] or _taken(operator, model) != w.shape[-1]:
        return "no kernel for groups of channels of floats times int8 weights"
    if prod(w.shape[1:]) > _MOST_PRODUCTS:
        return f"sums of more than {_MOST_PRODUCTS} products"
    return outgrown(w, layout) if bounded else None


def refused_constants(operator: Operator, model: Model) -> str | None:
    """Why its weights or its bias are not those of a kernel, None where they are."""
    w, bias = (model.tensors[name] for name in operator.constants)
    if w.data is None or bias.data is None or w.quantization is None or any(w.quantization.zero_point):
        return "weights or bias are computed at run time, or weights have a zero point other than 0"
    return None


def work(operator: Operator, model: Model, layout: WeightLayout, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    elements = prod(model.tensors[operator.inputs[0]].shape)
    return {**work_of(_sizes(operator, model), layout, tile), WorkUnit.REAL_ELEMENT: 4 * elements}


def made(operator: Operator, model: Model, layout: WeightLayout, apart: int = 0) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart."""
    sizes, w = _sizes(operator, model), model.tensors[operator.constants[0]]
    batch, height, *_ = sizes.image
    dense, rows = operator.kind is OperatorKind.DENSE, _rows(w)
    stored = min(height, _STORED) * sizes.image[3] if dense else prod(sizes.image[1:])
    over = sizes.out[2] <= sizes.image[3] if dense else batch == 1
    call = HybridCall(
        driver="ta_s8_hybrid_dense" if dense else "ta_s8_hybrid_convolve",
        sizes=struct("ta_s8_conv2d", "sizes", _numbers(sizes, apart or sizes.out[2], layout, w)),
        headers=(layout.header, HEADER),
        stored=stored,
        over=over and not apart,
    )
    return called(operator, model, call, rows, layout.packed(rows))


@frozen(kw_only=True)
class HybridCall:
    """A driver, the line that declares its sizes, and the headers of both. `stored` is how many values in
    eight bits there is room for; `over` says that the result may be where the input is.
    """

    driver: str
    sizes: str
    headers: tuple[str, ...]
    stored: int
    over: bool


def called(operator: Operator, model: Model, call: HybridCall, rows: Any, packed: bytes) -> Made:
    """The call of a driver with weights int8, whose `rows` are the outputs, as they are `packed`."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    parameters = (
        parameter("x", x),
        *(Parameter(name=name, dtype=dtype) for name, dtype in _INSIDE),
        parameter("out", out, written=True),
        Parameter(name="stored", dtype="int8", written=True),
    )
    lines = (
        call.sizes,
        struct("ta_s8_hybrid", "layer", _layer(operator, model.tensors[operator.constants[0]])),
        "const ta_s8_weights weights = {w, total, scale, bias};",
        f"{call.driver}(&layer, &sizes, &weights, x, out, stored);",
    )
    pair = ((len(parameters) - 2, 0),) if call.over else ()
    return Made(
        function=function(str(operator.kind), parameters, lines, call.headers, pair),
        packed=_constants(operator, model, rows, packed),
        scratch=(call.stored,),
    )


def _taken(operator: Operator, model: Model) -> int:
    """Channels of the image, or values of a row."""
    if operator.kind is OperatorKind.DENSE:
        return model.tensors[operator.constants[0]].shape[-1]
    return model.tensors[operator.inputs[0]].shape[-1]


def _sizes(operator: Operator, model: Model) -> Sizes:
    if operator.kind is not OperatorKind.DENSE:
        return sizes_of_image(operator, model)
    inputs = model.tensors[operator.constants[0]].shape[-1]
    rows = prod(model.tensors[operator.inputs[0]].shape) // inputs
    return sizes_of_rows(operator, model, rows)


def _numbers(sizes: Sizes, apart: int, layout: WeightLayout, w: Tensor) -> tuple[int, ...]:
    """The members of `ta_s8_conv2d`; what is outside an image depends on its grid."""
    narrow = int((np.frombuffer(w.data or b"", np.int8) != -128).all())
    depth = layout.depth(prod(sizes.kernel) * sizes.image[3])
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    return (*sizes.image, *sizes.out, *windows, 0, 0, apart, depth, narrow)


def _layer(operator: Operator, w: Tensor) -> tuple[int | str, ...]:
    """The members of `ta_s8_hybrid`."""
    assert w.quantization is not None
    symmetric, several = bool(operator.attributes["symmetric"]), len(w.quantization.scale) > 1
    return int(symmetric), int(several), *reals.range_in_c(operator)


def _rows(w: Tensor) -> Any:
    return np.frombuffer(w.data or b"", np.int8).reshape(w.shape[0], -1)


def _constants(operator: Operator, model: Model, rows: Any, packed: bytes) -> tuple[Tensor, ...]:
    """Weights, their sums, scales and bias, in the order of `_INSIDE`."""
    w, bias = (model.tensors[name] for name in operator.constants)
    assert w.quantization is not None
    group, scales = (0, -len(rows) % GROUP), np.array(w.quantization.scale, "<f4")
    values = {
        "packed": np.frombuffer(packed, np.int8),
        "total": np.pad(rows.sum(axis=1, dtype=np.int32), group).astype("<i4"),
        "scales": np.pad(scales, group) if len(scales) > 1 else scales,
        "biases": np.pad(np.frombuffer(bias.data or b"", "<f4"), group),
    }
    return tuple(
        _constant(operator, suffix, dtype, values[suffix])
        for suffix, (_, dtype) in zip(values, _INSIDE, strict=True)
    )


def _constant(operator: Operator, suffix: str, dtype: str, values: Any) -> Tensor:
    return Tensor(name=f"{operator.id}.{suffix}", shape=(values.size,), dtype=dtype, data=values.tobytes())
