"""Functions of elements at the same place whose attributes or types TVM's frontend passes over."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
from tvm import relax, te, tirx
from tvm.ir import GenericConst

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.c.expressions import dtype_of as dtype_of_expression
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, zero

_ELEMENTS: Mapping[int, str] = {
    number: str(onnx.helper.tensor_dtype_to_np_dtype(number))
    for number in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)
}
"""The names of element types by their numbers in ONNX."""


def broadcast(node: Node, function: Callable[..., Any], *operands: Any) -> Any:
    """A function of one element of each operand, which are repeated along dimensions of extent 1."""
    shapes = [shape_of(each) for each in operands]
    shape = np.broadcast_shapes(*shapes)

    def definition(*tensors: Any) -> Any:
        def element(*at: Any) -> Any:
            values = []
            for tensor, own in zip(tensors, shapes, strict=True):
                places = at[len(shape) - len(own) :]
                values.append(tensor(*(0 if n == 1 else v for v, n in zip(places, own, strict=True))))
            return function(*values)

        return te.compute(shape, element)

    return node.computed(definition, *operands)


def _mod(node: Node) -> Any:
    dtype, fmod = node.dtype(0), node.integer("fmod", 0)
    if dtype.startswith("float"):
        rest = tirx.fmod if fmod else _floored
        return broadcast(node, rest, node.operand(0), node.operand(1))

    def remainder(a: Any, b: Any) -> Any:
        safe = tirx.Select(b == zero(dtype), tirx.const(1, dtype), b)
        left = tirx.truncmod(a, safe)
        if fmod or dtype.startswith("u"):
            return left
        other = tirx.all(left != zero(dtype), (left < zero(dtype)) != (safe < zero(dtype)))
        return tirx.Select(other, left + safe, left)

    return broadcast(node, remainder, node.operand(0), node.operand(1))


def _floored(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor, also where it is zero."""
    dtype = dtype_of_expression(a)
    left = tirx.Var("left", dtype)
    none = zero(dtype)
    other = tirx.all(left != none, (left < none) != (b < none))
    signed = tirx.Select(left == none, tirx.copysign(none, b), left)
    return tirx.Let(left, tirx.fmod(a, b), tirx.Select(other, left + b, signed))


def _bit_shift(node: Node) -> Any:
    """By the width or more, or by less than nothing, every bit leaves; to the right, the sign stays."""
    dtype = node.dtype(0)
    bits = 8 * DTYPE_BYTES[dtype]
    wide = f"{dtype.rstrip('0123456789')}{max(bits, 32)}"
    left = node.text("direction", "", ("LEFT", "RIGHT")) == "LEFT"

    def shifted(a: Any, b: Any) -> Any:
        value, by = a.astype(wide), b.astype(wide)
        inside = by < tirx.const(bits, wide)
        if not wide.startswith("u"):
            inside = tirx.all(inside, by >= zero(wide))
        last = zero(wide) if left else value >> tirx.const(bits - 1, wide)
        last = zero(wide) if wide.startswith("u") else last
        safe = tirx.Select(inside, by, zero(wide))
        moved = value << safe if left else value >> safe
        return tirx.Select(inside, moved, last).astype(dtype)

    return broadcast(node, shifted, node.operand(0), node.operand(1))


def _is_inf(node: Node) -> Any:
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)

    def test(x: Any) -> Any:
        infinite = tirx.isinf(x)
        if positive and negative:
            return infinite
        if not positive and not negative:
            return tirx.const(False, "bool")
        return tirx.all(
            infinite, x > zero(dtype_of(node.operand(0))) if positive else x < zero(node.dtype(0))
        )

    return broadcast(node, test, node.operand(0))


def _bit_cast(node: Node) -> Any:
    """The same bits as another type of the same width."""
    dtype = node.dtype(0)
    target = _ELEMENTS.get(node.integer("to", 0), "")
    if DTYPE_BYTES.get(target) != DTYPE_BYTES[dtype]:
        raise NotConverted("its type has another width")
    if target.startswith("float") == dtype.startswith("float"):
        return broadcast(node, lambda x: x.astype(target), node.operand(0))
    return broadcast(node, lambda x: tirx.reinterpret(target, x), node.operand(0))


def _pow(node: Node) -> Any:
    """In the type of the base, as ONNX demands."""
    base, exponent = node.dtype(0), node.dtype(1)
    if not base.startswith("float"):
        return _whole_power(node)
    if base == exponent == "float32":
        return relax.op.power(node.operand(0), node.operand(1))

    def power(a: Any, b: Any) -> Any:
        return tirx.pow(a.astype("float32"), b.astype("float32")).astype(base)

    return broadcast(node, power, node.operand(0), node.operand(1))


def _whole_power(node: Node) -> Any:
    """As onnxruntime computes them on x86-64, where ONNX leaves overflow open: squares and cubes are products
    of whole numbers where neighbours have one exponent; any other power is one of doubles, and the lowest
    number where that is out of range.
    """
    dtype = node.dtype(0)
    one = _repeats(node.shape(0), node.shape(1))
    limit = tirx.const(2.0 ** (8 * DTYPE_BYTES[dtype] - 1), "float64")

    def power(a: Any, b: Any) -> Any:
        real = tirx.Var("real", "float64")
        inside = tirx.all(real >= -limit, real < limit)
        kept = tirx.Select(inside, real.astype(dtype), tirx.min_value(dtype))
        found = tirx.Let(real, tirx.pow(a.astype("float64"), b.astype("float64")), kept)
        if not one:
            return found
        two, three = (tirx.const(value, str(b.ty.dtype)) for value in (2, 3))
        return tirx.Select(b == two, a * a, tirx.Select(b == three, a * a * a, found))

    return broadcast(node, power, node.operand(0), node.operand(1))


def _repeats(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether the other's elements are repeated for neighbours of the first."""
    pairs = zip_longest(reversed(shape), reversed(other), fillvalue=1)
    return next((n == 1 for m, n in pairs if (m, n) != (1, 1)), False)


def _folded(op: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def convert(node: Node) -> Any:
        """From the first operand to the last."""
        found = node.operand(0)
        for other in node.inputs[1:]:
            found = node.emit(op(found, other))
        return found

    return convert


def _clip(node: Node) -> Any:
    """One clip between constants, else a maximum and a minimum, for bounds that may be computed."""
    x = node.operand(0)
    bounds = [_bound(node, index, name) for index, name in ((1, "min"), (2, "max"))]
    limits = [_limit(each, node.dtype(0), low=low) for each, low in zip(bounds, (True, False), strict=True)]
    if None not in limits:
        return relax.op.clip(x, *limits)
    for bound, op in zip(bounds, (relax.op.maximum, relax.op.minimum), strict=True):
        if bound is not None:
            x = node.emit(op(x, bound))
    return x


def _bound(node: Node, index: int, name: str) -> Any | None:
    value = node.attributes.get(name)
    return relax.const(value, node.dtype(0)) if value is not None else node.given(index)


def _limit(bound: Any | None, dtype: str, *, low: bool) -> float | int | None:
    """The bound as a number; None where it is computed, or where a float may not hold it."""
    if bound is None:
        if dtype.startswith("float"):
            return -np.inf if low else np.inf
        kind = np.iinfo(dtype)
        return int(kind.min if low else kind.max)
    if not isinstance(bound, GenericConst) or bound.value.numpy().size != 1:
        return None
    found = bound.value.numpy().reshape(-1)[0]
    return float(found) if dtype.startswith("float") else int(found)


def _shrink(node: Node) -> Any:
    bias, limit = float(node.attributes.get("bias", 0.0)), float(node.attributes.get("lambd", 0.5))
    dtype = node.dtype(0)

    def shrunk(x: Any) -> Any:
        value = x.astype("float32")
        above = tirx.Select(
            value > tirx.const(limit, "float32"), value - tirx.const(bias, "float32"), zero("float32")
        )
        below = value < tirx.const(-limit, "float32")  # comes first, for limits below zero
        return tirx.Select(below, value + tirx.const(bias, "float32"), above).astype(dtype)

    return broadcast(node, shrunk, node.operand(0))


def _celu(node: Node) -> Any:
    """As ONNX writes it: the operators by which it defines this one differ where `alpha` is below zero."""
    alpha = float(node.attributes.get("alpha", 1.0))
    if alpha == 0:
        raise NotConverted("its attribute `alpha` is 0")
    dtype, factor = node.dtype(0), tirx.const(alpha, "float32")

    def activated(x: Any) -> Any:
        value = x.astype("float32")
        below = factor * (tirx.exp(value / factor) - tirx.const(1.0, "float32"))
        return (tirx.max(value, zero("float32")) + tirx.min(below, zero("float32"))).astype(dtype)

    return broadcast(node, activated, node.operand(0))


def _dropout(node: Node) -> Any:
    """Nothing is dropped outside of training; the mask says that everything is kept."""
    training = node.constant(2, "training_mode")
    ratio = node.constant(1, "ratio")
    drops = ratio is None or float(ratio.reshape(-1)[0]) != 0.0
    if training is not None and bool(training.reshape(-1)[0]) and drops:
        raise NotConverted("it drops elements at random: it is in training mode")
    mask = node.emit(relax.op.ones(node.shape(0), "bool"))
    return (node.operand(0), mask) if node.outputs > 1 else node.operand(0)


def _prelu(node: Node) -> Any:
    """In TVM's frontend the result has the shape of x, also where the slope is larger."""
    x, slope = node.operand(0), node.operand(1)
    shape, own = shape_of(x), shape_of(slope)
    wide = [axis for axis, extent in enumerate(own) if extent != 1]
    if shape and len(wide) < 2 and np.broadcast_shapes(shape, own) == shape:
        axis, slopes = (wide[0] - len(own), own[wide[0]]) if wide else (-1, 1)
        return relax.op.nn.prelu(x, relax.op.reshape(slope, (slopes,)), len(shape) + axis)
    negative = relax.op.less(x, relax.const(0, node.dtype(0)))
    return relax.op.where(negative, relax.op.multiply(x, slope), x)


CONVERTERS: Mapping[str, Converter] = {
    "BitCast": converter(_bit_cast, "to"),
    "BitShift": converter(_bit_shift, "direction"),
    "Celu": converter(_celu, "alpha"),
    "Clip": converter(_clip, "max min"),
    "Dropout": converter(_dropout, "ratio seed"),
    "IsInf": converter(_is_inf, "detect_negative detect_positive"),
    "Max": converter(_folded(relax.op.maximum)),
    "Min": converter(_folded(relax.op.minimum)),
    "Mod": converter(_mod, "fmod"),
    "Pow": converter(_pow),
    "PRelu": converter(_prelu),
    "Shrink": converter(_shrink, "bias lambd"),
}
