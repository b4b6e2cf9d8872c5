"""Fixed-point parameters of quantized operators, and their meaning, to the bit.

This is the only place where scales become integers. Every kernel (C, accelerator, simulator) takes its
multipliers and shifts from here and implements the requantizer that `Requantization.rounding` names:

`tflite` (the LiteRT reference kernels: gemmlowp's two roundings). `multiplier` is in [2**30, 2**31), or 0
(less for a mean); `shift` is in [-31, 30], positive to the left. With `a = saturate_int32(accumulator <<
max(shift, 0))` and `e = max(-shift, 0)`::

    high    = (a * multiplier + 2**30) >> 31           64-bit product, floor: SaturatingRoundingDoubling
    result  = round_half_away_from_zero(high / 2**e)   RoundingDivideByPOT
            = (high + 2**(e - 1) - (high < 0)) >> e    for e > 0, floor; in 64 bits: the sum may overflow 32

(LiteRT leaves the overflow of the left shift undefined; here it saturates.)

`tflite_single` (what LiteRT's fully connected layers do, its reference ones too). Multiplier and shift as
for `tflite`, but one rounding, half up::

    result  = (accumulator * multiplier + 2**(30 - shift)) >> (31 - shift)          64-bit product, floor

(LiteRT leaves shifts of 31 and more undefined, which tensors have that were 0 in every calibrated frame;
here the product is shifted to the left and saturates.)

`onnx` (QLinearConv and QDQ: one rounding of an exact product). The real multiplier is the float32 value `m`;
`multiplier` is its 24-bit mantissa (up to 2**31 - 1 where m >= 2**24, 0 where m is too small to matter),
`shift` in [0, 62] counts to the right, m = multiplier / 2**shift::

    result  = round_half_even(accumulator * multiplier / 2**shift)
            = floor = product >> shift; rest = product - (floor << shift);
              floor + (rest > half or (rest == half and floor is odd)), half = 2**(shift - 1), for shift > 0

All then: `output = clamp(result + output_offset, activation_min, activation_max)`, the sum in 64 bits.

Sources: the TFLite 8-bit quantization specification; LiteRT `kernels/kernel_util.cc`,
`kernels/internal/{common.h,quantization_util.cc}`, `reference/integer_ops/`; gemmlowp
`fixedpoint/fixedpoint.h`; the ONNX operators QLinearConv, QLinearMatMul, QuantizeLinear.
"""

import math
import struct
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any

from attrs import field, frozen

from target_arch.plan.input_range import limits
from target_arch.plan.model import Model, Operator, Quantization
from target_arch.plan.operators.facts import COUNT_IN_MULTIPLIER, Arithmetic, Scaling
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain

DTYPE_RANGE: Mapping[str, tuple[int, int]] = {
    dtype: limits(dtype) for dtype in ("int8", "uint8", "int16", "uint16", "int32")
}
INT32_MIN, INT32_MAX = DTYPE_RANGE["int32"]
ADDITION_LEFT_SHIFT = 20
"""Bits the TFLite addition of 8-bit values keeps below the binary point."""


class Rounding(StrEnum):
    """The requantizers above."""

    TFLITE = "tflite"
    TFLITE_SINGLE = "tflite_single"
    ONNX = "onnx"


@frozen(kw_only=True)
class Requantization:
    """How an accumulator becomes an output: one multiplier and shift per output channel, or one for all.

    `input_offset` is minus the zero point of the input (added to each value before it is multiplied);
    `second_offset` that of the other factor: of the second input of `mul`, or of the weights. `accumulator`
    is the element type of the sums.
    """

    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    rounding: Rounding = field(converter=Rounding)
    input_offset: int
    output_offset: int
    activation_min: int
    activation_max: int
    second_offset: int = 0
    accumulator: str = "int32"

    @property
    def uniform(self) -> bool:
        """True where all channels have the same multiplier and shift."""
        return len(set(zip(self.multipliers, self.shifts, strict=True))) == 1

    def apply(self, accumulator: int, channel: int = 0) -> int:
        """The output for an accumulator (input offset already applied), by Python integers: the reference."""
        index = channel if len(self.multipliers) > 1 else 0
        scale = _MULTIPLY[self.rounding]
        value = scale(accumulator, self.multipliers[index], self.shifts[index]) + self.output_offset
        return min(max(value, self.activation_min), self.activation_max)


@frozen(kw_only=True)
class Addition:
    """How two quantized values are added (`sign` 1) or subtracted (`sign` -1).

    `tflite`: each input plus its offset is shifted left by `left_shift` and scaled with its multiplier and
    shift; the sum is scaled with `output_multiplier` and `output_shift`, all with the `tflite` requantizer.
    `onnx`: the input multipliers are aligned to the one right shift `output_shift` (they may take more than
    32 bits), the sum of the products is rounded once, half to even; the other fields are 0.
    """

    rounding: Rounding = field(converter=Rounding)
    sign: int
    input_offsets: tuple[int, int]
    input_multipliers: tuple[int, int]
    input_shifts: tuple[int, int]
    left_shift: int
    output_multiplier: int
    output_shift: int
    output_offset: int
    activation_min: int
    activation_max: int

    def apply(self, first: int, second: int) -> int:
        """The output for two stored values, by Python integers: the reference."""
        values = (first + self.input_offsets[0], second + self.input_offsets[1])
        if self.rounding == Rounding.TFLITE:
            scaled = [
                multiply_tflite(value << self.left_shift, multiplier, shift)
                for value, multiplier, shift in zip(
                    values, self.input_multipliers, self.input_shifts, strict=True
                )
            ]
            raw = scaled[0] + self.sign * scaled[1]
            result = multiply_tflite(raw, self.output_multiplier, self.output_shift)
        else:
            products = [v * m for v, m in zip(values, self.input_multipliers, strict=True)]
            result = shift_half_even(products[0] + self.sign * products[1], self.output_shift)
        return min(max(result + self.output_offset, self.activation_min), self.activation_max)


def requantization(operator: Operator, model: Model) -> Requantization:
    """Parameters of an operator whose kind has a `Scaling`; of sums of products, those in the plain form that
    kernels and engines know (`plan.products`).

    Raises ValueError where a tensor lacks quantization, for other sums of products, or if the kind has none.
    """
    other = beyond_plain(operator, model) if operator.facts.weighted else None
    if other is not None:
        raise ValueError(f"`{operator.id}`: {other}")
    return any_requantization(operator, model)


def any_requantization(operator: Operator, model: Model) -> Requantization:
    """The same of every sum of products: also of several groups of channels, of weights with one zero point,
    and of sums in 64 bits, as the type of the bias is.

    LiteRT scales those of convolutions with 16 bits of the multiplier, and rounds once.
    """
    first = require_quantization(operator.inputs[0], model)
    out = require_quantization(operator.output, model)
    scales = _effective_scales(operator, model)
    encode = quantize_multiplier if operator.arithmetic == Arithmetic.TFLITE else mantissa_and_shift
    encoded = [encode(scale) for scale in scales]
    wide = operator.facts.weighted and _sums_in_64_bits(operator, model)
    if counts_in_multiplier(operator):
        encoded = [_divided(*pair, _area(operator)) for pair in encoded]
    elif wide and operator.kind is not OperatorKind.DENSE:
        encoded = [(reduced(multiplier), shift + 16) for multiplier, shift in encoded]
    low, high = activation_range(operator, model)
    return Requantization(
        multipliers=tuple(multiplier for multiplier, _ in encoded),
        shifts=tuple(shift for _, shift in encoded),
        rounding=Rounding.TFLITE_SINGLE if wide else _rounding(operator),
        input_offset=-first.zero_point[0],
        output_offset=out.zero_point[0],
        activation_min=low,
        activation_max=high,
        second_offset=-_second_zero(operator, model),
        accumulator="int64" if wide else "int32",
    )


def _sums_in_64_bits(operator: Operator, model: Model) -> bool:
    return any(model.tensors[name].dtype == "int64" for name in operator.constants[1:2])


def _second_zero(operator: Operator, model: Model) -> int:
    """The zero point of the second factor. Raises ValueError for weights that have several."""
    if operator.facts.scaling is Scaling.FACTORS:
        return require_quantization((*operator.inputs, *operator.constants)[1], model).zero_point[0]
    if operator.facts.scaling is not Scaling.WEIGHTS:
        return 0
    zeros = set(require_quantization(operator.constants[0], model).zero_point)
    if len(zeros) > 1:
        raise ValueError(f"`{operator.id}`: weights with several zero points")
    return zeros.pop()


def reduced(multiplier: int) -> int:
    """The 16 bits of a multiplier that LiteRT scales 64-bit sums with."""
    return (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF


def addition(operator: Operator, model: Model) -> Addition:
    """Parameters of add and sub. Raises ValueError where a tensor lacks quantization."""
    names = (*operator.inputs, *operator.constants)
    first, second = (require_quantization(name, model) for name in names[:2])
    out = require_quantization(operator.output, model)
    scales = (first.scale[0], second.scale[0], out.scale[0])
    parameters = (
        _tflite_addition(*scales) if operator.arithmetic == Arithmetic.TFLITE else _onnx_addition(*scales)
    )
    multipliers, shifts, left_shift, output_multiplier, output_shift = parameters
    low, high = activation_range(operator, model)
    return Addition(
        rounding=Rounding(operator.arithmetic),
        sign=-1 if operator.kind is OperatorKind.SUB else 1,
        input_offsets=(-first.zero_point[0], -second.zero_point[0]),
        input_multipliers=multipliers,
        input_shifts=shifts,
        left_shift=left_shift,
        output_multiplier=output_multiplier,
        output_shift=output_shift,
        output_offset=out.zero_point[0],
        activation_min=low,
        activation_max=high,
    )


def activation_range(operator: Operator, model: Model) -> tuple[int, int]:
    """Least and greatest output of an integer operator: its attributes, else the range of its type."""
    low, high = DTYPE_RANGE[model.tensors[operator.output].dtype]
    return operator.integer("activation_min", low), operator.integer("activation_max", high)


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) of the `tflite` requantizer: LiteRT's QuantizeMultiplier."""
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    # The product with a power of two is exact; std::round rounds half away from zero.
    multiplier = math.floor(mantissa * 2.0**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def mantissa_and_shift(real: float) -> tuple[int, int]:
    """(multiplier, shift) of the `onnx` requantizer for a float32 value >= 0."""
    mantissa, exponent = math.frexp(real)
    multiplier, shift = int(mantissa * 2**24), 24 - exponent
    if shift > 62:
        # A 32-bit accumulator times 24 bits stays below 2**55: the result is 0 either way.
        return 0, 0
    # From 2**31 up, every accumulator but 0 saturates any output.
    return (multiplier, shift) if shift >= 0 else (min(multiplier << min(-shift, 32), INT32_MAX), 0)


def multiply_tflite(value: int, multiplier: int, shift: int) -> int:
    """The `tflite` requantizer without offset and clamp."""
    left = min(max(value << max(shift, 0), INT32_MIN), INT32_MAX)
    high = (left * multiplier + 2**30) >> 31
    return shift_half_away(high, max(-shift, 0))


def multiply_tflite_single(value: int, multiplier: int, shift: int) -> int:
    """The `tflite_single` requantizer without offset and clamp."""
    right = 31 - shift
    if right <= 0:
        return value * multiplier << -right
    return (value * multiplier + (1 << right >> 1)) >> right


def multiply_onnx(value: int, multiplier: int, shift: int) -> int:
    """The `onnx` requantizer without offset and clamp."""
    return shift_half_even(value * multiplier, shift)


_MULTIPLY = {
    Rounding.TFLITE: multiply_tflite,
    Rounding.TFLITE_SINGLE: multiply_tflite_single,
    Rounding.ONNX: multiply_onnx,
}


def shift_half_away(value: int, shift: int) -> int:
    """value / 2**shift, rounded half away from zero."""
    return (value + (1 << shift >> 1) - (value < 0)) >> shift if shift else value


def shift_half_even(value: int, shift: int) -> int:
    """value / 2**shift, rounded half to even."""
    return round(Fraction(value, 1 << shift))


def float32(value: float) -> float:
    """The float32 nearest to a double."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def counts_in_multiplier(operator: Operator) -> bool:
    """True for an average whose multiplier also divides by the size of the window, and which may change the
    scale: TFLite's MEAN. AVERAGE_POOL_2D keeps the scale and divides the sum.
    """
    return operator.attributes.get(COUNT_IN_MULTIPLIER) is True


def _divided(multiplier: int, shift: int, count: int) -> tuple[int, int]:
    """LiteRT `reference_integer_ops::Mean`: a multiplier that also divides by `count`, rounded down."""
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def _area(operator: Operator) -> int:
    kernel: Any = operator.attributes["kernel"]
    return int(kernel[0]) * int(kernel[1])


def _rounding(operator: Operator) -> Rounding:
    """LiteRT rounds fully connected layers once, everything else twice."""
    once = operator.kind is OperatorKind.DENSE and operator.arithmetic == Arithmetic.TFLITE
    return Rounding.TFLITE_SINGLE if once else Rounding(operator.arithmetic)


def _effective_scales(operator: Operator, model: Model) -> list[float]:
    """Real multipliers per output channel, rounded where, and only where, the implementation rounds."""
    x = require_quantization(operator.inputs[0], model).scale[0]
    out = require_quantization(operator.output, model).scale[0]
    onnx, scaling = operator.arithmetic == Arithmetic.ONNX, operator.facts.scaling
    if scaling is Scaling.WEIGHTS:
        w = require_quantization(operator.constants[0], model)
        if onnx:
            return [float32(float32(x * scale) / out) for scale in w.scale]
        if len(w.scale) == 1 and _multiplies_scales(operator, model):
            return [float32(x * w.scale[0]) / out]
        return [x * scale / out for scale in w.scale]
    if scaling is Scaling.FACTORS:
        second = require_quantization((*operator.inputs, *operator.constants)[1], model).scale[0]
        whole = operator.kind is OperatorKind.MATMUL and not onnx
        return [x * second / out if whole else float32(float32(x * second) / out)]
    if (operator.kind is OperatorKind.REQUANTIZE and not onnx) or counts_in_multiplier(operator):
        return [x / out]
    if scaling is Scaling.RATIO:
        return [float32(x / out)]
    raise ValueError(f"`{operator.id}`: kind {operator.kind} has no requantization")


def _multiplies_scales(operator: Operator, model: Model) -> bool:
    """Whether LiteRT multiplies two scales in float32: of convolutions
    of uint8 values. Those of fully connected layers and all others it multiplies as double.
    """
    return operator.kind is not OperatorKind.DENSE and model.tensors[operator.inputs[0]].dtype == "uint8"


def _tflite_addition(
    first: float, second: float, out: float
) -> tuple[tuple[int, int], tuple[int, int], int, int, int]:
    """LiteRT `kernels/add.cc`: both inputs on the grid of twice the larger scale, 20 bits finer."""
    twice = 2.0 * max(first, second)
    encoded = (quantize_multiplier(first / twice), quantize_multiplier(second / twice))
    output = quantize_multiplier(twice / ((1 << ADDITION_LEFT_SHIFT) * out))
    return (encoded[0][0], encoded[1][0]), (encoded[0][1], encoded[1][1]), ADDITION_LEFT_SHIFT, *output


def _onnx_addition(
    first: float, second: float, out: float
) -> tuple[tuple[int, int], tuple[int, int], int, int, int]:
    """Float32 multipliers scale/out, their mantissas aligned to one right shift of at most 48 bits.

    48 bits below the binary point are exact for multipliers of at least 2**-24 and leave 15 bits above it.
    """
    reals = (Fraction(float32(first / out)), Fraction(float32(second / out)))
    if max(reals) >= 1 << 5:
        raise ValueError("addition whose output scale is less than 1/32 of an input scale")
    shift = min(48, max(real.denominator.bit_length() - 1 for real in reals))
    aligned = (round(reals[0] * (1 << shift)), round(reals[1] * (1 << shift)))
    return aligned, (0, 0), 0, 0, shift


def require_quantization(name: str, model: Model) -> Quantization:
    """The quantization of a tensor. Raises ValueError where it has none."""
    quantization = model.tensors[name].quantization
    if quantization is None:
        raise ValueError(f"`{name}` has no quantization")
    return quantization
