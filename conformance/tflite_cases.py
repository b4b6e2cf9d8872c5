"""Random models of one TFLite operator each, for every operator and element type."""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np
from attrs import frozen

from conformance.tflite_files import Array, TfliteFile

QUANTIZED = ("int8", "uint8", "int16")
TYPES = (*QUANTIZED, "float32", "int32", "int64", "bool")
LARGEST = 1000
"""Integers that are no steps of a grid stay far from the ends of their type: LiteRT's sums would overflow."""


ROUND = (0.01, 0.02, 0.025, 0.05, 0.0625, 0.1)


@frozen(kw_only=True, eq=False)
class Draw:
    """A file to which a case is added, a source of random numbers, and the element type wanted. Scales are
    round numbers where results are to be ties of rounding.
    """

    file: TfliteFile
    rng: np.random.Generator
    dtype: str
    ties: bool = False

    @property
    def real(self) -> bool:
        """Whether elements are no steps of a grid."""
        return self.dtype not in QUANTIZED

    def extent(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def shape(self, rank: int) -> tuple[int, ...]:
        return tuple(self.extent(1, 6) for _ in range(rank))

    def image(self) -> tuple[int, ...]:
        return (self.extent(1, 2), self.extent(3, 8), self.extent(3, 8), self.extent(1, 5))

    def choice(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def scale(self, factor: float = 1.0) -> float:
        wide = 256.0 if self.dtype == "int16" else 1.0
        drawn = self.choice(*ROUND) if self.ties else self.rng.uniform(0.01, 0.1)
        return float(np.float32(drawn * factor / wide))

    def grid(self, factor: float = 1.0) -> tuple[Any, ...]:
        if self.real:
            return (None, 0)
        zero = {"int8": self.extent(-60, 60), "uint8": self.extent(70, 190), "int16": 0}[self.dtype]
        return self.scale(factor), zero

    def values(self, shape: tuple[int, ...], dtype: str = "") -> Array:
        return random_values(self.rng, shape, dtype or self.dtype)


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Values of all of an element type, but as far as `LARGEST` says."""
    if dtype.startswith("float"):
        return rng.normal(0, 1, shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    low, high = (
        (-LARGEST, LARGEST) if dtype in ("int32", "int64") else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    )
    return rng.integers(low, high + 1, shape).astype(dtype)


Case = Callable[[Draw], None]


def one_input(
    code: str, draw: Draw, *, options: Any = None, version: int = 1, out: Any = None, low: float = 0
) -> None:
    """A function of one number; `out` is the grid that LiteRT asks for, by element type."""
    shape = draw.shape(draw.extent(1, 4))
    given = draw.grid()
    if low and not draw.real:
        given = (given[0], {"int8": -128, "uint8": 0, "int16": 0}[draw.dtype])
    x = draw.file.input(shape, draw.dtype, *given)
    grid = draw.grid() if out is None or draw.real else out[draw.dtype]
    y = draw.file.output(shape, draw.dtype, *(given if grid == "same" else grid))
    draw.file.operator(code, [x], [y], options, version)


def gelu(draw: Draw) -> None:
    """GELU, exact or not."""
    one_input("GELU", draw, options=("GeluOptions", {"approximate": draw.choice(False, True)}), version=2)


def softmax(draw: Draw) -> None:
    """SOFTMAX, whose input is multiplied by an option; of 8-bit values it may be int16."""
    options = ("SoftmaxOptions", {"beta": draw.choice(1.0, 1.0, 0.5, 1.7)})
    if draw.dtype not in ("int8", "uint8") or draw.choice(False, False, True) is False:
        one_input("SOFTMAX", draw, options=options, out=UNIT, version=3)
        return
    shape = draw.shape(draw.extent(1, 4))
    x, y = (
        draw.file.input(shape, draw.dtype, *draw.grid()),
        draw.file.output(shape, "int16", 2**-16, -(2**15)),
    )
    draw.file.operator("SOFTMAX", [x], [y], options, 3)


def two_inputs(code: str, draw: Draw, *, options: Any = None, version: int = 2, factor: float = 1.0) -> None:
    """A function of two numbers, of which one may be repeated."""
    rank = draw.extent(1, 4)
    shape = draw.shape(rank)
    other = draw.choice(shape, tuple(draw.choice(1, extent) for extent in shape), shape[-1:])
    a, b = (draw.file.input(each, draw.dtype, *draw.grid()) for each in (shape, other))
    y = draw.file.output(shape, draw.dtype, *draw.grid(factor))
    draw.file.operator(code, [a, b], [y], options, version)


def same_grid_pair(code: str, draw: Draw) -> None:
    """MAXIMUM and MINIMUM: all tensors on one grid."""
    shape, grid = draw.shape(draw.extent(1, 4)), draw.grid()
    other = draw.choice(shape, tuple(draw.choice(1, extent) for extent in shape))
    a, b = (draw.file.input(each, draw.dtype, *grid) for each in (shape, other))
    y = draw.file.output(shape, draw.dtype, *grid)
    draw.file.operator(code, [a, b], [y], ("MaximumMinimumOptions", {}), 2)


def comparison(code: str, table: str, draw: Draw) -> None:
    """A comparison, with a bool as result."""
    shape = draw.shape(draw.extent(1, 4))
    other = draw.choice(shape, tuple(draw.choice(1, extent) for extent in shape))
    a, b = (draw.file.input(each, draw.dtype, *draw.grid()) for each in (shape, other))
    y = draw.file.output(shape, "bool")
    draw.file.operator(code, [a, b], [y], (table, {}), 2)


def reduction(code: str, draw: Draw, *, same: bool = False, version: int = 2) -> None:
    """Along one to three dimensions, kept or not."""
    shape = draw.shape(draw.extent(2, 4))
    axes = sorted(set(draw.rng.integers(0, len(shape), draw.extent(1, 3)).tolist()))
    keep = bool(draw.choice(0, 1))
    if not keep and len(axes) == len(shape):
        axes = axes[1:]
    out = tuple(
        1 if axis in axes else extent for axis, extent in enumerate(shape) if keep or axis not in axes
    )
    grid = draw.grid()
    x = draw.file.input(shape, draw.dtype, *grid)
    y = draw.file.output(out, draw.dtype, *(grid if same else draw.grid()))
    draw.file.operator(
        code, [x, draw.file.numbers(*axes)], [y], ("ReducerOptions", {"keepDims": keep}), version
    )


def arg(code: str, table: str, draw: Draw) -> None:
    """The place of the greatest or the least."""
    shape = draw.shape(draw.extent(2, 4))
    axis = draw.extent(0, len(shape) - 1)
    x = draw.file.input(shape, draw.dtype, *draw.grid())
    y = draw.file.output(shape[:axis] + shape[axis + 1 :], "int32")
    place = draw.file.tensor((1,), "int32", data=np.array([axis], np.int32))
    draw.file.operator(code, [x, place], [y], (table, {"outputType": 2}), 2)


def moved(
    code: str,
    draw: Draw,
    shape: tuple[int, ...],
    out: tuple[int, ...],
    rest: list[int],
    options: Any,
    version: int = 2,
) -> None:
    """An operator that moves elements, with its constant operands."""
    grid = draw.grid()
    x = draw.file.input(shape, draw.dtype, *grid)
    y = draw.file.output(out, draw.dtype, *grid)
    draw.file.operator(code, [x, *rest], [y], options, version)


def transpose(draw: Draw) -> None:
    shape = draw.shape(draw.extent(2, 5))
    order = draw.rng.permutation(len(shape)).tolist()
    moved(
        "TRANSPOSE",
        draw,
        shape,
        tuple(shape[axis] for axis in order),
        [draw.file.numbers(*order)],
        ("TransposeOptions", {}),
    )


def pad(code: str, draw: Draw) -> None:
    shape = draw.shape(draw.extent(2, 4))
    widths = draw.rng.integers(0, 3, (len(shape), 2)).astype(np.int32)
    grid = draw.grid()
    x = draw.file.input(shape, draw.dtype, *grid)
    out = tuple(int(extent + width.sum()) for extent, width in zip(shape, widths, strict=True))
    y = draw.file.output(out, draw.dtype, *grid)
    rest = [draw.file.tensor(widths.shape, "int32", data=widths)]
    if code == "PADV2":
        rest.append(draw.file.tensor((1,), draw.dtype, *grid, data=draw.values((1,))))
    draw.file.operator(code, [x, *rest], [y], ("PadV2Options" if code == "PADV2" else "PadOptions", {}), 2)


def mirror_pad(draw: Draw) -> None:
    shape = tuple(draw.extent(3, 6) for _ in range(draw.extent(2, 4)))
    widths = draw.rng.integers(0, 3, (len(shape), 2)).astype(np.int32)
    out = tuple(int(extent + width.sum()) for extent, width in zip(shape, widths, strict=True))
    rest = [draw.file.tensor(widths.shape, "int32", data=widths)]
    moved("MIRROR_PAD", draw, shape, out, rest, ("MirrorPadOptions", {"mode": draw.choice(0, 1)}))


def slice_(draw: Draw) -> None:
    shape = tuple(draw.extent(2, 6) for _ in range(draw.extent(1, 4)))
    begin = [draw.extent(0, extent - 1) for extent in shape]
    size = [draw.extent(1, extent - first) for extent, first in zip(shape, begin, strict=True)]
    rest = [draw.file.numbers(*begin), draw.file.numbers(*size)]
    moved("SLICE", draw, shape, tuple(size), rest, ("SliceOptions", {}))


def strided_slice(draw: Draw) -> None:
    shape = tuple(draw.extent(3, 8) for _ in range(draw.extent(1, 4)))
    step = [draw.choice(1, 1, 2, -1) for _ in shape]
    begin = [draw.extent(0, 1) if each > 0 else -1 for each in step]
    end = [extent - draw.extent(0, 1) if each > 0 else 0 for extent, each in zip(shape, step, strict=True)]
    mask = draw.choice(0, 1)
    index = [slice(b, e, s) for b, e, s in zip(begin, end, step, strict=True)]
    if mask:
        index[0] = slice(None, end[0], step[0])
    out = np.zeros(shape)[tuple(index)].shape
    rest = [draw.file.numbers(*each) for each in (begin, end, step)]
    options = {"beginMask": mask, "endMask": 0, "ellipsisMask": 0, "newAxisMask": 0, "shrinkAxisMask": 0}
    moved("STRIDED_SLICE", draw, shape, out, rest, ("StridedSliceOptions", options))


def split(draw: Draw) -> None:
    shape = list(draw.shape(draw.extent(2, 4)))
    axis, parts = draw.extent(0, len(shape) - 1), draw.extent(2, 3)
    part, grid = tuple(shape), draw.grid()
    shape[axis] *= parts
    place = draw.file.tensor((), "int32", data=np.array(axis, np.int32))
    x = draw.file.input(tuple(shape), draw.dtype, *grid)
    outs = [draw.file.output(part, draw.dtype, *grid) for _ in range(parts)]
    draw.file.operator("SPLIT", [place, x], outs, ("SplitOptions", {"numSplits": parts}), 2)


def split_v(draw: Draw) -> None:
    shape = list(draw.shape(draw.extent(2, 4)))
    axis, grid = draw.extent(0, len(shape) - 1), draw.grid()
    sizes = [draw.extent(1, 3) for _ in range(draw.extent(2, 3))]
    shape[axis] = sum(sizes)
    place = draw.file.tensor((), "int32", data=np.array(axis, np.int32))
    x = draw.file.input(tuple(shape), draw.dtype, *grid)
    outs = [draw.file.output((*shape[:axis], size, *shape[axis + 1 :]), draw.dtype, *grid) for size in sizes]
    draw.file.operator(
        "SPLIT_V",
        [x, draw.file.numbers(*sizes), place],
        outs,
        ("SplitVOptions", {"numSplits": len(sizes)}),
        2,
    )


def pack(draw: Draw) -> None:
    shape, grid, count = draw.shape(draw.extent(1, 3)), draw.grid(), draw.extent(1, 3)
    axis = draw.extent(0, len(shape))
    xs = [draw.file.input(shape, draw.dtype, *grid) for _ in range(count)]
    y = draw.file.output((*shape[:axis], count, *shape[axis:]), draw.dtype, *grid)
    draw.file.operator("PACK", xs, [y], ("PackOptions", {"axis": axis, "valuesCount": count}), 2)


def unpack(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(2, 4)), draw.grid()
    axis = draw.extent(0, len(shape) - 1)
    x = draw.file.input(shape, draw.dtype, *grid)
    ys = [draw.file.output(shape[:axis] + shape[axis + 1 :], draw.dtype, *grid) for _ in range(shape[axis])]
    draw.file.operator("UNPACK", [x], ys, ("UnpackOptions", {"axis": axis, "num": shape[axis]}), 2)


def concatenation(draw: Draw) -> None:
    shape, grid = list(draw.shape(draw.extent(1, 4))), draw.grid()
    axis, sizes = draw.extent(0, len(shape) - 1), [draw.extent(1, 3) for _ in range(draw.extent(2, 3))]
    xs = [draw.file.input((*shape[:axis], size, *shape[axis + 1 :]), draw.dtype, *grid) for size in sizes]
    y = draw.file.output((*shape[:axis], sum(sizes), *shape[axis + 1 :]), draw.dtype, *grid)
    draw.file.operator("CONCATENATION", xs, [y], ("ConcatenationOptions", {"axis": axis}), 2)


def gather(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    axis = draw.extent(0, len(shape) - 1)
    places = draw.rng.integers(0, shape[axis], draw.shape(draw.extent(1, 2))).astype(np.int32)
    rest = [draw.file.tensor(places.shape, "int32", data=places)]
    out = (*shape[:axis], *places.shape, *shape[axis + 1 :])
    moved("GATHER", draw, shape, out, rest, ("GatherOptions", {"axis": axis, "batchDims": 0}))


def blocks(code: str, draw: Draw) -> None:
    n, height, width, channels = draw.shape(4)
    size = draw.extent(2, 3)
    deep, wide = (n, height, width, channels * size**2), (n, height * size, width * size, channels)
    shape, out = (deep, wide) if code == "DEPTH_TO_SPACE" else (wide, deep)
    table = "DepthToSpaceOptions" if code == "DEPTH_TO_SPACE" else "SpaceToDepthOptions"
    moved(code, draw, shape, out, [], (table, {"blockSize": size}), 1 if code == "DEPTH_TO_SPACE" else 2)


def batches(code: str, draw: Draw) -> None:
    n, height, width, channels = draw.shape(4)
    block = (draw.extent(1, 3), draw.extent(1, 3))
    deep = (n * prod(block), height + 1, width + 1, channels)
    wide = (n, (height + 1) * block[0], (width + 1) * block[1], channels)
    cut = draw.rng.integers(0, 2, (2, 2)).astype(np.int32)
    inner = (n, wide[1] - int(cut[0].sum()), wide[2] - int(cut[1].sum()), channels)
    shape, out = (deep, inner) if code == "BATCH_TO_SPACE_ND" else (inner, deep)
    if min(inner) < 1:
        cut[:] = 0
        shape, out = (deep, wide) if code == "BATCH_TO_SPACE_ND" else (wide, deep)
    rest = [draw.file.numbers(*block), draw.file.tensor((2, 2), "int32", data=cut)]
    table = "BatchToSpaceNDOptions" if code == "BATCH_TO_SPACE_ND" else "SpaceToBatchNDOptions"
    moved(code, draw, shape, out, rest, (table, {}))


def reshaped(code: str, draw: Draw) -> None:
    shape = draw.shape(3)
    if code == "EXPAND_DIMS":
        moved(
            code, draw, shape, (shape[0], 1, *shape[1:]), [draw.file.numbers(1)], ("ExpandDimsOptions", {}), 1
        )
    elif code == "SQUEEZE":
        moved(code, draw, (shape[0], 1, *shape[1:]), shape, [], ("SqueezeOptions", {"squeezeDims": [1]}), 1)
    else:
        out = (shape[0] * shape[1], shape[2])
        moved(
            code, draw, shape, out, [draw.file.numbers(*out)], ("ReshapeOptions", {"newShape": list(out)}), 1
        )


def tile(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 3))
    times = [draw.extent(1, 3) for _ in shape]
    out = tuple(extent * each for extent, each in zip(shape, times, strict=True))
    moved("TILE", draw, shape, out, [draw.file.numbers(*times)], ("TileOptions", {}))


def broadcast_to(draw: Draw) -> None:
    out = draw.shape(draw.extent(2, 4))
    shape = tuple(draw.choice(1, extent) for extent in out)
    moved("BROADCAST_TO", draw, shape, out, [draw.file.numbers(*out)], ("BroadcastToOptions", {}))


def reverse(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    moved(
        "REVERSE_V2",
        draw,
        shape,
        shape,
        [draw.file.numbers(draw.extent(0, len(shape) - 1))],
        ("ReverseV2Options", {}),
    )


def resize(code: str, draw: Draw) -> None:
    shape = draw.image()
    height, width = draw.extent(1, 12), draw.extent(1, 12)
    corners = draw.choice(False, True)
    options = {"alignCorners": corners, "halfPixelCenters": False if corners else draw.choice(False, True)}
    table = "ResizeBilinearOptions" if code == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    moved(
        code,
        draw,
        shape,
        (shape[0], height, width, shape[3]),
        [draw.file.numbers(height, width)],
        (table, options),
        3,
    )


def _weight_scale(draw: Draw) -> float:
    drawn = draw.choice(*ROUND) / 5 if draw.ties else draw.rng.uniform(0.002, 0.02)
    return float(np.float32(drawn))


def weights(draw: Draw, shape: tuple[int, ...], axis: int, given: float) -> tuple[int, list[float], int]:
    """Weights as the element type of the activations asks for; their scales and the number of channels."""
    if draw.real:
        return draw.file.tensor(shape, draw.dtype, data=draw.values(shape)), [], shape[axis]
    if draw.dtype == "uint8":
        scale = draw.scale() / 4
        return (
            draw.file.tensor(shape, "uint8", scale, draw.extent(90, 160), data=draw.values(shape)),
            [scale],
            shape[axis],
        )
    count = shape[axis] if draw.choice(0, 1) else 1
    scales = [_weight_scale(draw) for _ in range(count)]
    values = draw.rng.integers(-127, 128, shape)
    scale = scales if count > 1 else scales[0]
    return (
        draw.file.tensor(shape, "int8", scale, data=values, axis=axis if count > 1 else 0),
        scales,
        shape[axis],
    )


def bias(draw: Draw, scales: list[float], count: int, given: float) -> int:
    if draw.real:
        return draw.file.tensor((count,), "float32", data=draw.values((count,)))
    dtype = "int64" if draw.dtype == "int16" else "int32"
    units = [float(np.float32(scale) * np.float32(given)) for scale in scales]
    values = draw.rng.integers(-3000, 3000, count)
    return draw.file.tensor((count,), dtype, units if len(units) > 1 else units[0], data=values)


def convolution(code: str, draw: Draw) -> None:
    n, height, width, channels = draw.image()
    kernel = (draw.extent(1, 3), draw.extent(1, 3))
    strides, same = (draw.extent(1, 2), draw.extent(1, 2)), draw.choice(False, True)
    dilation = (1, 1) if strides != (1, 1) else (draw.extent(1, 2), 1)
    reach = [(size - 1) * by + 1 for size, by in zip(kernel, dilation, strict=True)]
    if not same and (reach[0] > height or reach[1] > width):
        same = True
    out = tuple(
        -(-extent // step) if same else (extent - size) // step + 1
        for extent, size, step in zip((height, width), reach, strides, strict=True)
    )
    grid = draw.grid()
    x = draw.file.input((n, height, width, channels), draw.dtype, *grid)
    options: dict[str, Any] = {
        "padding": 0 if same else 1,
        "strideH": strides[0],
        "strideW": strides[1],
        "dilationHFactor": dilation[0],
        "dilationWFactor": dilation[1],
        "fusedActivationFunction": draw.choice(0, 1, 3),
    }
    each = draw.extent(1, 2)
    if code == "CONV_2D":
        shape, axis, outputs = (draw.extent(1, 6), *kernel, channels), 0, 0
        outputs = shape[0]
    else:
        outputs = channels * each
        shape, axis = (1, *kernel, outputs), 3
        options["depthMultiplier"] = each
    w, scales, count = weights(draw, shape, axis, grid[0])
    b = bias(draw, scales, count, grid[0])
    y = draw.file.output((n, *out, outputs), draw.dtype, *draw.grid(4))
    table = "Conv2DOptions" if code == "CONV_2D" else "DepthwiseConv2DOptions"
    draw.file.operator(code, [x, w, b], [y], (table, options), {"int16": 5}.get(draw.dtype, 3))


def fully_connected(draw: Draw) -> None:
    rows, inputs, outputs = draw.extent(1, 4), draw.extent(1, 9), draw.extent(1, 6)
    grid = draw.grid()
    keep = draw.choice(False, True)
    x = draw.file.input((rows, inputs) if not keep else (rows, 2, inputs), draw.dtype, *grid)
    w, scales, count = weights(draw, (outputs, inputs), 0, grid[0])
    b = bias(draw, scales, count, grid[0])
    y = draw.file.output((rows, outputs) if not keep else (rows, 2, outputs), draw.dtype, *draw.grid(4))
    options = {"fusedActivationFunction": draw.choice(0, 1, 3), "keepNumDims": keep}
    version = 12 if len(scales) > 1 else {"int16": 7, "float32": 5}.get(draw.dtype, 5)
    draw.file.operator("FULLY_CONNECTED", [x, w, b], [y], ("FullyConnectedOptions", options), version)


def transpose_conv(draw: Draw) -> None:
    n, height, width, channels = draw.image()
    kernel, strides = (draw.extent(1, 4), draw.extent(1, 4)), (draw.extent(1, 3), draw.extent(1, 3))
    same, outputs = draw.choice(False, True), draw.extent(1, 5)
    out = tuple(
        extent * step if same else (extent - 1) * step + max(size, step)
        for extent, size, step in zip((height, width), kernel, strides, strict=True)
    )
    grid = draw.grid()
    shape = (n, *out, outputs)
    x = draw.file.input((n, height, width, channels), draw.dtype, *grid)
    w, scales, count = weights(draw, (outputs, *kernel, channels), 0, grid[0])
    b = bias(draw, scales, count, grid[0])
    y = draw.file.output(shape, draw.dtype, *draw.grid(4))
    options = {"padding": 0 if same else 1, "strideH": strides[0], "strideW": strides[1]}
    draw.file.operator(
        "TRANSPOSE_CONV", [draw.file.numbers(*shape), w, x, b], [y], ("TransposeConvOptions", options), 3
    )


def batch_matmul(draw: Draw) -> None:
    batch, m, k, n = draw.extent(1, 3), draw.extent(1, 5), draw.extent(1, 6), draw.extent(1, 5)
    flips = draw.choice(False, True), draw.choice(False, True)
    a = draw.file.input((batch, k, m) if flips[0] else (batch, m, k), draw.dtype, *draw.grid())
    b = draw.file.input((batch, n, k) if flips[1] else (batch, k, n), draw.dtype, *draw.grid())
    y = draw.file.output((batch, m, n), draw.dtype, *draw.grid(8))
    options = {"adjX": flips[0], "adjY": flips[1]}
    draw.file.operator(
        "BATCH_MATMUL", [a, b], [y], ("BatchMatMulOptions", options), {"int16": 3}.get(draw.dtype, 2)
    )


def pool(code: str, draw: Draw, *, version: int = 3) -> None:
    n, height, width, channels = draw.image()
    kernel, strides, same = (
        (draw.extent(1, 3), draw.extent(1, 3)),
        (draw.extent(1, 2), draw.extent(1, 2)),
        draw.choice(False, True),
    )
    out = tuple(
        -(-extent // step) if same else (extent - size) // step + 1
        for extent, size, step in zip((height, width), kernel, strides, strict=True)
    )
    options = {
        "padding": 0 if same else 1,
        "strideH": strides[0],
        "strideW": strides[1],
        "filterHeight": kernel[0],
        "filterWidth": kernel[1],
        "fusedActivationFunction": draw.choice(0, 1, 3),
    }
    moved(
        code, draw, (n, height, width, channels), (n, *out, channels), [], ("Pool2DOptions", options), version
    )


def prelu(draw: Draw) -> None:
    shape = draw.image()
    x = draw.file.input(shape, draw.dtype, *draw.grid())
    dtype, grid = draw.dtype, draw.grid()
    if dtype == "int16":
        dtype, grid = "int8", (grid[0] * 256, draw.extent(-60, 60))
    alpha = draw.file.tensor((1, 1, shape[3]), dtype, *grid, data=draw.values((1, 1, shape[3]), dtype))
    y = draw.file.output(shape, draw.dtype, *draw.grid(2))
    draw.file.operator("PRELU", [x, alpha], [y], None)


def rsqrt(draw: Draw) -> None:
    """LiteRT refuses negative values: of int16 the absolute values are taken first."""
    if draw.dtype != "int16":
        one_input("RSQRT", draw, low=1, version=2)
        return
    shape, given = draw.shape(draw.extent(1, 4)), draw.grid()
    x, size = draw.file.input(shape, "int16", *given), draw.file.tensor(shape, "int16", *given)
    y = draw.file.output(shape, "int16", draw.scale(10), 0)
    draw.file.operator("ABS", [x], [size], None, 2)
    draw.file.operator("RSQRT", [size], [y], None, 2)


def _grid_of_any(draw: Draw) -> tuple[Any, ...]:
    """A grid, of int32 values, too."""
    return (draw.scale(0.2), draw.extent(-100, 100)) if draw.dtype == "int32" else draw.grid()


def quantize(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    x = draw.file.input(shape, draw.dtype, *_grid_of_any(draw))
    y = draw.file.output(shape, "int8", draw.scale(), draw.extent(-20, 20))
    draw.file.operator("QUANTIZE", [x], [y], ("QuantizeOptions", {}), 2)


def quantize_to(dtype: str, draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    x = draw.file.input(shape, draw.dtype, *_grid_of_any(draw))
    y = draw.file.output(shape, dtype, draw.scale() / 100, 0)
    draw.file.operator("QUANTIZE", [x], [y], ("QuantizeOptions", {}), 2)


def dequantize(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    x = draw.file.input(shape, draw.dtype, *draw.grid())
    y = draw.file.output(shape, "float32")
    draw.file.operator("DEQUANTIZE", [x], [y], ("DequantizeOptions", {}), 3)


UNIT = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}
SIGNED_UNIT = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)}
LOGARITHM = {"int8": (16 / 256, 127), "uint8": (16 / 256, 255), "int16": (1 / 32768, 0)}
SAME = dict.fromkeys(("int8", "uint8", "int16"), "same")

CASES: Mapping[str, Case] = {
    "ABS": partial(one_input, "ABS", version=4),
    "ADD": partial(two_inputs, "ADD", options=("AddOptions", {"potScaleInt16": False}), version=3),
    "ARG_MAX": partial(arg, "ARG_MAX", "ArgMaxOptions"),
    "ARG_MIN": partial(arg, "ARG_MIN", "ArgMinOptions"),
    "AVERAGE_POOL_2D": partial(pool, "AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "BATCH_TO_SPACE_ND": partial(batches, "BATCH_TO_SPACE_ND"),
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenation,
    "CONV_2D": partial(convolution, "CONV_2D"),
    "DEPTHWISE_CONV_2D": partial(convolution, "DEPTHWISE_CONV_2D"),
    "DEPTH_TO_SPACE": partial(blocks, "DEPTH_TO_SPACE"),
    "DEQUANTIZE": dequantize,
    "ELU": partial(one_input, "ELU"),
    "EQUAL": partial(comparison, "EQUAL", "EqualOptions"),
    "EXP": partial(one_input, "EXP", version=2),
    "EXPAND_DIMS": partial(reshaped, "EXPAND_DIMS"),
    "FULLY_CONNECTED": fully_connected,
    "GATHER": gather,
    "GELU": gelu,
    "GREATER": partial(comparison, "GREATER", "GreaterOptions"),
    "GREATER_EQUAL": partial(comparison, "GREATER_EQUAL", "GreaterEqualOptions"),
    "HARD_SWISH": partial(one_input, "HARD_SWISH"),
    "L2_NORMALIZATION": partial(
        one_input, "L2_NORMALIZATION", options=("L2NormOptions", {}), out=SIGNED_UNIT, version=2
    ),
    "LEAKY_RELU": partial(one_input, "LEAKY_RELU", options=("LeakyReluOptions", {"alpha": 0.3}), version=2),
    "LESS": partial(comparison, "LESS", "LessOptions"),
    "LESS_EQUAL": partial(comparison, "LESS_EQUAL", "LessEqualOptions"),
    "LOG": partial(one_input, "LOG", low=1, version=2),
    "LOGISTIC": partial(one_input, "LOGISTIC", out=UNIT, version=3),
    "LOG_SOFTMAX": partial(
        one_input, "LOG_SOFTMAX", options=("LogSoftmaxOptions", {}), out=LOGARITHM, version=2
    ),
    "MAXIMUM": partial(same_grid_pair, "MAXIMUM"),
    "MAX_POOL_2D": partial(pool, "MAX_POOL_2D"),
    "MEAN": partial(reduction, "MEAN"),
    "MINIMUM": partial(same_grid_pair, "MINIMUM"),
    "MIRROR_PAD": mirror_pad,
    "MUL": partial(two_inputs, "MUL", options=("MulOptions", {}), factor=3),
    "NOT_EQUAL": partial(comparison, "NOT_EQUAL", "NotEqualOptions"),
    "PACK": pack,
    "PAD": partial(pad, "PAD"),
    "PADV2": partial(pad, "PADV2"),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "QUANTIZE to int16": partial(quantize_to, "int16"),
    "QUANTIZE to int32": partial(quantize_to, "int32"),
    "REDUCE_MAX": partial(reduction, "REDUCE_MAX", same=True),
    "REDUCE_MIN": partial(reduction, "REDUCE_MIN", same=True),
    "RELU": partial(one_input, "RELU", version=2),
    "RELU6": partial(one_input, "RELU6", version=2),
    "RELU_N1_TO_1": partial(one_input, "RELU_N1_TO_1"),
    "RESHAPE": partial(reshaped, "RESHAPE"),
    "RESIZE_BILINEAR": partial(resize, "RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": partial(resize, "RESIZE_NEAREST_NEIGHBOR"),
    "REVERSE_V2": reverse,
    "RSQRT": rsqrt,
    "SLICE": slice_,
    "SOFTMAX": softmax,
    "SPACE_TO_BATCH_ND": partial(batches, "SPACE_TO_BATCH_ND"),
    "SPACE_TO_DEPTH": partial(blocks, "SPACE_TO_DEPTH"),
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUARED_DIFFERENCE": partial(
        two_inputs, "SQUARED_DIFFERENCE", options=("SquaredDifferenceOptions", {}), factor=4
    ),
    "SQUEEZE": partial(reshaped, "SQUEEZE"),
    "STRIDED_SLICE": strided_slice,
    "SUB": partial(two_inputs, "SUB", options=("SubOptions", {"potScaleInt16": False}), version=3),
    "SUM": partial(reduction, "SUM"),
    "TANH": partial(one_input, "TANH", out=SIGNED_UNIT, version=3),
    "TILE": tile,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv,
    "UNPACK": unpack,
}
