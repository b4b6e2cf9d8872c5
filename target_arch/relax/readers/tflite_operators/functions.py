"""Functions of one number. Of 8-bit values LiteRT makes a table: the function in float32, rounded half away
from zero; some it computes in integers.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE, float32, multiply_tflite, quantize_multiplier
from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.readers.tflite_operators.grids import (
    Encoded,
    clamped,
    encoded,
    ending,
    reals,
    steps,
)
from target_arch.relax.readers.tflite_operators.hard_swish import hard_swish as hard_swish_of_steps
from target_arch.relax.readers.tflite_operators.site import (
    STORED,
    Converter,
    TFLiteOperand,
    TFLiteOperator,
    require_computed,
    require_reals,
)
from target_arch.relax.site import NotConverted, constant

F = TypeVar("F", np.float32, np.float64)
Real = Callable[[np.float32], np.float32]


def _rounded(value: Any) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _by_floats(real: Real, x: TFLiteOperand, out: TFLiteOperand) -> list[int]:
    """The stored result of every stored value, not yet clamped (LiteRT `LUTPopulate`)."""
    scale, inverse = np.float32(x.scale), np.float32(1) / np.float32(out.scale)
    least, most = DTYPE_RANGE[x.dtype]
    with np.errstate(all="ignore"):
        reals = (np.float32(scale * np.float32(value - x.zero_point)) for value in range(least, most + 1))
        results = [float(np.float32(real(each) * inverse)) for each in reals]
    return [_rounded(min(max(result, -1e9), 1e9)) + out.zero_point for result in results]


def _looked_up(site: TFLiteOperator, results: list[int]) -> Any:
    table = np.clip(results, *DTYPE_RANGE[site.out.dtype]).astype(site.out.dtype)
    return site.defined(OperatorKind.LOOKUP, site.x.expr, table, curve="each")


def _narrow(site: TFLiteOperator) -> bool:
    return site.stored and site.x.dtype in STORED and site.out.dtype == site.x.dtype


def _of_floats(site: TFLiteOperator) -> Any:
    require_computed(site.x)
    return _FLOATS[site.operator](site.x.expr)


def _elu_of_floats(x: Any) -> Any:
    zero_from_one = relax.op.nn.relu(relax.op.subtract(constant(1.0, "float32"), relax.op.exp(x)))
    below = relax.op.multiply(constant(-1.0, "float32"), zero_from_one)
    return relax.op.add(below, relax.op.nn.relu(x))


def _gelu_of_floats(x: Any) -> Any:
    root, half = constant(0.5**0.5, "float32"), constant(0.5, "float32")
    error = relax.op.erf(relax.op.multiply(x, root))
    return relax.op.multiply(x, relax.op.add(half, relax.op.multiply(error, half)))


def _hard_swish_of_floats(x: Any) -> Any:
    gate = relax.op.clip(relax.op.add(x, constant(3.0, "float32")), 0.0, 6.0)
    return relax.op.divide(relax.op.multiply(x, gate), constant(6.0, "float32"))


_FLOATS: Mapping[str, Callable[[Any], Any]] = {
    "ABS": relax.op.abs,
    "ELU": _elu_of_floats,
    "EXP": relax.op.exp,
    "GELU": _gelu_of_floats,
    "HARD_SWISH": _hard_swish_of_floats,
    "LOG": relax.op.log,
    "LOGISTIC": relax.op.sigmoid,
    "RSQRT": relax.op.rsqrt,
    "TANH": relax.op.tanh,
}
"""Functions of values that are on no grid."""


def by_table(real: Callable[[TFLiteOperator], Real], site: TFLiteOperator) -> Any:
    """A function that LiteRT computes in float32, of stored values for its table: one of 8 bits for each, of
    int16 values at 513 places.
    """
    if not site.stored:
        return _of_floats(site)
    if site.x.dtype == site.out.dtype == "int16" and site.operator != "ELU":
        reach = (np.float32(site.x.scale), np.float32(site.out.scale))
        return site.defined(
            OperatorKind.LOOKUP, site.x.expr, interpolation(real(site), *reach), curve="lines"
        )
    if not _narrow(site):
        raise NotConverted(f"stored values of type {site.x.dtype}")
    return _looked_up(site, _by_floats(real(site), site.x, site.out))


def sigmoid(real: Real, site: TFLiteOperator) -> Any:
    """LOGISTIC and TANH, whose int16 values LiteRT computes with one table."""
    if not site.stored or site.x.dtype != "int16":
        return by_table(lambda _: real, site)
    tanh = site.operator == "TANH"
    mantissa, exponent = math.frexp(site.x.scale)
    left = 12 + exponent - 1
    multiplier, shift = float(3 << max(left, 0)), 0
    if mantissa != 0.5 or left not in ((0, 1) if tanh else (0,)):
        multiplier = site.x.scale * 4096.0 * 3.0
        while multiplier <= 32767.0 / 2.0 and shift <= 30:
            multiplier, shift = multiplier * 2.0, shift + 1
    return site.defined(
        OperatorKind.LOOKUP,
        site.x.expr,
        sigmoid_table(),
        curve="tanh" if tanh else "sigmoid",
        multiplier=int(multiplier),
        shift=shift,
    )


def sigmoid_table() -> Any:
    """The table of `te.sigmoid`."""
    return np.array([_sigmoid_entry(index) for index in range(256)], np.uint16)


def _sigmoid_entry(index: int) -> int:
    """65536 times the sigmoid of index / 24, less half of the error that a line to the next entry has in its
    middle; the last entry saturates.
    """

    def value(x: float) -> float:
        return 1 / (1 + math.exp(-x / 24))

    bow = (value(index) + value(index + 1)) / 2 - value(index + 0.5)
    return 65535 if index == 255 else math.floor(65536 * (value(index) - bow / 2) + 0.5)


def interpolation(real: Callable[[F], F], scale: F, out_scale: F, zero: int = 0) -> Any:
    """513 results of a function of int16 values, less half of the error in the middle between two of them,
    computed in the type of the scales (LiteRT `LUTPopulateInt16` in float32, `gen_lut` in doubles).
    """
    f = type(scale)
    least, most = f(scale * f(-32768 - zero)), f(scale * f(32767 - zero))
    step = f((most - least) / f(512))
    steps = f(f(65536) / f(f(out_scale * f(32767)) - f(out_scale * f(-32768))))
    found = []
    with np.errstate(all="ignore"):
        for index in range(512):
            here = f(least + f(index) * step)
            value, middle = f(real(here)), f(real(f(here + f(step / f(2)))))
            following = f(real(f(least + f(index + 1) * step)))
            sample = _rounded(f(value * steps))
            line = _rounded(f(f(f(following * steps) + f(sample)) / f(2)))
            found.append(sample - _rounded((line - _rounded(f(middle * steps))) / 2))
        found.append(_rounded(f(f(real(most)) * steps)))
    return np.clip(found, -32768, 32767).astype(np.int16)


def gelu(site: TFLiteOperator) -> Any:
    """GELU, exact or with the tangent that approximates it."""
    if not site.stored and site.options("GeluOptions").Approximate():
        return relax.op.nn.gelu_tanh(site.x.expr)
    return by_table(_gelu, site)


def _gelu(site: TFLiteOperator) -> Real:
    if site.options("GeluOptions").Approximate():
        root = np.float32(math.sqrt(2 / math.pi))

        def approximate(x: np.float32) -> np.float32:
            inner = root * (x + np.float32(0.044715) * x * x * x)
            return np.float32(np.float32(0.5) * x * (np.float32(1) + np.float32(math.tanh(inner))))

        return approximate
    slope = np.float32(-math.sqrt(0.5))
    return lambda x: np.float32(np.float32(0.5) * x * np.float32(math.erfc(x * slope)))


def _elu(x: np.float32) -> np.float32:
    return x if x >= 0 else np.float32(np.expm1(x))


def _logistic(x: np.float32) -> np.float32:
    return np.float32(np.float32(1) / (np.float32(1) + _exp(-x)))


def _exp(x: np.float32) -> np.float32:
    """Rounded once, as the C library's; NumPy's of a float32 is not."""
    return np.float32(np.exp(np.float64(x)))


def _end(out: TFLiteOperand, stored: int) -> np.float32:
    return np.float32(np.float32(stored - out.zero_point) * np.float32(out.scale))


def _log(site: TFLiteOperator) -> Real:
    least = _end(site.out, DTYPE_RANGE[site.out.dtype][0])
    return lambda x: np.float32(math.log(x)) if x > 0 else least


def _rsqrt(site: TFLiteOperator) -> Real:
    most = _end(site.out, DTYPE_RANGE[site.out.dtype][1])
    return lambda x: np.float32(np.float32(1) / np.sqrt(x)) if x > 0 else most


def _by_steps(site: TFLiteOperator, function: Callable[[int], int]) -> Any:
    """A function of stored 8-bit values that LiteRT computes in integers, not yet clamped."""
    least, most = DTYPE_RANGE[site.x.dtype]
    return _looked_up(site, [function(value) for value in range(least, most + 1)])


def absolute(site: TFLiteOperator) -> Any:
    """ABS: in integers, scaled where the scales differ."""
    if site.stored and site.x.dtype == "int16":
        attributes = {**encoded(float32(site.x.scale / site.out.scale)).named("0"), **ending(site.out)}
        return site.defined("magnitude", site.x.expr, swapped=0, offset0=-site.x.zero_point, **attributes)
    if not site.stored:
        return _of_floats(site)
    if site.x.dtype not in STORED:
        raise NotConverted(f"stored values of type {site.x.dtype}")
    zero, out = site.x.zero_point, site.out.zero_point
    if site.x.scale == site.out.scale:
        return _by_steps(site, lambda value: abs(value - zero) + out)
    pair = quantize_multiplier(float32(site.x.scale / site.out.scale))
    return _by_steps(site, lambda value: multiply_tflite(abs(value - zero), *pair) + out)


def hard_swish(site: TFLiteOperator) -> Any:
    """HARD_SWISH: of 8-bit values by rules of its own."""
    if not site.stored:
        return _of_floats(site)
    if not _narrow(site):
        raise NotConverted(f"stored values of type {site.x.dtype}")
    return _by_steps(site, hard_swish_of_steps(site.x, site.out))


def leaky_relu(site: TFLiteOperator) -> Any:
    """LEAKY_RELU: two multipliers."""
    slope = site.options("LeakyReluOptions").Alpha()
    if not site.stored:
        require_computed(site.x)
        return relax.op.nn.leakyrelu(site.x.expr, slope)
    alpha = float32(slope)
    steep = encoded(float32(site.x.scale / site.out.scale))
    flat = encoded(float32(float32(site.x.scale * alpha) / site.out.scale))
    return _bent(site, steep, flat, ending(site.out))


def _bent(site: TFLiteOperator, steep: Encoded, flat: Encoded, end: Mapping[str, Attribute]) -> Any:
    """Values scaled by one multiplier from zero on, by another one below."""
    if not _narrow(site):
        attributes = {**steep.named("0"), **flat.named("1"), **end}
        return site.defined("leaky", site.x.expr, swapped=0, offset0=-site.x.zero_point, **attributes)
    zero, out = site.x.zero_point, site.out.zero_point

    def scaled(value: int) -> int:
        scale = steep if value >= zero else flat
        return multiply_tflite(value - zero, scale.multiplier, scale.shift) + out

    return _by_steps(site, scaled)


def rescaled(low: float | None, high: float | None, site: TFLiteOperator) -> Any:
    """RELU and its kin, and QUANTIZE, which may bring stored values to another grid. 8-bit values of one type
    are brought to reals and back, where patterns find their kinds.
    """
    if not site.stored or _narrow(site):
        if site.operator != "QUANTIZE":
            require_computed(site.x)
        return steps(site.out, clamped(reals(site.x, site.x.expr), low, high))
    ratio = site.x.scale / site.out.scale
    scale = encoded(ratio if site.operator == "QUANTIZE" else float32(ratio))
    return _bent(site, scale, scale, ending(site.out, low, high))


def fake_quant(site: TFLiteOperator) -> Any:
    """FAKE_QUANT: reals on a grid whose zero is one of its steps."""
    options = site.options("FakeQuantOptions")
    low, high, bits = options.Min(), options.Max(), options.NumBits()
    if not low < high:
        raise NotConverted(f"its range from {low:g} to {high:g} is empty")
    if not 2 <= bits <= 16:
        raise NotConverted(f"steps of {bits} bits")
    require_reals(site)
    require_computed(site.x)
    least, most = int(options.NarrowRange()), (1 << bits) - 1
    scale = (high - low) / (most - least)
    zero = min(max(round(least - low / scale), least), most)
    bottom, step = constant((least - zero) * scale, "float32"), constant(scale, "float32")
    above = relax.op.subtract(
        relax.op.clip(site.x.expr, (least - zero) * scale, (most - zero) * scale), bottom
    )
    inverse = relax.op.divide(constant(1.0, "float32"), step)
    places = relax.op.floor(relax.op.add(relax.op.multiply(above, inverse), constant(0.5, "float32")))
    return relax.op.add(relax.op.multiply(places, step), bottom)


CONVERTERS: Mapping[str, Converter] = {
    "ABS": absolute,
    "ELU": partial(by_table, lambda _: _elu),
    "EXP": partial(by_table, lambda _: _exp),
    "FAKE_QUANT": fake_quant,
    "GELU": gelu,
    "HARD_SWISH": hard_swish,
    "LEAKY_RELU": leaky_relu,
    "LOG": partial(by_table, _log),
    "LOGISTIC": partial(sigmoid, _logistic),
    "QUANTIZE": partial(rescaled, None, None),
    "RELU": partial(rescaled, 0.0, None),
    "RELU6": partial(rescaled, 0.0, 6.0),
    "RELU_0_TO_1": partial(rescaled, 0.0, 1.0),
    "RELU_N1_TO_1": partial(rescaled, -1.0, 1.0),
    "RSQRT": partial(by_table, _rsqrt),
    "TANH": partial(sigmoid, np.tanh),
}
