"""The two requantizers and the parameters they get, against independent statements of the same rules."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_arch.plan import arithmetic
from target_arch.plan.model import Model, Operator, Quantization, Tensor

INT32 = st.integers(-(2**31), 2**31 - 1)
MULTIPLIER = st.integers(2**30, 2**31 - 1)


def gemmlowp_high_mul(a: int, b: int) -> int:
    """SaturatingRoundingDoublingHighMul as gemmlowp writes it: a nudge by sign, division towards zero."""
    product = a * b
    nudge = 2**30 if product >= 0 else 1 - 2**30
    total = product + nudge
    return abs(total) // 2**31 * (1 if total >= 0 else -1)


def gemmlowp_divide_by_pot(value: int, exponent: int) -> int:
    """RoundingDivideByPOT as gemmlowp writes it: mask, threshold, arithmetic shift."""
    mask = (1 << exponent) - 1
    threshold = (mask >> 1) + (value < 0)
    return (value >> exponent) + ((value & mask) > threshold)


@given(INT32, MULTIPLIER, st.integers(-31, 0))
def test_tflite_requantizer_is_gemmlowps(value: int, multiplier: int, shift: int) -> None:
    expected = gemmlowp_divide_by_pot(gemmlowp_high_mul(value, multiplier), -shift)
    assert arithmetic.multiply_tflite(value, multiplier, shift) == expected


@given(st.integers(-(2**20), 2**20), MULTIPLIER, st.integers(1, 10))
def test_tflite_requantizer_shifts_left_before_it_multiplies(value: int, multiplier: int, shift: int) -> None:
    expected = gemmlowp_high_mul(value << shift, multiplier)
    assert arithmetic.multiply_tflite(value, multiplier, shift) == expected


def test_tflite_left_shift_saturates() -> None:
    assert arithmetic.multiply_tflite(2**30, 2**30, 5) == gemmlowp_high_mul(2**31 - 1, 2**30)


@given(INT32, st.floats(2.0**-70, 2.0**40, width=32))
def test_onnx_requantizer_rounds_the_exact_product_once(value: int, scale: float) -> None:
    multiplier, shift = arithmetic.mantissa_and_shift(scale)
    assert 0 <= shift <= 62
    assert 0 <= multiplier < 2**31
    exact = round(Fraction(value) * Fraction(scale))
    result = arithmetic.multiply_onnx(value, multiplier, shift)
    assert min(max(result, -(2**15)), 2**15) == min(max(exact, -(2**15)), 2**15)


@given(st.floats(2.0**-31, 2.0**20))
def test_multiplier_represents_the_scale_to_31_bits(scale: float) -> None:
    multiplier, shift = arithmetic.quantize_multiplier(scale)
    assert 2**30 <= multiplier < 2**31
    assert math.isclose(multiplier * 2.0 ** (shift - 31), scale, rel_tol=2.0**-31)


@pytest.mark.parametrize(
    ("scale", "encoded"), [(0.0, (0, 0)), (2.0**-40, (0, 0)), (1 - 2.0**-40, (2**30, 1))]
)
def test_multiplier_of_limits(scale: float, encoded: tuple[int, int]) -> None:
    assert arithmetic.quantize_multiplier(scale) == encoded


def model(kind: str, rule: str, scales: tuple[float, ...] = (0.5, 0.25, 0.125)) -> Model:
    """One operator with two quantized operands, scales of x, second operand and output."""
    names = ("x", "second", "out")
    tensors = {
        name: Tensor(
            name=name,
            shape=(2,),
            dtype="int8",
            quantization=Quantization(scale=(scale,), zero_point=(0 if name == "second" else 3,)),
        )
        for name, scale in zip(names, scales, strict=True)
    }
    constant = kind in ("conv2d", "dense")
    operator = Operator(
        id="op",
        kind=kind,
        arithmetic=rule,
        inputs=("x",) if constant else ("x", "second"),
        constants=("second",) if constant else (),
        output="out",
    )
    return Model(
        name="m", source="made", inputs=("x",), outputs=("out",), tensors=tensors, operators=(operator,)
    )


def test_scales_are_multiplied_in_double_precision() -> None:
    """As LiteRT's reference kernels do: in float32 another multiplier would decide ties of rounding."""
    scales = tuple(arithmetic.float32(scale) for scale in (0.05, 0.02, 0.05))
    for kind in ("dense", "conv2d"):
        made = model(kind, "tflite", scales)
        wanted = arithmetic.quantize_multiplier(scales[0] * scales[1] / scales[2])[0]
        assert arithmetic.requantization(made.operators[0], made).multipliers[0] == wanted


def test_requantization_of_a_convolution() -> None:
    made = model("conv2d", "onnx")
    assert arithmetic.requantization(made.operators[0], made) == arithmetic.Requantization(
        multipliers=(2**23,),
        shifts=(23,),
        rounding="onnx",
        input_offset=-3,
        output_offset=3,
        activation_min=-128,
        activation_max=127,
    )


def test_tensor_without_quantization_is_named() -> None:
    made = model("conv2d", "tflite")
    bare = {**made.tensors, "out": Tensor(name="out", shape=(2,), dtype="int8")}
    broken = Model(
        name="m", source="made", inputs=("x",), outputs=("out",), tensors=bare, operators=made.operators
    )
    with pytest.raises(ValueError, match="`out` has no quantization"):
        arithmetic.requantization(broken.operators[0], broken)


@given(st.integers(-128, 127), st.integers(-128, 127), st.sampled_from(["add", "sub"]))
def test_addition_is_near_the_real_sum(first: int, second: int, kind: str) -> None:
    sign = 1 if kind == "add" else -1
    real = (first - 3) * 0.3 + sign * second * 0.2
    for rule in ("tflite", "onnx"):
        made = model(kind, rule, tuple(arithmetic.float32(value) for value in (0.3, 0.2, 0.45)))
        result = arithmetic.addition(made.operators[0], made).apply(first, second)
        assert abs(result - min(max(real / arithmetic.float32(0.45) + 3, -128), 127)) <= 0.50001


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_onnx_addition_rounds_once_half_to_even(first: int, second: int) -> None:
    made = model("add", "onnx", (0.75, 0.25, 0.5))
    result = arithmetic.addition(made.operators[0], made).apply(first, second)
    assert result == min(max(round(Fraction(3 * (first - 3) + second, 2)) + 3, -128), 127)
