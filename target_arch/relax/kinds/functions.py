"""Functions of one number, element by element; those of stored 8-bit values are looked up in a table.

The table is made here, value by value, by the rule of the arithmetic. To add one, see "Add an operator" in
`docs/operators.md`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import tirx
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.arithmetic import float32, quantize_multiplier
from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.lookup import Function, by_floats
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns.function import FIRST, Expression, float_function, stored_function
from target_arch.relax.patterns.matcher import Match, Matcher

INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1


def _hard_swish_of(x: Any) -> tuple[Any, Mapping[str, Any]]:
    """TFLite's frontend divides last, ONNX's divides the clip."""
    shifted = is_op("relax.add")(x, wildcard())
    clipped = is_op("relax.clip")(shifted, wildcard(), wildcard())
    share = is_op("relax.divide")(clipped, wildcard())
    last = is_op("relax.divide")(is_op("relax.multiply")(x, clipped), wildcard())
    calls = {FIRST: shifted, "clipped": clipped, "share": share, "last": last}
    return is_op("relax.multiply")(x, share) | last, calls


def _is_hard_swish(match: Match) -> bool:
    shifted, clipped = match.required(FIRST), match.required("clipped")
    share = match.call("share")
    divided = match.required("last") if share is None else share
    constants = [match.constant(call.args[1]) for call in (shifted, divided)]
    bounds = [float(bound.value) for bound in clipped.args[1:]]
    values = [None if one is None or one.values.size != 1 else float(one.real.item()) for one in constants]
    return (*values, *bounds) == (3.0, 6.0, 0.0, 6.0)


def _hard_swish(x: Any) -> Any:
    three, six, zero = (tirx.const(value, "float32") for value in (3.0, 6.0, 0.0))
    return x * tirx.min(tirx.max(x + three, zero), six) / six


def _onnx_hard_swish(x: np.float32) -> np.float32:
    """x * HardSigmoid(x), as the ONNX operator is defined."""
    share = np.float32(1 / 6) * x + np.float32(0.5)
    return np.float32(x * min(max(share, np.float32(0)), np.float32(1)))


def _tflite_hard_swish(value: int, x: Quantization, out: Quantization) -> int:
    """LiteRT `reference/hard_swish.h` with `HardSwishPrepare`, in 16-bit fixed point.

    ValueError where the output's scale is less than 1/128 of the input's, which LiteRT refuses too.
    """
    fine = float32(float32(1 / 128) * x.scale[0])
    multiplier, exponent = _multiplier(float32(fine / out.scale[0]))
    share_multiplier, share_exponent = _multiplier(float32(fine / float32(3 / 32768)))
    if exponent > 0:
        raise ValueError("the output's scale is less than 1/128 of the input's")
    wide = (value - x.zero_point[0]) << 7
    share = _saturated(wide << max(share_exponent - 1, 0))
    share = _high_product(share, share_multiplier, rounds=True)
    share = _saturated(share << 1) if share_exponent > 0 else _divided(share, -share_exponent)
    product = _high_product((share + 2**15) >> 1, _high_product(wide, multiplier, rounds=True), rounds=False)
    return _divided(product, -exponent) + out.zero_point[0]


def _multiplier(real: float) -> tuple[int, int]:
    """A multiplier of 16 bits, and its exponent."""
    wide, exponent = quantize_multiplier(real)
    return min((wide + 2**15) >> 16, INT16_MAX), exponent


def _saturated(value: int) -> int:
    return min(max(value, INT16_MIN), INT16_MAX)


def _high_product(first: int, second: int, *, rounds: bool) -> int:
    """gemmlowp's (rounding) doubling high product of two 16-bit values: division goes towards zero."""
    product = first * second
    nudge = 0 if not rounds else 2**14 if product >= 0 else 1 - 2**14
    doubled = abs(product + nudge) >> 15
    return _saturated(doubled if product + nudge >= 0 else -doubled)


def _divided(value: int, exponent: int) -> int:
    """value / 2**exponent, rounded half away from zero."""
    return (value + (1 << exponent >> 1) - (value < 0)) >> exponent if exponent else value


_HARD_SWISH = Expression(of=_hard_swish_of, roots=("multiply", "divide"), fits=_is_hard_swish)


def stored_hard_swish() -> Matcher:
    """`dequantize → x * clip(x + 3, 0, 6) / 6 → quantize` of 8-bit values."""
    return stored_function(OperatorKind.HARD_SWISH, _HARD_SWISH)


def float_hard_swish() -> Matcher:
    """`x * clip(x + 3, 0, 6) / 6` on floats."""
    return float_function(OperatorKind.HARD_SWISH, _HARD_SWISH)


FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.HARD_SWISH: Form(
        patterns=(stored_hard_swish, float_hard_swish),
        definition=Function(
            real=_hard_swish,
            stored={Arithmetic.TFLITE: _tflite_hard_swish, Arithmetic.ONNX: by_floats(_onnx_hard_swish)},
        ).definition,
        paired=None,
    ),
}
