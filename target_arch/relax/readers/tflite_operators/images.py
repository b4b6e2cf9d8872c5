"""Images of another size."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax

from target_arch.plan.operators.window import Window
from target_arch.relax.readers.tflite_operators.grids import activated_steps
from target_arch.relax.readers.tflite_operators.site import (
    Converter,
    TFLiteOperator,
    require_computed,
    require_reals,
    same_grid,
)
from target_arch.relax.site import NotConverted, filled

Array = np.ndarray[Any, Any]


def nearest(site: TFLiteOperator) -> Any:
    """RESIZE_NEAREST_NEIGHBOR: of stored values as of reals."""
    corners, centers = _options(site, "ResizeNearestNeighborOptions")
    places = [
        _nearest(before, after, corners=corners, centers=centers)
        for before, after in zip(site.x.shape[1:3], site.out.shape[1:3], strict=True)
    ]
    return site.defined("nearest", site.x.expr, *places)


def _nearest(before: int, after: int, *, corners: bool, centers: bool) -> Array:
    """The place in the image of each row (or column) of the result, in float32 as LiteRT computes it."""
    f = np.float32
    scale = f(before - 1) / f(after - 1) if corners and after > 1 else f(before) / f(after)
    value = (np.arange(*filled(after), dtype=np.float32) + f(0.5 if centers else 0.0)) * scale
    whole = np.floor(value + f(0.5)) if corners else np.floor(value)
    places: Array = np.clip(whole, 0, before - 1).astype(np.int32)
    return places


def bilinear(site: TFLiteOperator) -> Any:
    """RESIZE_BILINEAR."""
    if not site.stored:
        return _bilinear_of_floats(site)
    name, weighed = ("bilinear_real", _weighed_real) if site.x.dtype == "uint8" else ("bilinear", _weighed)
    corners, centers = _options(site, "ResizeBilinearOptions")
    tables: list[Array] = []
    for before, after in zip(site.x.shape[1:3], site.out.shape[1:3], strict=True):
        tables += weighed(before, after, corners=corners, centers=centers)
    return site.defined(name, site.x.expr, *tables)


def _bilinear_of_floats(site: TFLiteOperator) -> Any:
    corners, centers = _options(site, "ResizeBilinearOptions")
    if corners and 1 in site.out.shape[1:3]:
        raise NotConverted("aligned corners of floats, and a result of one row or column")
    require_computed(site.x)
    places = "half_pixel" if centers else "align_corners" if corners else "asymmetric"
    return relax.op.image.resize2d(site.x.expr, site.out.shape[1:3], None, "NHWC", "linear", places, "")


def _weighed_real(before: int, after: int, *, corners: bool, centers: bool) -> tuple[Array, Array, Array]:
    """The same in float32, which uint8 values get (LiteRT `ComputeInterpolationValues`)."""
    f = np.float32
    scale = f(before - 1) / f(after - 1) if corners and after > 1 else f(before) / f(after)
    place = np.arange(*filled(after), dtype=np.float32)
    scaled = (place + f(0.5)) * scale - f(0.5) if centers else place * scale
    lower = np.maximum(np.floor(scaled), 0).astype(np.int32)
    upper = np.minimum(np.ceil(scaled), before - 1).astype(np.int32)
    return lower, upper, scaled - lower.astype(np.float32)


def _weighed(before: int, after: int, *, corners: bool, centers: bool) -> tuple[Array, Array, Array]:
    """For each row (or column) of the result the one at or before it, the one after, and the weight of that
    in 1/1024 (LiteRT `ComputeInterpolationValuesInteger`).
    """
    step = ((1 << 10) * before + after // 2) // after
    if corners and after > 1:
        step = ((1 << 10) * (before - 1) + (after - 1) // 2) // (after - 1)
    scaled = np.arange(*filled(after), dtype=np.int64) * step
    if centers:
        scaled = scaled + step // 2 - (1 << 9)
    lower = np.maximum((scaled / 1024).astype(np.int64), 0)
    upper = np.minimum(((scaled + 1023) / 1024).astype(np.int64), before - 1)
    weight = scaled - 1024 * lower
    return lower.astype(np.int32), upper.astype(np.int32), weight.astype(np.int32)


def _options(site: TFLiteOperator, table: str) -> tuple[bool, bool]:
    if not same_grid(site.x, site.out):
        raise NotConverted("its output is quantized unlike its input")
    options = site.options(table)
    return bool(options.AlignCorners()), bool(options.HalfPixelCenters())


def pool(site: TFLiteOperator) -> Any:
    """AVERAGE_POOL_2D, MAX_POOL_2D, and L2_POOL_2D of floats."""
    options = site.options("Pool2DOptions")
    kernel, strides = (
        (options.FilterHeight(), options.FilterWidth()),
        (
            options.StrideH(),
            options.StrideW(),
        ),
    )
    if min(*kernel, *strides) < 1:
        raise NotConverted("a window of {}x{} in steps of {}x{}".format(*kernel, *strides))
    require_computed(site.x)
    if site.stored and not _has_scale_of_input(site):
        raise NotConverted("its output is quantized unlike its input")
    place = Window.same if options.Padding() == 0 else Window.padded
    rows, columns = (place(*axis, 1) for axis in zip(site.x.shape[1:3], kernel, strides, strict=True))
    window = {
        "pool_size": kernel,
        "strides": strides,
        "padding": [rows.before, columns.before, rows.after, columns.after],
        "layout": "NHWC",
    }
    return activated_steps(site, _POOLS[site.operator](site, window))


def _has_scale_of_input(site: TFLiteOperator) -> bool:
    """Return whether the grids of input and output are those that LiteRT takes."""
    x, out = site.x, site.out
    return abs(x.scale - out.scale) <= _NEAR and x.zero_point == out.zero_point


_NEAR = 1e-6


def _mean(site: TFLiteOperator, window: Mapping[str, Any]) -> Any:
    if not site.stored:
        return relax.op.nn.avg_pool2d(site.x.expr, **window)
    whole = relax.op.nn.avg_pool2d(relax.op.astype(site.x.expr, "int32"), **window)
    return relax.op.astype(whole, site.out.dtype)


def _greatest(site: TFLiteOperator, window: Mapping[str, Any]) -> Any:
    return relax.op.nn.max_pool2d(site.x.expr, **window)


def _length(site: TFLiteOperator, window: Mapping[str, Any]) -> Any:
    require_reals(site)
    squares = relax.op.power(site.x.expr, relax.const(2, site.out.dtype))
    return relax.op.sqrt(relax.op.nn.avg_pool2d(squares, **window))


_POOLS = {"AVERAGE_POOL_2D": _mean, "L2_POOL_2D": _length, "MAX_POOL_2D": _greatest}


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_POOLS, pool),
    "RESIZE_BILINEAR": bilinear,
    "RESIZE_NEAREST_NEIGHBOR": nearest,
}
