"""Extents that depend on values: tensors of shapes, of which some elements are counts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from target_arch.relax.readers.onnx.rewriting.bounded_marks import Size, Walk, attribute
from target_arch.relax.readers.onnx.rewriting.graph import Array, TensorKind
from target_arch.relax.site import NotConverted

_MOST = 64
"""Elements of a tensor of shapes."""


def sizes_of(walk: Walk, name: str) -> Array | None:
    """The elements of a tensor of shapes; None where some are not known to have a largest value."""
    if name in walk.sizes:
        return walk.sizes[name]
    values = walk.constant(name)
    if values is None or values.dtype.kind not in "iu" or values.size > _MOST:
        return None
    found = np.empty(values.shape, object)
    for at in np.ndindex(values.shape):
        found[at] = Size(largest=int(values[at]))
    return found


def note_sizes(walk: Walk, node: Any) -> None:
    """Note the elements that an operator on tensors of shapes writes, where their largest values follow."""
    if node.op_type not in _FORMS or not any(name in walk.sizes for name in node.input):
        return
    known = (sizes_of(walk, name) for name in node.input)
    operands = [each for each in known if each is not None]
    if len(operands) < len(node.input):
        return
    found = _FORMS[node.op_type](walk, node, operands)
    if found is not None:
        walk.sizes[node.output[0]] = np.asarray(found, object)


def count_of(walk: Walk, name: str, place: int, size: Size) -> str:
    """The name of the count that an element of a tensor of shapes is."""
    if size.count:
        return size.count
    base, whole = f"{name}/extent{place}", TensorKind(TensorProto.INT64, (1,))
    kind = TensorKind(walk.types[name].elements, (1,))
    flat = walk.add("Reshape", [name, walk.number("counts/flat", [-1])], f"{name}/flat", _flat(walk, name))
    one = walk.add("Gather", [flat, walk.number(f"{base}/place", [place])], f"{base}/one", kind, axis=0)
    wide = walk.add("Cast", [one], f"{base}/wide", whole, to=TensorProto.INT64)
    return clipped(walk, wide, size.largest, base)


def clipped(walk: Walk, count: str, largest: int, name: str) -> str:
    """The name of a count that is not negative and not above the largest."""
    most = walk.number(f"{name}/largest", [largest])
    least = walk.counted(f"{name}/least", "Min", count, most)
    return walk.counted(name, "Max", least, walk.number("counts/none", [0]))


def _flat(walk: Walk, name: str) -> TensorKind:
    kind = walk.types[name]
    return TensorKind(kind.elements, (int(np.prod(kind.shape or (), dtype=np.int64)),))


def largest(sizes: Array) -> tuple[int, ...]:
    """The largest value of every element."""
    return tuple(each.largest for each in sizes.reshape(-1))


def _fixed(walk: Walk, node: Any, index: int) -> tuple[int, ...]:
    return walk.numbers(node.input[index], "axes")


def _concat(walk: Walk, node: Any, operands: list[Array]) -> Array:
    return np.concatenate(operands)


def _gather(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
    places = walk.constant(node.input[1])
    if places is None or operands[0].ndim != 1:
        return None
    return np.asarray(operands[0][places], object)


def _slice(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
    try:
        starts, ends = _fixed(walk, node, 1), _fixed(walk, node, 2)
        steps = _fixed(walk, node, 4) if len(node.input) > 4 else (1,)
    except NotConverted:
        return None
    if operands[0].ndim != 1 or steps[0] < 1:
        return None
    return operands[0][starts[0] : ends[0] : steps[0]]


def _squeeze(walk: Walk, node: Any, operands: list[Array]) -> Array:
    return operands[0].reshape(()) if operands[0].size == 1 else operands[0]


def _unsqueeze(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
    return operands[0].reshape(1) if operands[0].ndim == 0 else None


def _reshape(walk: Walk, node: Any, operands: list[Array]) -> Array:
    return operands[0].reshape(largest(operands[1]))


def _passed(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
    to = attribute(node, "to", TensorProto.INT64)
    return operands[0] if to in (TensorProto.INT64, TensorProto.INT32) else None


def _arithmetic(
    combined: Callable[[Size, Size], Size | None],
) -> Callable[[Walk, Any, list[Array]], Array | None]:
    def form(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
        found = operands[0]
        for other in operands[1:]:
            found = np.asarray(np.frompyfunc(combined, 2, 1)(found, other), object)
            if any(each is None for each in found.reshape(-1)):
                return None
        return found

    return form


def _reduced(
    combined: Callable[[Size, Size], Size | None],
) -> Callable[[Walk, Any, list[Array]], Array | None]:
    def form(walk: Walk, node: Any, operands: list[Array]) -> Array | None:
        found: Size | None = None
        for number, each in enumerate(operands[0].reshape(-1)):
            found = combined(found, each) if found is not None else each if number == 0 else None
        if found is None or operands[0].ndim != 1:
            return None
        array = np.empty((1,) if attribute(node, "keepdims", 1) else (), object)
        array[...] = found
        return array

    return form


def _computed(value: int) -> Size:
    return Size(largest=value, count="")


def _either(a: Size, b: Size, value: int) -> Size:
    return Size(largest=value) if a.is_fixed and b.is_fixed else _computed(value)


def _added(a: Size, b: Size) -> Size | None:
    if min(a.largest, b.largest) < 0:
        return None
    for one, other in ((a, b), (b, a)):
        if other.is_fixed and other.largest == 0:
            return one
    return _either(a, b, a.largest + b.largest)


def _multiplied(a: Size, b: Size) -> Size | None:
    if min(a.largest, b.largest) < 0:
        return None
    for one, other in ((a, b), (b, a)):
        if other.is_fixed and other.largest == 1:
            return one
    return _either(a, b, a.largest * b.largest)


def _subtracted(a: Size, b: Size) -> Size | None:
    if not b.is_fixed or a.largest < b.largest:
        return None
    return a if b.largest == 0 else _either(a, b, a.largest - b.largest)


def _divided(a: Size, b: Size) -> Size | None:
    if not b.is_fixed or b.largest < 1:
        return None
    return a if b.largest == 1 else _either(a, b, a.largest // b.largest)


def _lesser(a: Size, b: Size) -> Size:
    for one, other in ((a, b), (b, a)):
        if other.is_fixed and other.largest >= one.largest:
            return one
    return _either(a, b, min(a.largest, b.largest))


def _greater(a: Size, b: Size) -> Size:
    for one, other in ((a, b), (b, a)):
        if other.is_fixed and other.largest <= 0:
            return one
    return _either(a, b, max(a.largest, b.largest))


_FORMS: Mapping[str, Callable[[Walk, Any, list[Array]], Array | None]] = {
    "Add": _arithmetic(_added),
    "Cast": _passed,
    "Concat": _concat,
    "Div": _arithmetic(_divided),
    "Gather": _gather,
    "Identity": _passed,
    "Max": _arithmetic(_greater),
    "Min": _arithmetic(_lesser),
    "Mul": _arithmetic(_multiplied),
    "ReduceMax": _reduced(_greater),
    "ReduceMin": _reduced(_lesser),
    "ReduceProd": _reduced(_multiplied),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _arithmetic(_subtracted),
    "Unsqueeze": _unsqueeze,
}
"""Operators that never give more for less, with their elements for the largest ones that they read."""
