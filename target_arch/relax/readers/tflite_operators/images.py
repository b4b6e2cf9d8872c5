"""Images of another size."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from target_arch.relax.readers.tflite_operators.site import Converter, TFLiteOperator, same_grid
from target_arch.relax.site import NotConverted

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
    value = (np.arange(after, dtype=np.float32) + f(0.5 if centers else 0.0)) * scale
    whole = np.floor(value + f(0.5)) if corners else np.floor(value)
    places: Array = np.clip(whole, 0, before - 1).astype(np.int32)
    return places


def bilinear(site: TFLiteOperator) -> Any:
    """RESIZE_BILINEAR of stored values; of floats TVM's frontend computes it."""
    if not site.stored:
        if site.options("ResizeBilinearOptions").AlignCorners() and 1 in site.out.shape[1:3]:
            raise NotConverted("aligned corners of floats, and a result of one row or column")
        return None
    name, weighed = ("bilinear_real", _weighed_real) if site.x.dtype == "uint8" else ("bilinear", _weighed)
    corners, centers = _options(site, "ResizeBilinearOptions")
    tables: list[Array] = []
    for before, after in zip(site.x.shape[1:3], site.out.shape[1:3], strict=True):
        tables += weighed(before, after, corners=corners, centers=centers)
    return site.defined(name, site.x.expr, *tables)


def _weighed_real(before: int, after: int, *, corners: bool, centers: bool) -> tuple[Array, Array, Array]:
    """The same in float32, which uint8 values get (LiteRT `ComputeInterpolationValues`)."""
    f = np.float32
    scale = f(before - 1) / f(after - 1) if corners and after > 1 else f(before) / f(after)
    place = np.arange(after, dtype=np.float32)
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
    scaled = np.arange(after, dtype=np.int64) * step
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


def pool(site: TFLiteOperator) -> None:
    """Pools, left to TVM's frontend where their windows have elements."""
    options = site.options("Pool2DOptions")
    sizes = options.FilterHeight(), options.FilterWidth(), options.StrideH(), options.StrideW()
    if min(sizes) < 1:
        raise NotConverted("a window of {}x{} in steps of {}x{}".format(*sizes))


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), pool),
    "RESIZE_BILINEAR": bilinear,
    "RESIZE_NEAREST_NEIGHBOR": nearest,
}
