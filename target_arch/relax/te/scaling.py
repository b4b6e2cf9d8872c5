"""The requantizers of `target_arch.plan.arithmetic` as TE stages.

A stage `product` holds the 64-bit product (after its first rounding, where the rule has two), `out` the rest:
so each of them is once in a C function.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import Requantization, Rounding
from target_arch.relax.te.definition import Axes, Packed, stage


def widened(value: Any, offset: int) -> Any:
    """A stored 8-bit value plus its offset, as int32.

    It goes through int16, which always holds it: compilers know multiply-accumulate for 16-bit factors.
    """
    short = value.astype("int16")
    return (short + tirx.const(offset, "int16") if offset else short).astype("int32")


@frozen(kw_only=True, eq=False)
class Scaled:
    """The output stage and the packed constants it needs."""

    packed: tuple[Packed, ...]
    placeholders: tuple[Any, ...]
    out: Any


def requantized(
    r: Requantization,
    accumulator: Callable[..., Any],
    axes: "Axes",
    dtype: str,
    names: tuple[str, str] = ("product", "out"),
) -> Scaled:
    """Stages that turn accumulators into outputs; `names` are those of the two.

    `accumulator(*indices)` is the value at an output index; the last index is the channel.
    Multipliers and shifts (counted to the right) that differ between channels are packed, others are
    literals.
    """
    right = tuple(right_shift(r.rounding, shift) for shift in r.shifts)
    parameters = (("multiplier", "int32", r.multipliers), ("shift", "int8", right))
    packed = tuple(
        Packed(suffix=suffix, dtype=kind, values=values)
        for suffix, kind, values in parameters
        if len(set(values)) > 1
    )
    arrays = {constant.suffix: constant.placeholder() for constant in packed}

    def of_channel(suffix: str, values: tuple[int, ...], channel: Any) -> Any:
        if suffix in arrays:
            return arrays[suffix][channel].astype("int64")
        return tirx.const(values[0], "int64")

    def scale(*index: Any) -> Any:
        multiplier = of_channel("multiplier", r.multipliers, index[-1])
        shift = of_channel("shift", right, index[-1])
        value = accumulator(*index).astype("int64")
        return scaled_product(r.rounding, value, multiplier, shift, min(right))

    product = stage(names[0], axes, scale)

    def finish(*index: Any) -> Any:
        shift = of_channel("shift", right, index[-1])
        value = rounded_shift(r.rounding, product(*index), shift, min(right))
        value = value + tirx.const(r.output_offset, "int64")
        return clamped(value, r.activation_min, r.activation_max).astype(dtype)

    return Scaled(packed=packed, placeholders=tuple(arrays.values()), out=stage(names[1], axes, finish))


def right_shift(rounding: Rounding, shift: int) -> int:
    """How far the second half of a requantizer shifts to the right, for a shift as `plan.arithmetic`
    states it.
    """
    if rounding == Rounding.TFLITE_SINGLE:
        return 31 - shift
    return -shift if rounding == Rounding.TFLITE else shift


def scaled_product(rounding: Rounding, value: Any, multiplier: Any, right: Any, least: int) -> Any:
    """First half of a requantizer, int64: gemmlowp's high multiplication, or the exact product.

    `right` is the right shift (negative: to the left) and `least` the least of all channels.
    """
    if rounding != Rounding.TFLITE:
        return value * multiplier
    if least < 0:
        left = tirx.max(-right, tirx.const(0, "int64"))
        value = clamped(tirx.shift_left(tirx.const(1, "int64"), left) * value, -(2**31), 2**31 - 1)
    return (value * multiplier + tirx.const(1 << 30, "int64")) >> tirx.const(31, "int64")


def rounded_shift(rounding: Rounding, value: Any, right: Any, least: int) -> Any:
    """Second half of a requantizer, int64: the rounding right shift."""
    one, zero = tirx.const(1, "int64"), tirx.const(0, "int64")
    if rounding == Rounding.TFLITE_SINGLE and least <= 0:
        left = tirx.min(tirx.max(-right, zero), tirx.const(31, "int64"))
        far = clamped(value, -(2**31), 2**31 - 1) * tirx.shift_left(one, left)
        right = tirx.max(right, zero)
        near = (value + (tirx.shift_left(one, right) >> one)) >> right
        return tirx.Select(left > zero, far, near)
    if isinstance(right, tirx.IntImm) and int(right.value) <= 0:
        return value
    if least <= 0:
        right = tirx.max(right, zero)
    if rounding == Rounding.TFLITE:
        half = tirx.shift_left(one, right - one) if least > 0 else tirx.shift_left(one, right) >> one
        negative = value < zero if least > 0 else tirx.all(value < zero, right > zero)
        return (value + half - negative.astype("int64")) >> right
    if rounding == Rounding.TFLITE_SINGLE:
        return (value + tirx.shift_left(one, right - one)) >> right
    odd = tirx.bitwise_and(value >> right, one)
    if least > 0:
        return (value + (tirx.shift_left(one, right - one) - one) + odd) >> right
    half = tirx.max((tirx.shift_left(one, right) >> one) - one, zero)
    return (value + half + tirx.Select(right > zero, odd, zero)) >> right


def clamped(value: Any, low: int, high: int) -> Any:
    """The value within [low, high], in its own type."""
    dtype = str(value.ty.dtype)
    return tirx.max(tirx.min(value, tirx.const(high, dtype)), tirx.const(low, dtype))
