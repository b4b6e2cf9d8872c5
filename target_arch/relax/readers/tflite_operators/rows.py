"""Operators on the rows of a tensor."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax

from target_arch.plan.arithmetic import quantize_multiplier
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.readers.tflite_operators.functions import interpolation
from target_arch.relax.readers.tflite_operators.grids import activated, reals, steps
from target_arch.relax.readers.tflite_operators.site import (
    STORED,
    Converter,
    TFLiteOperator,
    require_computed,
    require_rows,
)
from target_arch.relax.site import NotConverted

_MOST_OF_INT32 = (2**31 - 1) // 255**2
"""The longest row whose squares LiteRT can sum."""


def softmax(site: TFLiteOperator) -> Any:
    """SOFTMAX, of floats and 8-bit values in floats."""
    beta = float(site.options("SoftmaxOptions").Beta())
    if not 0 < beta < math.inf:
        raise NotConverted(f"a `beta` of {beta:g}")
    if site.stored and site.x.dtype == "int16":
        return _softmax_of_int16(site, beta)
    require_computed(site.x)
    scaled = reals(site.x, site.x.expr)
    if beta != 1:
        scaled = relax.op.multiply(scaled, relax.const(beta, "float32"))
    return steps(site.out, relax.op.nn.softmax(scaled, -1))


def _softmax_of_int16(site: TFLiteOperator, beta: float) -> Any:
    require_rows(site)
    unit = np.float64(2.0 / 65535)
    exponentials = interpolation(np.exp, np.float64(10.0 / 65535), unit, 32767)
    reciprocals = interpolation(_reciprocal, np.float64(1.0 / 65535), unit, -32768)
    multiplier, shift = quantize_multiplier(site.x.scale * beta / (10.0 / 65535.0))
    return site.defined(
        OperatorKind.SOFTMAX, site.x.expr, exponentials, reciprocals, multiplier=multiplier, shift=shift
    )


def _reciprocal(x: np.float64) -> np.float64:
    return 1 / (1 + x)


def unit(site: TFLiteOperator) -> Any:
    """L2_NORMALIZATION; the result of 8-bit values LiteRT asks for in steps of 1/128."""
    if not site.stored:
        return _unit_of_floats(site)
    require_rows(site)
    x, out = site.x, site.out
    middle = 128 if out.dtype == "uint8" else 0
    if x.dtype not in STORED or (out.dtype, out.scale, out.zero_point) != (x.dtype, 1 / 128, middle):
        raise NotConverted(f"its output is not {x.dtype} in steps of 1/128")
    if site.options("L2NormOptions").FusedActivationFunction():
        raise NotConverted("a fused activation")
    length = math.prod(x.shape[-1:])
    if length > _MOST_OF_INT32:
        raise NotConverted(f"rows of {length:,} elements, more than {_MOST_OF_INT32:,}")
    return site.defined("unit_rows", x.expr, offset0=-x.zero_point, offset=out.zero_point)


def _unit_of_floats(site: TFLiteOperator) -> Any:
    require_computed(site.x)
    squares = relax.op.sum(relax.op.square(site.x.expr), axis=len(site.x.shape) - 1, keepdims=True)
    length = relax.op.sqrt(relax.op.add(squares, relax.const(1e-12, "float32")))
    return activated(site, relax.op.divide(site.x.expr, length))


CONVERTERS: Mapping[str, Converter] = {"L2_NORMALIZATION": unit, "SOFTMAX": softmax}
