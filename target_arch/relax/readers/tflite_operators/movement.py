"""Operators that move elements: on stored integers as on floats, where input and output have one grid."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from target_arch.plan.model import Quantization
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.readers.tflite_operators.grids import activated_steps, reals, steps
from target_arch.relax.readers.tflite_operators.site import (
    Converter,
    TFLiteOperand,
    TFLiteOperator,
    require_reals,
    same_grid,
)
from target_arch.relax.site import NotConverted, constant, filled

Array = np.ndarray[Any, Any]


def _of_one_grid(convert: Converter) -> Converter:
    """The converter for outputs on the grid of the input; another grid is a requantization afterwards, which
    LiteRT has in none of these operators.
    """

    def checked(site: TFLiteOperator) -> Any:
        if any(not same_grid(site.x, out) for out in site.outputs):
            raise NotConverted("its output is quantized unlike its input")
        return convert(site)

    return checked


def _axis(value: int, rank: int) -> int:
    if not -rank <= value < max(rank, 1):
        raise NotConverted(f"axis {value} of {rank}")
    return value % max(rank, 1)


def _numbers(operand: TFLiteOperand) -> tuple[int, ...]:
    return tuple(int(value) for value in operand.constant.ravel())


def _sliced(
    site: TFLiteOperator, x: Any, begin: tuple[int, ...], shape: tuple[int, ...], step: tuple[int, ...] = ()
) -> Any:
    step = step or (1,) * len(begin)
    if isinstance(x, GenericConst):
        places = zip(begin, step, shape, strict=True)
        return constant(
            x.value.numpy()[np.ix_(*(first + by * np.arange(count) for first, by, count in places))]
        )
    return site.writing(shape).defined(OperatorKind.SLICE, x, begin=begin, step=step)


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    return (
        constant(x.value.numpy().reshape(shape))
        if isinstance(x, GenericConst)
        else relax.op.reshape(x, shape)
    )


def transpose(site: TFLiteOperator) -> Any:
    """TRANSPOSE."""
    return relax.op.permute_dims(site.x.expr, _numbers(site.tensor(1)))


def reshape(site: TFLiteOperator) -> Any:
    """RESHAPE, SQUEEZE, EXPAND_DIMS: the output's shape is in the file."""
    return relax.op.reshape(site.x.expr, site.out.shape)


def pad(site: TFLiteOperator) -> Any:
    """PAD and PADV2: with the zero point, or with a value of the output's grid."""
    widths = site.tensor(1).constant.reshape(-1, 2)
    given = site.optional_tensor(2)
    if given is not None:
        fill = given.constant.ravel()[0]
    else:
        fill = 0 if site.x.quantization is None else site.x.zero_point
    value = float(fill) if site.out.dtype.startswith("float") else int(fill)
    if value == (0 if site.x.quantization is None else site.x.zero_point):
        return relax.op.nn.pad(site.x.expr, [int(width) for width in widths.ravel()], pad_value=float(value))
    before = tuple(int(width) for width in widths[:, 0])
    return site.defined("padded", site.x.expr, before=before, fill=value)


def mirror_pad(site: TFLiteOperator) -> Any:
    """MIRROR_PAD, with or without the element at the border repeated."""
    before = tuple(int(width) for width in site.tensor(1).constant.reshape(-1, 2)[:, 0])
    repeat = int(site.options("MirrorPadOptions").Mode())
    return site.defined("mirrored", site.x.expr, before=before, repeat=repeat)


def slice_(site: TFLiteOperator) -> Any:
    """SLICE."""
    begin = _numbers(site.tensor(1))
    return _sliced(site, site.x.expr, begin, site.out.shape)


def strided_slice(site: TFLiteOperator) -> Any:
    """STRIDED_SLICE with its masks, but for `offset`."""
    options = site.options("StridedSliceOptions")
    begin, end, step = (_numbers(site.tensor(index)) for index in (1, 2, 3))
    masks = {name: int(getattr(options, name)()) for name in _MASKS}
    if options.Offset():
        raise NotConverted("the attribute `offset`")
    if any(masks["ShrinkAxisMask"] >> index & 1 and each < 0 for index, each in enumerate(step)):
        raise NotConverted("it takes one place of a dimension, in backward steps")
    begin, end, step, kept = _plain_slice(site.x.shape, begin, end, step, masks)
    shape = tuple(
        max(0, -(-(last - first) // each)) for first, last, each in zip(begin, end, step, strict=True)
    )
    if int(np.prod([shape[axis] for axis in kept])) != int(np.prod(site.out.shape)):
        raise NotConverted("its output has another shape than the file says")
    return _reshaped(_sliced(site, site.x.expr, begin, shape, step), site.out.shape)


_MASKS = ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask")


def _plain_slice(
    shape: tuple[int, ...],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    step: tuple[int, ...],
    masks: Mapping[str, int],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Begin, end and step of every dimension of the input, and the dimensions that are kept."""
    places: list[tuple[int, int, int]] = []
    kept: list[int] = []
    new = bin(masks["NewAxisMask"]).count("1")
    for index in range(len(begin)):
        bit, axis = 1 << index, len(places)
        if masks["EllipsisMask"] & bit:
            count = len(shape) - (len(begin) - 1 - new)
            kept += range(axis, axis + count)
            places += [(0, shape[each], 1) for each in range(axis, axis + count)]
        elif not masks["NewAxisMask"] & bit:
            places.append(_place(shape[axis], begin[index], end[index], step[index], masks, bit))
            kept += [] if masks["ShrinkAxisMask"] & bit else [axis]
    kept += range(len(places), len(shape))
    places += [(0, extent, 1) for extent in shape[len(places) :]]
    first, last, steps = zip(*places, strict=True) if places else ((), (), ())
    return first, last, steps, tuple(kept)


def _place(
    extent: int, begin: int, end: int, step: int, masks: Mapping[str, int], bit: int
) -> tuple[int, int, int]:
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    first = begin + extent if begin < 0 else begin
    last = end + extent if end < 0 else end
    first = (0 if step > 0 else extent - 1) if masks["BeginMask"] & bit else min(max(first, low), high)
    if masks["ShrinkAxisMask"] & bit:
        return first, first + 1, 1
    last = (extent if step > 0 else -1) if masks["EndMask"] & bit else min(max(last, low), high)
    return first, last, step


def reverse_sequence(site: TFLiteOperator) -> Any:
    """REVERSE_SEQUENCE of values that are on no grid."""
    require_reals(site)
    options = site.options("ReverseSequenceOptions")
    if options.SeqDim() == options.BatchDim():
        raise NotConverted(f"its sequences and their lengths are both along dimension {options.SeqDim()}")
    lengths = site.tensor(1).expr
    return relax.op.reverse_sequence(site.x.expr, lengths, options.SeqDim(), options.BatchDim())


def split(site: TFLiteOperator) -> list[Any]:
    """SPLIT into equal parts; the axis comes first."""
    return _parts(site, site.tensor(1), int(site.tensor(0).constant.ravel()[0]))


def split_v(site: TFLiteOperator) -> list[Any]:
    """SPLIT_V into parts of given sizes."""
    return _parts(site, site.x, int(site.tensor(2).constant.ravel()[0]))


def _parts(site: TFLiteOperator, x: TFLiteOperand, axis: int) -> list[Any]:
    axis, at, made = _axis(axis, len(x.shape)), 0, []
    for out in site.outputs:
        begin = tuple(at if index == axis else 0 for index in range(len(x.shape)))
        made.append(_sliced(site, x.expr, begin, out.shape))
        at += out.shape[axis]
    return made


def unpack(site: TFLiteOperator) -> list[Any]:
    """UNPACK: slices of extent 1, without that dimension."""
    shape = site.x.shape
    axis = _axis(int(site.options("UnpackOptions").Axis()), len(shape))
    made = []
    for number, out in enumerate(site.outputs):
        begin = tuple(number if index == axis else 0 for index in range(len(shape)))
        part = _sliced(site, site.x.expr, begin, (*shape[:axis], 1, *shape[axis + 1 :]))
        made.append(_reshaped(part, out.shape))
    return made


def pack(site: TFLiteOperator) -> Any:
    """PACK: concatenation along a new dimension."""
    axis = _axis(int(site.options("PackOptions").Axis()), len(site.out.shape))
    shape = (*site.out.shape[:axis], 1, *site.out.shape[axis + 1 :])
    parts = [relax.op.reshape(site.tensor(index).expr, shape) for index in range(len(site.inputs))]
    return parts[0] if len(parts) == 1 else relax.op.concat(parts, axis)


def reverse(site: TFLiteOperator) -> Any:
    """REVERSE_V2."""
    axes = {_axis(value, len(site.x.shape)) for value in _numbers(site.tensor(1))}
    begin = tuple(extent - 1 if axis in axes else 0 for axis, extent in enumerate(site.x.shape))
    step = tuple(-1 if axis in axes else 1 for axis in range(len(site.x.shape)))
    return _sliced(site, site.x.expr, begin, site.x.shape, step)


def tile(site: TFLiteOperator) -> Any:
    """TILE and BROADCAST_TO: every dimension again and again."""
    return site.defined("repeated", site.x.expr)


def gather(site: TFLiteOperator) -> Any:
    """GATHER, with constant and with computed indices."""
    options = site.options("GatherOptions")
    places = site.tensor(1)
    batch = int(options.BatchDims())
    batch = batch + len(places.shape) if batch < 0 else batch
    axis = _axis(int(options.Axis()), len(site.x.shape))
    given = site.x.expr if site.x.value is None else site.x.constant
    if site.x.value is not None and places.value is not None:
        return _taken(site.x.constant, places.constant, axis, batch)
    if places.value is not None and not places.shape:
        place = min(max(int(places.constant), 0), site.x.shape[axis] - 1)
        return relax.op.strided_slice(given, [axis], [place], [place + 1])
    index = places.expr if places.value is None else places.constant.astype(np.int32)
    if site.x.value is None:
        return site.defined("taken", given, index, axis=axis, batch=batch)
    return site.defined("taken_from_constant", index, given, axis=axis, batch=batch)


def _taken(table: Array, places: Array, axis: int, batch: int) -> Any:
    if batch:
        raise NotConverted("constants in batches")
    if np.any((places < 0) | (places >= table.shape[axis])):
        raise NotConverted(f"an index outside of {table.shape[axis]} elements")
    return constant(np.take(table, places, axis))


def gather_nd(site: TFLiteOperator) -> Any:
    """GATHER_ND, with constant and with computed indices."""
    table, places = site.x, site.tensor(1)
    if table.value is not None and places.value is not None:
        return constant(table.constant[tuple(np.moveaxis(places.constant, -1, 0))])
    index = places.expr if places.value is None else places.constant.astype(np.int32)
    if table.value is None:
        return site.defined("taken_nd", table.expr, index)
    return site.defined("taken_nd_from_constant", index, table.constant)


def embedding_lookup(site: TFLiteOperator) -> Any:
    """EMBEDDING_LOOKUP: rows of the second operand; those of int8 weights become floats."""
    places, table = site.tensor(0), site.tensor(1)
    if table.dtype != site.out.dtype and (table.dtype, site.out.dtype) != ("int8", "float32"):
        raise NotConverted(f"rows of type {table.dtype} as {site.out.dtype}")
    if table.dtype == site.out.dtype and not same_grid(table, site.out):
        raise NotConverted("its output is quantized unlike its input")
    shape, at = site.out.shape, {"axis": 0, "batch": 0}
    index = places.expr if places.value is None else places.constant.astype(np.int32)
    if table.value is None:
        rows = site.defined_as("taken", (table.expr, index), shape, table.dtype, **at)
    elif places.value is None:
        rows = site.defined_as("taken_from_constant", (index, table.constant), shape, table.dtype, **at)
    else:
        rows = constant(table.constant[places.constant])
    if table.dtype == site.out.dtype:
        return rows
    return relax.op.dequantize(
        rows, relax.const(table.scale, "float32"), relax.const(table.zero_point, "int8")
    )


def dynamic_update_slice(site: TFLiteOperator) -> Any:
    """DYNAMIC_UPDATE_SLICE of a tensor that is computed."""
    x, part, start = (site.tensor(index) for index in range(3))
    if x.value is not None or part.value is not None:
        raise NotConverted("one of its tensors is constant")
    begin = start.expr if start.value is None else start.constant.astype(np.int32)
    return site.defined("updated", x.expr, part.expr, begin)


def select(site: TFLiteOperator) -> Any:
    """SELECT and SELECT_V2."""
    chosen, a, b = (site.tensor(index) for index in range(3))
    if not site.out.quantization:
        return relax.op.where(chosen.expr, a.expr, b.expr)
    if not (same_grid(a, site.out) and same_grid(b, site.out)):
        raise NotConverted("its tensors have different scales")
    if chosen.value is not None or (a.value is not None and b.value is None):
        raise NotConverted("an operand before others is constant")
    given = [each.expr if each.value is None else each.constant for each in (chosen, a, b)]
    return site.defined("selected", *given)


def fill(site: TFLiteOperator) -> Any:
    """FILL: one value everywhere."""
    value = site.tensor(1)
    if not same_grid(value, site.out):
        raise NotConverted("its output is quantized unlike its input")
    if value.value is not None:
        return constant(np.full(filled(*site.out.shape), value.constant, site.out.dtype))
    return site.defined("repeated", relax.op.reshape(value.expr, (1,)))


def range_(site: TFLiteOperator) -> Any:
    """RANGE of constants."""
    first, _, step = (site.tensor(index).constant for index in range(3))
    return constant((first + step * np.arange(*filled(*site.out.shape))).astype(site.out.dtype))


def zeros_like(site: TFLiteOperator) -> Any:
    """ZEROS_LIKE: a constant."""
    return constant(np.zeros(filled(*site.out.shape), site.out.dtype))


def depth_to_space(site: TFLiteOperator) -> Any:
    """DEPTH_TO_SPACE: a channel's blocks become rows and columns."""
    n, height, width, channels = site.x.shape
    size = int(site.options("DepthToSpaceOptions").BlockSize())
    apart = relax.op.reshape(site.x.expr, (n, height, width, size, size, channels // size**2))
    return relax.op.reshape(relax.op.permute_dims(apart, (0, 1, 3, 2, 4, 5)), site.out.shape)


def space_to_depth(site: TFLiteOperator) -> Any:
    """SPACE_TO_DEPTH: blocks of rows and columns become channels."""
    n, height, width, channels = site.x.shape
    size = int(site.options("SpaceToDepthOptions").BlockSize())
    apart = relax.op.reshape(site.x.expr, (n, height // size, size, width // size, size, channels))
    return relax.op.reshape(relax.op.permute_dims(apart, (0, 1, 3, 2, 4, 5)), site.out.shape)


def batch_to_space(site: TFLiteOperator) -> Any:
    """BATCH_TO_SPACE_ND: blocks of the batch become rows and columns, of which some are cut off."""
    block, crops = _numbers(site.tensor(1)), site.tensor(2).constant.reshape(-1, 2)
    batch, shape, count = site.x.shape[0], site.x.shape, len(block)
    rest = batch // int(np.prod(block))
    apart = relax.op.reshape(site.x.expr, (*block, rest, *shape[1:]))
    order = [count]
    for index in range(count):
        order += [count + 1 + index, index]
    order += range(2 * count + 1, count + len(shape))
    inner = tuple(extent * size for extent, size in zip(shape[1 : 1 + count], block, strict=True))
    joined = relax.op.reshape(relax.op.permute_dims(apart, order), (rest, *inner, *shape[1 + count :]))
    if not crops.any():
        return joined
    begin = (0, *(int(crop) for crop in crops[:, 0]), *(0 for _ in shape[1 + count :]))
    return _sliced(site, joined, begin, site.out.shape)


def space_to_batch(site: TFLiteOperator) -> Any:
    """SPACE_TO_BATCH_ND: padded rows and columns become blocks of the batch."""
    block, pads = _numbers(site.tensor(1)), site.tensor(2).constant.reshape(-1, 2)
    shape, count = site.x.shape, len(block)
    inner = tuple(extent + int(pad.sum()) for extent, pad in zip(shape[1 : 1 + count], pads, strict=True))
    fill = 0 if site.x.quantization is None else site.x.zero_point
    x = site.x.expr
    if pads.any():
        before = (0, *(int(pad) for pad in pads[:, 0]), *(0 for _ in shape[1 + count :]))
        x = site.writing((shape[0], *inner, *shape[1 + count :])).defined(
            "padded", x, before=before, fill=fill
        )
    split = [part for extent, size in zip(inner, block, strict=True) for part in (extent // size, size)]
    apart = relax.op.reshape(x, (shape[0], *split, *shape[1 + count :]))
    order = [2 * (index + 1) for index in range(count)] + [0] + [2 * index + 1 for index in range(count)]
    order += range(2 * count + 1, count + len(shape))
    return relax.op.reshape(relax.op.permute_dims(apart, order), site.out.shape)


def concatenation(site: TFLiteOperator) -> Any:
    """CONCATENATION of tensors of any grids. An operand without elements adds nothing."""
    axis = _axis(int(site.options("ConcatenationOptions").Axis()), len(site.out.shape))
    every = [site.tensor(index) for index in range(len(site.inputs))]
    operands = [each for each in every if 0 not in each.shape]
    if not operands:
        raise NotConverted("all of its operands are without elements")
    if site.activation or any(not same_grid(operand, site.out) for operand in operands):
        if len(operands) < len(every):
            raise NotConverted("an operand without elements, and others that are computed on their way")
        joined = relax.op.concat([reals(operand, operand.expr) for operand in operands], axis)
        return activated_steps(site, steps(site.out, joined))
    if len(operands) == 1:
        return operands[0].expr
    return relax.op.concat([operand.expr for operand in operands], axis)


def densify(site: TFLiteOperator) -> Any:
    """DENSIFY of a sparse constant."""
    return constant(site.x.constant)


def dequantize(site: TFLiteOperator) -> Any:
    """DEQUANTIZE of stored integers and of float16 values; those of a constant are known."""
    x = site.x
    if x.dtype == "float16":
        wide = x.value is None
        return relax.op.astype(x.expr, "float32") if wide else constant(x.constant.astype(np.float32))
    if x.quantization is None:
        raise NotConverted(f"tensor `{x.name}` has no scale")
    return reals(x, x.expr) if x.value is None else constant(_reals_of(x.quantization, x.constant))


def _reals_of(grid: Quantization, stored: Array) -> Array:
    """The reals of stored values, each rounded once from the exact product, as LiteRT does."""
    along = [1] * stored.ndim
    if grid.axis is not None:
        along[grid.axis] = -1
    scale, zero = (np.array(each, np.float64).reshape(along) for each in (grid.scale, grid.zero_point))
    return ((stored.astype(np.float64) - zero) * scale).astype(np.float32)


def shape(site: TFLiteOperator) -> Any:
    """SHAPE: a constant, since every shape is fixed."""
    return constant(np.array(site.x.shape, site.out.dtype))


def rank(site: TFLiteOperator) -> Any:
    """RANK: a constant."""
    return relax.const(np.array(len(site.x.shape), site.out.dtype))


CONVERTERS: Mapping[str, Converter] = {
    "CONCATENATION": concatenation,
    "DENSIFY": densify,
    "DEQUANTIZE": dequantize,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "FILL": fill,
    "RANGE": range_,
    "RANK": rank,
    "REVERSE_SEQUENCE": reverse_sequence,
    **dict.fromkeys(("SELECT", "SELECT_V2"), select),
    "ZEROS_LIKE": zeros_like,
    "SHAPE": shape,
    **{
        code: _of_one_grid(convert)
        for code, convert in {
            "TRANSPOSE": transpose,
            "RESHAPE": reshape,
            "SQUEEZE": reshape,
            "EXPAND_DIMS": reshape,
            "PAD": pad,
            "PADV2": pad,
            "MIRROR_PAD": mirror_pad,
            "SLICE": slice_,
            "STRIDED_SLICE": strided_slice,
            "SPLIT_V": split_v,
            "UNPACK": unpack,
            "PACK": pack,
            "REVERSE_V2": reverse,
            "TILE": tile,
            "BROADCAST_TO": tile,
            "GATHER": gather,
            "GATHER_ND": gather_nd,
            "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
            "DEPTH_TO_SPACE": depth_to_space,
            "SPACE_TO_DEPTH": space_to_depth,
            "BATCH_TO_SPACE_ND": batch_to_space,
            "SPACE_TO_BATCH_ND": space_to_batch,
        }.items()
    },
    "SPLIT": split,
}
