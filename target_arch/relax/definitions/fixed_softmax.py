"""Softmax of 8-bit values in TFLite's fixed point (`plan/softmax.py`)."""

from typing import Any

from tvm import te, tirx

from target_arch.plan.arithmetic import DTYPE_RANGE, INT32_MAX
from target_arch.plan.model import Model, Operator
from target_arch.plan.softmax import exponentials_in_fixed_point
from target_arch.relax.te.definition import (
    Definition,
    Packed,
    elements,
    placeholder,
    row_by_row,
    stage,
    tensor_of,
)
from target_arch.relax.te.fixed_point import bound, wide

_ACCUMULATED = 12
"""Bits of an exponential that a sum goes without."""
_ONE_BITS = 19
"""1 is 2**19 in a sum."""
_SHORT = 8191
"""The longest row whose sum has 32 bits."""
_48_17, _32_17 = 1515870810, 1010580540
"""With 29 bits below the binary point."""
_STAGES = ("greatest", "total", "over", "inverse", "half")


def fixed_softmax(operator: Operator, model: Model) -> Definition:
    """Softmax over the last axis. Exponentials are looked up twice, so that no row is kept."""
    x, dtype = tensor_of(model, operator, 0), model.tensors[operator.output].dtype
    rows, length = elements(x) // x.shape[-1], x.shape[-1]
    least, most = DTYPE_RANGE[dtype]
    bits, data = (most - least).bit_length(), placeholder(x, (rows, length), "x")
    packed = Packed(suffix="exponentials", dtype="int32", values=exponentials_in_fixed_point(operator, model))
    table, row = packed.placeholder(), (("row", rows),)
    index, again = (te.reduce_axis((0, length), name="k") for _ in range(2))
    greatest = stage("greatest", row, lambda i: te.max(data[i, index], axis=[index]))

    def exponential(i: Any, k: Any) -> Any:
        return table[greatest[i].astype("int32") - data[i, k].astype("int32")]

    total = stage("total", row, lambda i: te.sum(_shortened(exponential(i, again), length), axis=[again]))
    over = stage("over", row, lambda i: _halvings(total[i], length.bit_length() - 1))
    inverse = stage("inverse", row, lambda i: _inverse(total[i], over[i], length, bits))

    def halved(i: Any) -> Any:
        return tirx.min(over[i], tirx.const(bits, "int32")) if _may_stop(length, bits) else over[i]

    def halves(i: Any) -> Any:
        """A half of each of the two roundings, which are one shift."""
        last = (halved(i) + tirx.const(61 - bits, "int32")).astype("uint64")
        return tirx.shift_left(_unsigned(1), last) + _unsigned(1 << 30)

    half = stage("half", row, halves)

    def element(i: Any, k: Any) -> Any:
        share = _upper(exponential(i, k), inverse[i], half[i])
        share = share >> (halved(i) + tirx.const(30 - bits, "int32")).astype("uint32")
        return bound(share, lambda value: _stored(value, least, bits)).astype(dtype)

    out = stage("out", (*row, ("k", length)), element)
    return Definition(arguments=(data, table, out), schedule=row_by_row(_STAGES), packed=(packed,))


def _stored(share: Any, least: int, bits: int) -> Any:
    """A share, at most 2**bits, from the least value on: its greatest one is a step less."""
    steps = tirx.bitwise_and(share - (share >> tirx.const(bits, "uint32")), tirx.const(2**bits - 1, "uint32"))
    return steps.astype("int32") + tirx.const(least, "int32")


def _shortened(exponential: Any, length: int) -> Any:
    """An exponential as it is added up; sums that may not fit 32 bits have 64."""
    half, bits = 1 << (_ACCUMULATED - 1), _ACCUMULATED
    if length <= _SHORT:
        return (exponential.astype("uint32") + tirx.const(half, "uint32")) >> tirx.const(bits, "uint32")
    return (exponential.astype("int64") + wide(half)) >> wide(bits)


def _halvings(total: Any, most: int) -> Any:
    """How often a sum may be halved and still is 1 or more, at most `most` times: by bisection."""
    dtype = str(total.dtype)

    def from_step(rest: Any, step: int) -> Any:
        enough = (rest >= tirx.const(1 << (_ONE_BITS + step), dtype)).astype("int32")
        if step == 1:
            return enough
        found = enough * tirx.const(step, "int32")
        return bound(
            found, lambda count: count + bound(rest >> count.astype(dtype), lambda x: from_step(x, step // 2))
        )

    return from_step(total, 1 << (most.bit_length() - 1)) if most else tirx.const(0, "int32")


def _inverse(total: Any, over: Any, length: int, bits: int) -> Any:
    """2**(50 + over) / total (gemmlowp's one_over_one_plus_x_for_x_in_0_1), 0 where LiteRT stops."""
    dtype = str(total.dtype)
    if length <= _SHORT:
        normal = tirx.shift_left(total, tirx.const(_ACCUMULATED, dtype) - over.astype(dtype))
    else:
        normal = tirx.shift_left(total, wide(_ACCUMULATED)) >> over.astype(dtype)
    # Even, so that products with it have their binary point between the two halves of 64 bits.
    even = (normal >> tirx.const(1, dtype)).astype("uint32") * tirx.const(2, "uint32")
    found = bound(even, lambda d: _refined(d, _first(d), 3))
    if not _may_stop(length, bits):
        return found
    return tirx.Select(over > tirx.const(bits, "int32"), tirx.const(0, "uint32"), found)


def _first(divisor: Any) -> Any:
    """48/17 - 32/17 * divisor with 29 bits below the binary point, and no product of negative numbers."""
    return tirx.const(_48_17, "uint32") - _upper(
        divisor, tirx.const(_32_17, "uint32"), _unsigned((1 << 31) - 2)
    )


def _refined(divisor: Any, first: Any, steps: int) -> Any:
    """Newton's steps x + x * (1 - divisor * x); a step is small, and no value is below 1 or above 2."""
    if steps == 0:
        whole, twice = tirx.const(1 << 30, "uint32"), tirx.const(2, "uint32")
        return bound(first, lambda x: tirx.Select(x >= whole, tirx.const(INT32_MAX, "uint32"), x * twice))

    def improved(x: Any) -> Any:
        twice = _upper(divisor, x, _unsigned(1 << 31)) * tirx.const(2, "uint32")
        away = (tirx.const(1 << 30, "uint32") - twice).astype("int32")
        return _refined(divisor, x + bound(away, lambda rest: _step(x, rest)), steps - 1)

    return bound(first, improved)


def _step(x: Any, away: Any) -> Any:
    """Four times the upper half of a product with a signed factor, rounded."""
    product = x.astype("int32").astype("int64") * away.astype("int64") + wide(1 << 31)
    return (product >> wide(32)).astype("uint32") * tirx.const(4, "uint32")


def _upper(a: Any, b: Any, more: Any) -> Any:
    """The upper half of a * b + more, of uint32 factors."""
    wider = a.astype("uint32").astype("uint64") * b.astype("uint32").astype("uint64")
    return ((wider + more) >> _unsigned(32)).astype("uint32")


def _unsigned(value: int) -> Any:
    """A uint64 constant."""
    return tirx.const(value, "uint64")


def _may_stop(length: int, bits: int) -> bool:
    """Whether a row is so long that LiteRT may stop, since nothing of a share is left."""
    return length >> bits > 1
