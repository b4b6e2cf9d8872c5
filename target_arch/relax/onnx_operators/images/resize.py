"""Resize and Upsample: each output is a weighted sum of the inputs around its place.

Which inputs, and with which weights, follows for every dimension from its sizes alone; both become tables of
the kernel. Their formulas are those of ONNX's definition (`onnx.reference`), which other libraries follow.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import relax, te, tirx
from tvm.ir import GenericConst

from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.defined import defined_call
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import Array, NotConverted, constant, counted

_PLACES = (
    "align_corners",
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
_OUTWARDS = "floor, ceil where it shrinks"
_ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", _OUTWARDS)
OLD_SAMPLING = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": _OUTWARDS}
"""What had no attributes before version 11. Rounding has a word of its own: onnxruntime's, which ONNX had not
defined.
"""
_FIRST_SAMPLING = 11
_LONGEST = 1 << 20
"""Places of the output along one dimension, for each of which tables have what it reads."""
_FEW = 16
"""Inputs of an output that are added one by one, without a loop."""
_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


@frozen(kw_only=True)
class _Dimension:
    """One dimension: its extents, the scale between them, and the part of it that is shown."""

    axis: int
    before: int
    after: int
    scale: float
    shown: tuple[float, float] = (0.0, 1.0)


@frozen(kw_only=True, eq=False)
class _Taps:
    """For each place of the output the inputs to add, their weights, and whether it shows the input."""

    dimension: _Dimension
    indices: Array
    weights: Array
    shows: Array


@frozen(kw_only=True)
class _Rules:
    """The attributes."""

    mode: str
    place: str
    rounding: str
    cubic: float
    antialias: bool
    exclude: bool
    outside: float


def _resize(node: Node) -> Any:
    if node.opset < _FIRST_SAMPLING:
        node = evolve(node, attributes={**node.attributes, **OLD_SAMPLING})
    rules = _Rules(
        mode=node.text("mode", "nearest", ("nearest", "linear", "cubic")),
        place=node.text("coordinate_transformation_mode", "half_pixel", _PLACES),
        rounding=node.text("nearest_mode", "round_prefer_floor", _ROUNDING),
        cubic=float(node.attributes.get("cubic_coeff_a", -0.75)),
        antialias=bool(node.integer("antialias", 0)),
        exclude=bool(node.integer("exclude_outside", 0)),
        outside=float(node.attributes.get("extrapolation_value", 0.0)),
    )
    return _interpolated(node, rules, _dimensions(node, rules))


def _upsample(node: Node) -> Any:
    """The operator that Resize replaced."""
    mode = node.text("mode", "nearest", ("nearest", "linear", "bilinear")).removeprefix("bi")
    rules = _Rules(
        mode=mode,
        place=OLD_SAMPLING["coordinate_transformation_mode"],
        rounding=OLD_SAMPLING["nearest_mode"],
        cubic=0.0,
        antialias=False,
        exclude=False,
        outside=0.0,
    )
    given = node.attributes.get("scales")
    scales = node.constant(1, "scales") if given is None else np.asarray(given)
    if scales is None:
        raise NotConverted("it has no scales")
    return _interpolated(node, rules, _scaled(node.shape(0), range(len(scales)), scales.reshape(-1)))


def _dimensions(node: Node, rules: _Rules) -> list[_Dimension]:
    shape = node.shape(0)
    listed = node.attributes.get("axes")
    axes = range(len(shape)) if listed is None else [counted(int(each), len(shape)) for each in listed]
    first = 1 if node.opset < _FIRST_SAMPLING else 2
    scales = node.constant(first, "scales")
    sizes = node.constant(first + 1, "sizes")
    if scales is not None and scales.size:
        found = _scaled(shape, axes, scales.reshape(-1))
    elif sizes is not None and sizes.size:
        found = _sized(node, shape, axes, [int(each) for each in sizes.reshape(-1)])
    else:
        raise NotConverted("it has neither scales nor sizes")
    if rules.place != "tf_crop_and_resize":
        return found
    roi = node.constant(1, "roi")
    if roi is None or roi.size != 2 * len(found):
        raise NotConverted("its operand `roi` does not fit its axes")
    ends = zip(roi.reshape(2, -1)[0], roi.reshape(2, -1)[1], strict=True)
    return [
        _Dimension(axis=d.axis, before=d.before, after=d.after, scale=d.scale, shown=(float(a), float(b)))
        for d, (a, b) in zip(found, ends, strict=True)
    ]


def _scaled(shape: Sequence[int], axes: Sequence[int], scales: Array) -> list[_Dimension]:
    return [
        _Dimension(
            axis=axis, before=shape[axis], after=int(np.floor(shape[axis] * scale)), scale=float(scale)
        )
        for axis, scale in zip(axes, scales, strict=True)
    ]


def _sized(node: Node, shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> list[_Dimension]:
    policy = node.text("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    ratios = [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    if policy != "stretch":
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [scale] * len(ratios)
        sizes = [int(np.floor(shape[axis] * scale + 0.5)) for axis in axes]
    return [
        _Dimension(axis=axis, before=shape[axis], after=size, scale=ratio)
        for axis, size, ratio in zip(axes, sizes, ratios, strict=True)
    ]


def _interpolated(node: Node, rules: _Rules, dimensions: Sequence[_Dimension]) -> Any:
    longest = max((each.after for each in dimensions), default=0)
    if longest > _LONGEST:
        raise NotConverted(f"its output has {longest:,} places along a dimension, the most are {_LONGEST:,}")
    changed = [_taps(each, rules) for each in dimensions if each.before != each.after or _moves(each, rules)]
    shape = list(node.shape(0))
    for taps in changed:
        shape[taps.dimension.axis] = taps.dimension.after
    if _is_of_images(node, changed):
        return _of_images(node, changed, nearest=rules.mode == "nearest")
    if rules.mode == "nearest":
        return _nearest(node, changed, shape, rules)
    return _weighted(node, changed, shape, rules)


def _is_of_images(node: Node, changed: Sequence[_Taps]) -> bool:
    """Whether rows and columns of an image of floats change, and each pixel is a sum of a few."""
    if (
        node.dtype(0) != "float32"
        or len(node.shape(0)) != len(_TO_NHWC)
        or isinstance(node.given(0), GenericConst)
    ):
        return False
    axes = {taps.dimension.axis for taps in changed}
    few = prod(taps.indices.shape[1] for taps in changed) <= _FEW
    return bool(axes) and axes <= {2, 3} and few and all(taps.shows.all() for taps in changed)


def _of_images(node: Node, changed: Sequence[_Taps], *, nearest: bool) -> Any:
    """By a definition on NHWC, in which images are held: transposes move nothing there, and channels are
    innermost.
    """
    shape = node.shape(0)
    by_axis = {taps.dimension.axis: taps for taps in changed}
    rows, columns = (by_axis[axis] if axis in by_axis else _kept(axis, shape[axis]) for axis in (2, 3))
    tables = [constant(taps.indices[:, 0] if nearest else taps.indices, "int32") for taps in (rows, columns)]
    weights = [] if nearest else [constant(taps.weights, "float32") for taps in (rows, columns)]
    operands = [each for pair in zip_longest(tables, weights) for each in pair if each is not None]
    x = node.emit(relax.op.permute_dims(node.operand(0), _TO_NHWC))
    out = (shape[0], len(rows.indices), len(columns.indices), shape[1])
    name = "nearest" if nearest else "weighed"
    call = defined_call(name, (x, *operands), out, "float32", {}, Arithmetic.FLOAT)
    return node.emit(relax.op.permute_dims(node.emit(call), _TO_NCHW))


def _kept(axis: int, extent: int) -> _Taps:
    """Each place as it is."""
    dimension = _Dimension(axis=axis, before=extent, after=extent, scale=1.0)
    indices = np.arange(extent)[:, np.newaxis]
    return _Taps(
        dimension=dimension, indices=indices, weights=np.ones(indices.shape), shows=np.ones(extent, bool)
    )


def _moves(dimension: _Dimension, rules: _Rules) -> bool:
    return rules.place == "tf_crop_and_resize" and dimension.shown != (0.0, 1.0)


def _nearest(node: Node, changed: Sequence[_Taps], shape: Sequence[int], rules: _Rules) -> Any:
    tables = [constant(taps.indices[:, 0], "int32") for taps in changed]
    masks = _masks(changed)

    def definition(x: Any, *given: Any) -> Any:
        indices, shown = given[: len(changed)], given[len(changed) :]

        def element(*at: Any) -> Any:
            place = list(at)
            for taps, each in zip(changed, indices, strict=True):
                place[taps.dimension.axis] = each(at[taps.dimension.axis])
            return _masked(x(*place), changed, shown, at, rules)

        return te.compute(tuple(shape), element)

    return node.computed(definition, node.operand(0), *tables, *masks)


def _weighted(node: Node, changed: Sequence[_Taps], shape: Sequence[int], rules: _Rules) -> Any:
    """Sums are of floats; results of whole numbers are rounded towards zero, as the definition does."""
    kind = node.dtype(0)
    if not changed:
        return node.operand(0)
    tables = [constant(taps.indices, "int32") for taps in changed]
    tables += [constant(taps.weights, "float32") for taps in changed]
    masks = _masks(changed)
    count = len(changed)

    def definition(x: Any, *given: Any) -> Any:
        indices, weights, shown = given[:count], given[count : 2 * count], given[2 * count :]
        reduced = [te.reduce_axis((0, taps.indices.shape[1]), name=f"k{n}") for n, taps in enumerate(changed)]

        def total(*at: Any) -> Any:
            place, factor = list(at), None
            for taps, index, weight, k in zip(changed, indices, weights, reduced, strict=True):
                axis = taps.dimension.axis
                place[axis] = index(at[axis], k)
                factor = weight(at[axis], k) if factor is None else factor * weight(at[axis], k)
            return te.sum(x(*place).astype("float32") * factor, axis=reduced)

        summed = te.compute(tuple(shape), total, name="summed")
        if kind == "float32" and not shown:
            return summed
        return te.compute(
            tuple(shape), lambda *at: _masked(summed(*at).astype(kind), changed, shown, at, rules)
        )

    return node.computed(definition, node.operand(0), *tables, *masks)


def _masks(changed: Sequence[_Taps]) -> list[Any]:
    """A table for each dimension that shows less than the input, else none at all."""
    if all(taps.shows.all() for taps in changed):
        return []
    return [constant(taps.shows, "int8") for taps in changed]


def _masked(
    value: Any, changed: Sequence[_Taps], shown: Sequence[Any], at: Sequence[Any], rules: _Rules
) -> Any:
    if not shown:
        return value
    inside = [each(at[taps.dimension.axis]) != 0 for taps, each in zip(changed, shown, strict=True)]
    return tirx.Select(tirx.all(*inside), value, tirx.const(rules.outside, str(value.ty.dtype)))


def _taps(dimension: _Dimension, rules: _Rules) -> _Taps:
    places, shows = _places(dimension, rules.place)
    if rules.mode == "nearest":
        rounded = _rounded(places, rules.rounding, dimension.scale)
        indices = np.clip(rounded, 0, dimension.before - 1)[:, np.newaxis]
        return _Taps(dimension=dimension, indices=indices, weights=np.ones(indices.shape), shows=shows)
    rows = [_row(float(place), dimension, rules) for place in places]
    return _Taps(
        dimension=dimension,
        indices=np.clip(np.stack([row[0] for row in rows]), 0, dimension.before - 1),
        weights=np.stack([row[1] for row in rows]),
        shows=shows,
    )


def _places(dimension: _Dimension, rule: str) -> tuple[Array, Array]:
    """Where in the input each place of the output is, and whether that is in the input at all."""
    at, scale = np.arange(dimension.after, dtype=np.float64), dimension.scale
    length = scale * dimension.before
    last = dimension.before - 1
    shows = np.ones(dimension.after, bool)
    if rule == "align_corners":
        return (at * last / (length - 1) if length != 1 else at * 0.0), shows
    if rule == "asymmetric":
        return at / scale, shows
    if rule == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale, shows
    if rule == "tf_crop_and_resize":
        start, end = dimension.shown
        slope = (
            at * (end - start) * last / (length - 1) if length != 1 else (at * 0.0 + end - start) * last / 2
        )
        found = slope + start * last
        return found, (found >= 0) & (found <= last)
    if rule == "pytorch_half_pixel" and length == 1:
        return at * 0.0 - 0.5, shows
    offset = dimension.before / 2 * (1 - dimension.after / length) if rule == "half_pixel_symmetric" else 0.0
    return offset + (at + 0.5) / scale - 0.5, shows


def _rounded(places: Array, rule: str, scale: float) -> Array:
    if rule == "floor" or (rule == _OUTWARDS and scale >= 1):
        return np.floor(places).astype(np.int64)
    if rule in ("ceil", _OUTWARDS):
        return np.ceil(places).astype(np.int64)
    if rule == "round_prefer_floor":
        return np.ceil(places - 0.5).astype(np.int64)
    return np.floor(places + 0.5).astype(np.int64)


def _row(place: float, dimension: _Dimension, rules: _Rules) -> tuple[Array, Array]:
    """The inputs for one place, also those beside the input, and their weights."""
    low = int(np.floor(place))
    ratio = place - low
    if ratio == 0.0:
        low, ratio = low - 1, 1.0  # as the definition does: a place on an element is right of another one
    reach = 1 if rules.mode == "linear" else 2
    scale = min(dimension.scale, 1.0) if rules.antialias else 1.0
    first = int(np.floor(-reach / scale)) + 1
    offsets = np.arange(first, 2 - first)
    distances = np.abs(offsets - ratio) * scale
    weights = _linear(distances) if rules.mode == "linear" else _cubic(distances, rules.cubic)
    if rules.antialias:
        weights = weights / weights.sum()
    indices = low + offsets
    if rules.exclude:
        weights = np.where((indices < 0) | (indices >= dimension.before), 0.0, weights)
        weights = weights / weights.sum()
    return indices, weights


def _linear(distances: Array) -> Array:
    weights: Array = np.clip(1 - distances, 0, 1)
    return weights


def _cubic(d: Array, a: float) -> Array:
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


CONVERTERS: Mapping[str, Converter] = {
    "Resize": converter(
        _resize,
        "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value"
        " keep_aspect_ratio_policy mode nearest_mode",
    ),
    "Upsample": converter(_upsample, "mode scales"),
}
