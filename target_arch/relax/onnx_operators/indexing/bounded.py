"""Results of their largest size with a count: what is there comes first, as the count says.

The operators are those of `readers/onnx/rewriting/bounded_marks.py`, in our domain.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from tvm import relax, te, tirx

from target_arch.relax.loops.different import DifferentSlices
from target_arch.relax.loops.places import PlacesOfElements
from target_arch.relax.loops.suppression import BoxesOfClasses
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import constant


def _suppression(node: Node) -> Any:
    boxes, scores, rows = node.shape(0), node.shape(1), node.integer("rows", 1)
    none = constant(np.zeros(1, np.int64))
    most = none if node.given(2) is None else node.reshaped(node.cast(node.operand(2), "int64"), (1,))
    share = constant(np.zeros(1, np.float32)) if node.given(3) is None else _number(node, 3)
    least, there = _number(node, 4), node.given(5)
    kernel = BoxesOfClasses(
        boxes=boxes,
        classes=scores[1],
        rows=rows,
        centred=bool(node.integer("center_point_box", 0)),
        scored=least is not None,
        counted=there is not None,
    )
    others = [each for each in (least, there) if each is not None]
    operands = (node.operand(0), node.operand(1), most, share, *others)
    whole = node.written((rows + 1, 3), "int64", kernel.write, *operands)
    count = node.emit(relax.op.strided_slice(whole, [0, 1], [rows, 0], [rows + 1, 1]))
    return node.emit(relax.op.strided_slice(whole, [0], [0], [rows])), node.reshaped(count, (1,))


def _number(node: Node, index: int) -> Any | None:
    value = node.given(index)
    return None if value is None else node.reshaped(value, (1,))


def _split(node: Node, whole: Any, sizes: list[tuple[int, ...]]) -> tuple[Any, ...]:
    """The parts of one array that has them one behind the other."""
    found, first = [], 0
    for shape in sizes:
        part = node.emit(relax.op.strided_slice(whole, [0], [first], [first + prod(shape)]))
        found.append(node.reshaped(part, shape))
        first += prod(shape)
    return tuple(found)


def _non_zero(node: Node) -> Any:
    """The places, a row for each dimension, in the order of the elements."""
    kernel = PlacesOfElements(shape=node.shape(0), by_element=False)
    whole = node.written((kernel.size,), "int64", kernel.write, node.operand(0))
    return _split(node, whole, [kernel.rows, (1,)])


def _unique(node: Node) -> Any:
    """Of different slices along an axis the first place; of every slice the number of the one that it is
    like; how often each is there; and how many there are.
    """
    kernel = DifferentSlices(
        shape=node.shape(0), axis=node.integer("axis", 0), is_sorted=bool(node.integer("sorted", 1))
    )
    extent = kernel.extent
    whole = node.written((3 * extent + 1,), "int64", kernel.write, node.operand(0))
    return _split(node, whole, [(extent,), (extent,), (extent,), (1,)])


def _filled(node: Node) -> Any:
    """The elements before the count, and one value behind them."""
    axis, dtype, shape = node.integer("axis", 0), node.dtype(0), node.shape(0)
    behind = _value(node.text("value", "zero", ("zero", "one", "lowest", "highest")), dtype)

    def definition(x: Any, count: Any) -> Any:
        def element(*at: Any) -> Any:
            return tirx.Select(at[axis] < count(0).astype("int32"), x(*at), behind)

        return te.compute(tuple(shape), element)

    return node.computed(definition, node.operand(0), node.operand(1))


def _value(name: str, dtype: str) -> Any:
    if name in ("zero", "one"):
        return tirx.const(int(name == "one"), dtype)
    if dtype.startswith("float"):
        return tirx.const(float("-inf" if name == "lowest" else "inf"), dtype)
    return tirx.min_value(dtype) if name == "lowest" else tirx.max_value(dtype)


CONVERTERS: Mapping[str, Converter] = {
    "Filled": converter(_filled, "axis value"),
    "NonMaxSuppression": converter(_suppression, "center_point_box rows"),
    "NonZero": converter(_non_zero),
    "Unique": converter(_unique, "axis sorted"),
}
