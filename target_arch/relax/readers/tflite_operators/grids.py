"""Multipliers, shifts and bounds from the grids of an operator's tensors, rounded where LiteRT rounds."""

import math
from typing import Any

import numpy as np
import tflite
from attrs import frozen
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE, quantize_multiplier
from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.patterns.matcher import activation_range
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted

_BOUNDS: dict[int, tuple[float | None, float | None]] = {
    tflite.ActivationFunctionType.NONE: (None, None),
    tflite.ActivationFunctionType.RELU: (0.0, None),
    tflite.ActivationFunctionType.RELU6: (0.0, 6.0),
    tflite.ActivationFunctionType.RELU_N1_TO_1: (-1.0, 1.0),
}


ACTIVATIONS = {(None, None): "none", (0.0, None): "relu", (0.0, 6.0): "relu6"}
"""The clamps that are an attribute of sums of products of floats, by their bounds."""


@frozen
class Encoded:
    """A real multiplier in fixed point."""

    multiplier: int
    shift: int

    def named(self, suffix: str) -> dict[str, Attribute]:
        """As attributes of a definition."""
        return {f"multiplier_{suffix}": self.multiplier, f"shift_{suffix}": self.shift}


def encoded(real: float) -> Encoded:
    """LiteRT's QuantizeMultiplier."""
    return Encoded(*quantize_multiplier(real))


def bounds(activation: int) -> tuple[float | None, float | None]:
    """Least and greatest real after a fused activation. NotConverted for another than the clamps."""
    if activation not in _BOUNDS:
        raise NotConverted("its fused activation")
    return _BOUNDS[activation]


def ending(out: TFLiteOperand, low: float | None = None, high: float | None = None) -> dict[str, Attribute]:
    """Attributes `offset`, `low` and `high` of a stored result that is clamped to two reals."""
    if out.quantization is None:
        raise NotConverted(f"tensor `{out.name}` has no scale")
    if out.dtype not in DTYPE_RANGE:
        raise NotConverted(f"results of type {out.dtype}")
    least, most = activation_range(out.quantization, out.dtype, low, high, Arithmetic.TFLITE)
    return {"offset": out.zero_point, "low": least, "high": most}


def reals(operand: TFLiteOperand, expr: Any) -> Any:
    """The reals of stored values; floats as they are."""
    grid = operand.quantization
    if grid is None or operand.dtype == "float32":
        return expr
    scale = grid.scale[0] if len(grid.scale) == 1 else np.asarray(grid.scale, np.float32)
    zero = relax.const(grid.zero_point[0], "int32")
    return relax.op.dequantize(expr, relax.const(scale, "float32"), zero, grid.axis or 0)


def clamped(value: Any, low: float | None, high: float | None) -> Any:
    """Return reals between two bounds."""
    if low is None and high is None:
        return value
    if (low, high) == (0.0, None):
        return relax.op.nn.relu(value)
    return relax.op.clip(value, -math.inf if low is None else low, math.inf if high is None else high)


def activated(site: TFLiteOperator, value: Any) -> Any:
    """Return reals behind the fused activation of an operator. Raises NotConverted, see `bounds`."""
    return clamped(value, *bounds(site.activation))


def activated_steps(site: TFLiteOperator, value: Any) -> Any:
    """Return a result, of stored values or of reals, behind the fused activation of an operator."""
    low, high = bounds(site.activation)
    if not site.stored or (low, high) == (None, None):
        return clamped(value, low, high)
    ends = ending(site.out, low, high)
    return relax.op.clip(value, ends["low"], ends["high"])


def steps(out: TFLiteOperand, value: Any) -> Any:
    """Return reals as a tensor stores them: as they are, where it stores floats."""
    if out.quantization is None or out.dtype == "float32":
        return value
    zero = relax.const(out.zero_point, "int32")
    return relax.op.quantize(value, relax.const(out.scale, "float32"), zero, 0, out.dtype)
