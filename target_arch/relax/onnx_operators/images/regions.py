"""Operators that read an image at computed places between its pixels."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.loop_work import turning
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, local

_FLOAT = "float32"

_Plane = Callable[[Any, Any], Any]
"""The pixel of one channel of an image at a row and a column."""


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


def _roi_align(node: Node) -> Any:
    n, channels = node.shape(0)[:2]
    high, wide = node.shape(0)[2:]
    rows, columns = node.integer("output_height", 1), node.integer("output_width", 1)
    half = node.text("coordinate_transformation_mode", "half_pixel", ("half_pixel", "output_half_pixel"))
    largest = node.text("mode", "avg", ("avg", "max")) == "max"
    ratio, scale = node.integer("sampling_ratio", 0), float(node.attributes.get("spatial_scale", 1.0))
    offset = 0.5 if half == "half_pixel" else 0.0
    rois = node.shape(1)[0]
    # What no sampling ratio says depends on the region: it counts as one as large as the image.
    turns = (ratio, ratio) if ratio > 0 else (-(-high // rows), -(-wide // columns))

    def body(out: Any, x: Any, boxes: Any, images: Any) -> None:
        box, grid = local("box", (4,), _FLOAT), local("grid", (2,), "int32")
        total, place = local("total", (1,), _FLOAT), local("place", (2,), _FLOAT)
        with ib.grid(rois, channels, rows, columns) as (r, c, i, j):
            _box(box, boxes, r, scale, offset, malformed=offset == 0.0)
            for axis, count in ((0, rows), (1, columns)):
                size = box[2 + axis] / _number(count)
                sampled = tirx.ceil(size).astype("int32") if ratio <= 0 else tirx.IntImm("int32", ratio)
                ib.buffer_store(grid, sampled, [axis])
            ib.buffer_store(total, _number(0.0), [0])
            down, across = (ib.serial(0, grid[axis]) for axis in (0, 1))
            with turning(turns[0]), down as a, turning(turns[1]), across as b:
                for axis, cell, step, count in ((0, i, a, rows), (1, j, b, columns)):
                    size = box[2 + axis] / _number(count)
                    fine = (step.astype(_FLOAT) + _number(0.5)) * size / grid[axis].astype(_FLOAT)
                    ib.buffer_store(place, box[axis] + cell.astype(_FLOAT) * size + fine, [axis])
                image = tirx.max(tirx.min(images[r].astype("int32"), n - 1), 0)
                plane = partial(_pixel, x, image, c)
                _sample(total, plane, place, (high, wide), (a, b), largest=largest)
            samples = tirx.max(grid[0] * grid[1], 1).astype(_FLOAT)
            ib.buffer_store(out, total[0] if largest else total[0] / samples, [r, c, i, j])

    return node.written(
        (rois, channels, rows, columns), _FLOAT, body, *(node.operand(each) for each in range(3))
    )


def _box(box: Any, boxes: Any, r: Any, scale: float, offset: float, *, malformed: bool) -> None:
    """Top, left, height and width of a region."""
    for axis, (start, end) in enumerate(((1, 3), (0, 2))):
        first = boxes[r, start] * _number(scale) - _number(offset)
        last = boxes[r, end] * _number(scale) - _number(offset)
        length = tirx.max(last - first, _number(1.0)) if malformed else last - first
        ib.buffer_store(box, first, [axis])
        ib.buffer_store(box, length, [2 + axis])


def _pixel(x: Any, image: Any, channel: Any, row: Any, column: Any) -> Any:
    return x[image, channel, row, column]


def _sample(
    total: Any,
    plane: _Plane,
    place: Any,
    sizes: tuple[int, int],
    step: tuple[Any, Any],
    *,
    largest: bool,
) -> None:
    """Add one sample, or keep it where it is larger; more than a pixel outside of the image it is nothing."""
    low, weight = local("low", (2,), "int32"), local("weight", (2,), _FLOAT)
    outside = [
        tirx.any(place[axis] < _number(-1.0), place[axis] > _number(size)) for axis, size in enumerate(sizes)
    ]
    nothing = tirx.any(*outside)
    for axis, size in enumerate(sizes):
        inside = tirx.max(place[axis], _number(0.0))
        ib.buffer_store(low, tirx.min(inside, _number(size - 1)).astype("int32"), [axis])
        beyond = low[axis] >= size - 1
        ib.buffer_store(weight, tirx.Select(beyond, _number(0.0), inside - low[axis].astype(_FLOAT)), [axis])
    terms = []
    for up, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row = tirx.min(low[0] + up, sizes[0] - 1)
        column = tirx.min(low[1] + right, sizes[1] - 1)
        factor = (weight[0] if up else _number(1.0) - weight[0]) * (
            weight[1] if right else _number(1.0) - weight[1]
        )
        terms.append(tirx.Select(nothing, _number(0.0), factor * plane(row, column)))
    if not largest:
        ib.buffer_store(total, total[0] + (terms[0] + terms[1] + terms[2] + terms[3]), [0])
        return
    best = tirx.max(tirx.max(terms[0], terms[1]), tirx.max(terms[2], terms[3]))
    first = tirx.all(step[0] == 0, step[1] == 0)
    ib.buffer_store(total, tirx.Select(first, best, tirx.max(total[0], best)), [0])


def _deform_conv(node: Node) -> Any:
    shape, weights, offsets = node.shape(0), node.shape(1), node.shape(2)
    if len(shape) != 4:
        raise NotConverted(f"a convolution along {len(shape) - 2} dimensions")
    strides = [int(each) for each in node.attributes.get("strides", [1, 1])]
    dilations = [int(each) for each in node.attributes.get("dilations", [1, 1])]
    pads = [int(each) for each in node.attributes.get("pads", [0] * 4)]
    group, offset_group = node.integer("group", 1), node.integer("offset_group", 1)
    out_channels, per_group, kh, kw = weights
    out_per_group, per_offset = out_channels // group, shape[1] // offset_group
    bias, mask = node.given(3), node.given(4)
    extra = [each for each in (bias, mask) if each is not None]

    def definition(x: Any, w: Any, offset: Any, *given: Any) -> Any:
        channel = te.reduce_axis((0, per_group), name="c")
        row, column = te.reduce_axis((0, kh), name="kh"), te.reduce_axis((0, kw), name="kw")

        def term(n: Any, o: Any, i: Any, j: Any) -> Any:
            c = tirx.floordiv(o, out_per_group) * per_group + channel
            slot = tirx.floordiv(c, per_offset) * (kh * kw) + row * kw + column
            y = (i * strides[0] - pads[0] + row * dilations[0]).astype(_FLOAT) + offset(n, 2 * slot, i, j)
            z = (j * strides[1] - pads[1] + column * dilations[1]).astype(_FLOAT) + offset(
                n, 2 * slot + 1, i, j
            )
            value = _bilinear(x, n, c, y, z, shape[2:]) * w(o, channel, row, column)
            value = value * given[-1](n, slot, i, j) if mask is not None else value
            return te.sum(value, axis=[channel, row, column])

        summed = te.compute((shape[0], out_channels, *offsets[2:]), term, name="summed")
        if bias is None:
            return summed
        return te.compute(summed.shape, lambda n, o, i, j: summed(n, o, i, j) + given[0](o))

    return node.computed(definition, *(node.operand(each) for each in range(3)), *extra)


def _bilinear(x: Any, n: Any, c: Any, y: Any, z: Any, sizes: tuple[int, ...]) -> Any:
    """The image between its pixels; zero outside of it."""
    top, left = tirx.floor(y), tirx.floor(z)
    total = None
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = top.astype("int32") + down, left.astype("int32") + right
        inside = tirx.all(row >= 0, row < sizes[0], column >= 0, column < sizes[1])
        vertical = y - top if down else _number(1.0) - (y - top)
        horizontal = z - left if right else _number(1.0) - (z - left)
        value = tirx.if_then_else(inside, x(n, c, row, column) * vertical * horizontal, _number(0.0))
        total = value if total is None else total + value
    return total


CONVERTERS: Mapping[str, Converter] = {
    "DeformConv": converter(_deform_conv, "dilations group kernel_shape offset_group pads strides"),
    "RoiAlign": converter(
        _roi_align,
        "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale",
    ),
}
