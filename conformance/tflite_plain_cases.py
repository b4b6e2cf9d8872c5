"""Random models of one TFLite operator each: operators that no grid of 8-bit values is for, or few."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from conformance.tflite_cases import SAME, Case, Draw, one_input, pool, reduction

CASTS = ("float32", "int8", "int16", "int32", "int64", "bool")


def of_two(code: str, table: str, draw: Draw, *, version: int = 1, factor: float = 1.0) -> None:
    """A function of two numbers; where they are integers, the second is constant and never 0. `factor` makes
    the steps of the result finer.
    """
    shape = draw.shape(draw.extent(1, 4))
    other = draw.choice(shape, tuple(draw.choice(1, extent) for extent in shape), shape[-1:])
    a, grid = draw.file.input(shape, draw.dtype, *draw.grid()), draw.grid()
    if draw.dtype in ("float32", "bool"):
        b = draw.file.input(other, draw.dtype, *grid)
    else:
        values = draw.values(other)
        zero = grid[1]
        b = draw.file.tensor(
            other, draw.dtype, *grid, data=np.where(values == zero, zero + 1, values).astype(draw.dtype)
        )
    y = draw.file.output(shape, draw.dtype, *draw.grid(factor))
    draw.file.operator(code, [a, b], [y], (table, {}) if table else None, version)


def add_n(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    xs = [draw.file.input(shape, draw.dtype, *draw.grid()) for _ in range(draw.extent(1, 4))]
    draw.file.operator("ADD_N", xs, [draw.file.output(shape, draw.dtype, *draw.grid())], ("AddNOptions", {}))


def broadcast_args(draw: Draw) -> None:
    out = draw.shape(draw.extent(1, 4))
    shapes = (out, tuple(draw.choice(1, extent) for extent in out[draw.extent(0, len(out) - 1) :]))
    rest = [draw.file.tensor((len(s),), draw.dtype, data=np.array(s)) for s in shapes]
    y = draw.file.output((len(out),), draw.dtype)
    draw.file.operator("BROADCAST_ARGS", rest, [y])


def cast(draw: Draw) -> None:
    to = draw.choice(*CASTS)
    shape = draw.shape(draw.extent(1, 4))
    x, y = draw.file.input(shape, draw.dtype), draw.file.output(shape, to)
    draw.file.operator("CAST", [x], [y], ("CastOptions", {}), 1)


def cumsum(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    options = {"exclusive": draw.choice(False, True), "reverse": draw.choice(False, True)}
    axis = draw.file.tensor((), "int32", data=np.array(draw.extent(-len(shape), len(shape) - 1)))
    grid = draw.grid()
    x, y = draw.file.input(shape, draw.dtype, *grid), draw.file.output(shape, draw.dtype, *grid)
    draw.file.operator("CUMSUM", [x, axis], [y], ("CumsumOptions", options))


def dynamic_update_slice(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    part = tuple(draw.extent(1, extent) for extent in shape)
    grid = draw.grid()
    x, update = (draw.file.input(each, draw.dtype, *grid) for each in (shape, part))
    y = draw.file.output(shape, draw.dtype, *grid)
    if draw.choice(False, True):
        start = draw.file.input((len(shape),), "int32")
    else:
        start = draw.file.numbers(*(draw.extent(-2, extent) for extent in shape))
    draw.file.operator("DYNAMIC_UPDATE_SLICE", [x, update, start], [y], None, 1)


def embedding_lookup(draw: Draw) -> None:
    shape = draw.shape(draw.extent(2, 3))
    places = draw.rng.integers(0, shape[0], draw.extent(1, 5)).astype(np.int32)
    grid = draw.grid()
    x = draw.file.input(shape, draw.dtype, *grid)
    y = draw.file.output((len(places), *shape[1:]), draw.dtype, *grid)
    draw.file.operator("EMBEDDING_LOOKUP", [draw.file.numbers(*places), x], [y], None, 3)


def fill(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 4)), draw.grid()
    x, y = draw.file.input((), draw.dtype, *grid), draw.file.output(shape, draw.dtype, *grid)
    draw.file.operator("FILL", [draw.file.numbers(*shape), x], [y], ("FillOptions", {}), 3)


def gather_nd(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 4)), draw.grid()
    depth, outer = draw.extent(1, len(shape)), draw.shape(draw.extent(1, 2))
    places = np.stack([draw.rng.integers(0, shape[axis], outer) for axis in range(depth)], -1)
    x = draw.file.input(shape, draw.dtype, *grid)
    rest = draw.file.tensor(places.shape, "int32", data=places)
    y = draw.file.output((*outer, *shape[depth:]), draw.dtype, *grid)
    draw.file.operator("GATHER_ND", [x, rest], [y], ("GatherNdOptions", {}), 5)


def select(code: str, draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 4)), draw.grid()
    chosen = (
        draw.choice(shape, tuple(draw.choice(1, extent) for extent in shape)) if code[-1] == "2" else shape
    )
    x = draw.file.input(chosen, "bool")
    a, b = (draw.file.input(shape, draw.dtype, *grid) for _ in range(2))
    y = draw.file.output(shape, draw.dtype, *grid)
    table = "SelectV2Options" if code == "SELECT_V2" else "SelectOptions"
    draw.file.operator(code, [x, a, b], [y], (table, {}))


def shape_of(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 4))
    x, y = draw.file.input(shape, draw.dtype, *draw.grid()), draw.file.output((len(shape),), "int32")
    draw.file.operator("SHAPE", [x], [y], ("ShapeOptions", {"outType": 2}))


def of_bits(code: str, table: str, draw: Draw) -> None:
    """A function of the bits of two integers; shifts are constants of the type's bits."""
    shape = draw.shape(draw.extent(1, 4))
    a = draw.file.input(shape, draw.dtype)
    if code == "RIGHT_SHIFT" and draw.dtype != "bool":
        amounts = draw.rng.integers(0, 7, shape)
        b = draw.file.tensor(shape, draw.dtype, data=amounts)
    else:
        b = draw.file.input(shape, draw.dtype)
    draw.file.operator(code, [a, b], [draw.file.output(shape, draw.dtype)], (table, {}))


def fake_quant(draw: Draw) -> None:
    """Of floats: LiteRT takes any type, and writes beyond its tensors."""
    shape = draw.shape(draw.extent(1, 4))
    x, y = draw.file.input(shape, "float32"), draw.file.output(shape, "float32")
    low = float(draw.rng.uniform(-2, 0.5))
    options = {
        "min": low,
        "max": low + float(draw.rng.uniform(0.1, 3)),
        "numBits": draw.choice(4, 8),
        "narrowRange": draw.choice(False, True),
    }
    draw.file.operator("FAKE_QUANT", [x], [y], ("FakeQuantOptions", options), 2)


def local_response(draw: Draw) -> None:
    shape = draw.image()
    x, y = draw.file.input(shape, draw.dtype), draw.file.output(shape, draw.dtype)
    options = {"radius": draw.extent(1, 3), "bias": 1.5, "alpha": 0.3, "beta": draw.choice(0.5, 0.75)}
    draw.file.operator(
        "LOCAL_RESPONSE_NORMALIZATION", [x], [y], ("LocalResponseNormalizationOptions", options)
    )


def one_hot(draw: Draw) -> None:
    shape, depth = draw.shape(draw.extent(1, 3)), draw.extent(1, 6)
    axis = draw.extent(-1, len(shape))
    places = draw.rng.integers(-1, depth + 1, shape).astype(np.int32)
    index = draw.file.tensor(shape, "int32", data=places)
    count = draw.file.tensor((), "int32", data=np.array(depth))
    on, off = (draw.file.input((), draw.dtype) for _ in range(2))
    at = axis if axis >= 0 else len(shape)
    y = draw.file.output((*shape[:at], depth, *shape[at:]), draw.dtype)
    draw.file.operator("ONE_HOT", [index, count, on, off], [y], ("OneHotOptions", {"axis": axis}))


def range_(draw: Draw) -> None:
    first, count = draw.extent(-5, 5), draw.extent(1, 9)
    step = draw.choice(-3, -1, 1, 2)
    last = first + step * count
    given = [draw.file.tensor((), draw.dtype, data=np.array(value)) for value in (first, last, step)]
    draw.file.operator("RANGE", given, [draw.file.output((count,), draw.dtype)], ("RangeOptions", {}))


def rank(draw: Draw) -> None:
    x = draw.file.input(draw.shape(draw.extent(1, 4)), draw.dtype, *draw.grid())
    draw.file.operator("RANK", [x], [draw.file.output((), "int32")], ("RankOptions", {}))


def reverse_sequence(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(2, 4)), draw.grid()
    along, batch = draw.rng.permutation(len(shape))[:2].tolist()
    lengths = draw.rng.integers(1, shape[along] + 1, shape[batch])
    x, y = draw.file.input(shape, draw.dtype, *grid), draw.file.output(shape, draw.dtype, *grid)
    options = ("ReverseSequenceOptions", {"seqDim": along, "batchDim": batch})
    draw.file.operator("REVERSE_SEQUENCE", [x, draw.file.numbers(*lengths)], [y], options)


def scatter_nd(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 3)), draw.grid()
    depth = draw.extent(1, len(shape))
    count = draw.extent(1, 5)
    places = np.stack([draw.rng.integers(0, shape[axis], count) for axis in range(depth)], -1)
    index = draw.file.tensor(places.shape, "int32", data=places)
    x = draw.file.input((count, *shape[depth:]), draw.dtype, *grid)
    y = draw.file.output(shape, draw.dtype, *grid)
    draw.file.operator("SCATTER_ND", [index, x, draw.file.numbers(*shape)], [y], ("ScatterNdOptions", {}))


def segment_sum(draw: Draw) -> None:
    shape = draw.shape(draw.extent(1, 3))
    segments = np.sort(draw.rng.integers(0, 4, shape[0]))
    x = draw.file.input(shape, draw.dtype)
    y = draw.file.output((int(segments[-1]) + 1, *shape[1:]), draw.dtype)
    draw.file.operator("SEGMENT_SUM", [x, draw.file.numbers(*segments)], [y], ("SegmentSumOptions", {}))


def sparse_to_dense(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 3)), draw.grid()
    count = draw.extent(1, min(4, int(np.prod(shape))))
    flat = np.sort(draw.rng.permutation(int(np.prod(shape)))[:count])
    places = np.stack(np.unravel_index(flat, shape), -1)
    index = draw.file.tensor(places.shape, "int32", data=places)
    values = draw.file.input((count,), draw.dtype, *grid)
    other = draw.file.tensor((), draw.dtype, *grid, data=draw.values(()))
    y = draw.file.output(shape, draw.dtype, *grid)
    given = [index, draw.file.numbers(*shape), values, other]
    draw.file.operator("SPARSE_TO_DENSE", given, [y], ("SparseToDenseOptions", {}), 3)


def top_k(draw: Draw) -> None:
    shape, grid = draw.shape(draw.extent(1, 3)), draw.grid()
    count = draw.extent(1, shape[-1])
    x = draw.file.input(shape, draw.dtype, *grid)
    out = (*shape[:-1], count)
    ys = [draw.file.output(out, draw.dtype, *grid), draw.file.output(out, "int32")]
    number = draw.file.tensor((), "int32", data=np.array(count))
    draw.file.operator("TOPK_V2", [x, number], ys, ("TopKV2Options", {}), 2)


CASES: Mapping[str, Case] = {
    "ADD_N": add_n,
    "ATAN2": partial(of_two, "ATAN2", "ATan2Options"),
    "BITWISE_XOR": partial(of_bits, "BITWISE_XOR", "BitwiseXorOptions"),
    "BROADCAST_ARGS": broadcast_args,
    "CAST": cast,
    "CEIL": partial(one_input, "CEIL", out=SAME),
    "COS": partial(one_input, "COS", options=("CosOptions", {}), out=SAME),
    "CUMSUM": cumsum,
    "DIV": partial(of_two, "DIV", "DivOptions", version=2, factor=0.1),
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "FAKE_QUANT": fake_quant,
    "FILL": fill,
    "FLOOR": partial(one_input, "FLOOR", out=SAME),
    "FLOOR_DIV": partial(of_two, "FLOOR_DIV", "FloorDivOptions", version=3),
    "FLOOR_MOD": partial(of_two, "FLOOR_MOD", "FloorModOptions", version=2),
    "GATHER_ND": gather_nd,
    "L2_POOL_2D": partial(pool, "L2_POOL_2D", version=1),
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "LOGICAL_AND": partial(of_two, "LOGICAL_AND", "LogicalAndOptions"),
    "LOGICAL_NOT": partial(one_input, "LOGICAL_NOT", options=("LogicalNotOptions", {}), out=SAME),
    "LOGICAL_OR": partial(of_two, "LOGICAL_OR", "LogicalOrOptions"),
    "NEG": partial(one_input, "NEG", options=("NegOptions", {}), out=SAME),
    "ONE_HOT": one_hot,
    "POW": partial(of_two, "POW", "PowOptions"),
    "RANGE": range_,
    "RANK": rank,
    "REDUCE_ALL": partial(reduction, "REDUCE_ALL", same=True, version=1),
    "REDUCE_ANY": partial(reduction, "REDUCE_ANY", same=True, version=1),
    "REDUCE_PROD": partial(reduction, "REDUCE_PROD"),
    "RELU_0_TO_1": partial(one_input, "RELU_0_TO_1"),
    "REVERSE_SEQUENCE": reverse_sequence,
    "RIGHT_SHIFT": partial(of_bits, "RIGHT_SHIFT", "RightShiftOptions"),
    "ROUND": partial(one_input, "ROUND", out=SAME),
    "SCATTER_ND": scatter_nd,
    "SEGMENT_SUM": segment_sum,
    "SELECT": partial(select, "SELECT"),
    "SELECT_V2": partial(select, "SELECT_V2"),
    "SHAPE": shape_of,
    "SIGN": partial(one_input, "SIGN", options=("SignOptions", {}), out=SAME),
    "SIN": partial(one_input, "SIN", out=SAME),
    "SPARSE_TO_DENSE": sparse_to_dense,
    "SQRT": partial(one_input, "SQRT", low=1),
    "SQUARE": partial(one_input, "SQUARE", options=("SquareOptions", {}), out=SAME),
    "TOPK_V2": top_k,
    "ZEROS_LIKE": partial(one_input, "ZEROS_LIKE", options=("ZerosLikeOptions", {}), out=SAME),
}
