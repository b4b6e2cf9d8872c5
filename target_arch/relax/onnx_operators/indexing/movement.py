"""Elements at other places: gathers, tiles, blocks of pixels, reversed sequences, triangles.

An index that is computed is kept inside its tensor: the C reads no other memory, whatever the input.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import GenericConst

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import MOST_DIMENSIONS, NotConverted, counted, within, zero


def _gather(node: Node) -> Any:
    data, indices = node.operand(0), node.operand(1)
    axis = node.axis(0, rank=len(node.shape(0)))
    shape, inner = node.shape(0), node.shape(1)
    if isinstance(indices, GenericConst) and not inner:
        return _selected(node, data, axis, int(indices.value.numpy()))

    def definition(x: Any, i: Any) -> Any:
        def element(*at: Any) -> Any:
            picked = i(*at[axis : axis + len(inner)])
            return x(*at[:axis], within(picked, shape[axis]), *at[axis + len(inner) :])

        return te.compute((*shape[:axis], *inner, *shape[axis + 1 :]), element)

    return node.computed(definition, data, indices)


def _selected(node: Node, data: Any, axis: int, index: int) -> Any:
    """One slice along an axis, which is no longer there."""
    start = counted(index, node.shape(0)[axis])
    part = node.emit(relax.op.strided_slice(data, [axis], [start], [start + 1]))
    return relax.op.squeeze(part, [axis])


def _gather_elements(node: Node) -> Any:
    shape, axis = node.shape(0), node.axis(0, rank=len(node.shape(0)))

    def definition(x: Any, i: Any) -> Any:
        def element(*at: Any) -> Any:
            return x(*at[:axis], within(i(*at), shape[axis]), *at[axis + 1 :])

        return te.compute(node.shape(1), element)

    return node.computed(definition, node.operand(0), node.operand(1))


def _gather_nd(node: Node) -> Any:
    shape, indices = node.shape(0), node.shape(1)
    batch = node.integer("batch_dims", 0)
    depth = indices[-1]

    def definition(x: Any, i: Any) -> Any:
        def element(*at: Any) -> Any:
            outer = at[: len(indices) - 1]
            picked = [within(i(*outer, each), shape[batch + each]) for each in range(depth)]
            return x(*at[:batch], *picked, *at[len(indices) - 1 :])

        return te.compute((*indices[:-1], *shape[batch + depth :]), element)

    return node.computed(definition, node.operand(0), node.operand(1))


def _tile(node: Node) -> Any:
    repeats = node.integers(1, "repeats")
    shape = node.shape(0)
    if repeats is None or len(repeats) != len(shape):
        raise NotConverted("its repeats are not one for each dimension")

    def definition(x: Any) -> Any:
        def element(*at: Any) -> Any:
            places = zip(at, shape, repeats, strict=True)
            return x(*(tirx.floormod(v, extent) if times != 1 else v for v, extent, times in places))

        return te.compute(tuple(n * times for n, times in zip(shape, repeats, strict=True)), element)

    return node.computed(definition, node.operand(0))


def _permuted(node: Node, split: Sequence[int], axes: Sequence[int], shape: Sequence[int]) -> Any:
    """Reshaped, with its dimensions in another order, and reshaped again."""
    turned = node.emit(relax.op.permute_dims(node.reshaped(node.operand(0), split), list(axes)))
    return relax.op.reshape(turned, tuple(shape))


def _depth_to_space(node: Node) -> Any:
    n, c, h, w = node.shape(0)
    b = node.integer("blocksize", 1)
    deep = c // (b * b)
    shape = (n, deep, h * b, w * b)
    if node.text("mode", "DCR", ("DCR", "CRD")) == "DCR":
        return _permuted(node, (n, b, b, deep, h, w), (0, 3, 4, 1, 5, 2), shape)
    return _permuted(node, (n, deep, b, b, h, w), (0, 1, 4, 2, 5, 3), shape)


def _space_to_depth(node: Node) -> Any:
    n, c, h, w = node.shape(0)
    b = node.integer("blocksize", 1)
    split, shape = (n, c, h // b, b, w // b, b), (n, c * b * b, h // b, w // b)
    crd = node.text("mode", "DCR", ("DCR", "CRD")) == "CRD"
    return _permuted(node, split, (0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4), shape)


def _reverse_sequence(node: Node) -> Any:
    shape = node.shape(0)
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise NotConverted(f"its dimensions {batch} and {time} are not the first two")

    def definition(x: Any, lengths: Any) -> Any:
        def element(*at: Any) -> Any:
            length = tirx.Var("length", "int32")
            step = at[time].astype("int32")
            turned = tirx.all(step < length, length <= shape[time])
            place = tirx.Select(turned, length - 1 - step, step)
            given = lengths(at[batch]).astype("int32")
            return x(*at[:time], tirx.Let(length, given, place), *at[time + 1 :])

        return te.compute(shape, element)

    return node.computed(definition, node.operand(0), node.operand(1))


def _trilu(node: Node) -> Any:
    given = node.constant(1, "k")
    k = 0 if given is None else int(given.reshape(()))
    k = int(np.clip(k, -(2**30), 2**30))
    upper = bool(node.integer("upper", 1))

    def definition(x: Any) -> Any:
        def element(*at: Any) -> Any:
            row, column = (each.astype("int32") for each in at[-2:])
            kept = column >= row + k if upper else column <= row + k
            return tirx.Select(kept, x(*at), zero(str(x.dtype)))

        return te.compute(node.shape(0), element)

    return node.computed(definition, node.operand(0))


def _one_hot(node: Node) -> Any:
    depth = node.constant(1, "depth")
    if depth is None:
        raise NotConverted("operand 1 is missing")
    count, shape = int(depth.reshape(-1)[0]), node.shape(0)
    axis = node.axis(-1, rank=len(shape) + 1)

    def definition(x: Any, values: Any) -> Any:
        def element(*at: Any) -> Any:
            index = x(*at[:axis], *at[axis + 1 :]).astype("int32")
            hot = tirx.Select(index < 0, index + count, index) == at[axis].astype("int32")
            return tirx.Select(hot, values(1), values(0))

        return te.compute((*shape[:axis], count, *shape[axis:]), element)

    return node.computed(definition, node.operand(0), node.operand(2))


def _compress(node: Node) -> Any:
    condition = node.constant(1, "condition")
    if condition is None:
        raise NotConverted("operand 1 is missing")
    data, shape = node.operand(0), node.shape(0)
    if "axis" not in node.attributes:
        size = int(np.prod(shape))
        data, shape, axis = node.reshaped(data, (size,)), (size,), 0
    else:
        axis = node.axis(0, rank=len(shape))
    chosen = np.flatnonzero(condition[: shape[axis]])
    if not chosen.size:
        raise NotConverted("its result has no elements")
    return relax.op.take(data, relax.const(chosen.astype("int32")), axis)


def _adds_too_many(node: Node) -> bool:
    axes = node.given(1)
    return axes is not None and prod(node.shape(1)) > MOST_DIMENSIONS


def _unsqueeze(node: Node) -> Any:
    """Refuse what TVM's own converter does not end with: it makes an expression for each dimension."""
    raise NotConverted(
        f"it adds {prod(node.shape(1)):,} dimensions, and a tensor has at most {MOST_DIMENSIONS}"
    )


CONVERTERS: Mapping[str, Converter] = {
    "Compress": converter(_compress, "axis"),
    "DepthToSpace": converter(_depth_to_space, "blocksize mode"),
    "Gather": converter(_gather, "axis"),
    "GatherElements": converter(_gather_elements, "axis"),
    "GatherND": converter(_gather_nd, "batch_dims"),
    "OneHot": converter(_one_hot, "axis"),
    "ReverseSequence": converter(_reverse_sequence, "batch_axis time_axis"),
    "SpaceToDepth": converter(_space_to_depth, "blocksize mode"),
    "Tile": converter(_tile),
    "Trilu": converter(_trilu, "upper"),
    "Unsqueeze": converter(_unsqueeze, only=_adds_too_many),
}
