"""Operators on two tensors element by element."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE, float32
from target_arch.plan.model import Attribute
from target_arch.plan.quotients import headroom, reciprocal
from target_arch.relax.patterns.elementwise import broadcast_layout
from target_arch.relax.patterns.matcher import NHWC
from target_arch.relax.readers.tflite_operators.grids import (
    activated,
    bounds,
    encoded,
    ending,
    reals,
    steps,
)
from target_arch.relax.readers.tflite_operators.site import (
    STORED,
    Converter,
    TFLiteOperand,
    TFLiteOperator,
    require_numbers,
)
from target_arch.relax.site import NotConverted, constant

_TABLES = {"ADD": "AddOptions", "SUB": "SubOptions"}
_MOST_SHIFTED = 31
"""The farthest that C shifts an int32."""


def _has_kind(site: TFLiteOperator) -> bool:
    """True for 8-bit operands that the kinds `add`, `sub` and `mul` take: backends know those."""
    a, b, out = site.tensor(0), site.tensor(1), site.out.shape
    if a.dtype not in STORED or site.operator not in ("ADD", "SUB", "MUL"):
        return False
    if a.value is not None and site.operator != "SUB":
        a, b = b, a
    if b.value is not None:
        return a.value is None and a.shape == out
    if math.prod(a.shape) == math.prod(b.shape) == math.prod(out):
        return True
    layout = broadcast_layout(a.shape, b.shape)
    return a.shape == out and layout == NHWC and a.shape[0] == 1


def _operands(site: TFLiteOperator) -> list[Any]:
    """Both operands, constants as arrays. NotConverted where both are constant."""
    given = [site.tensor(0), site.tensor(1)]
    if all(each.value is not None for each in given):
        raise NotConverted("both operands are constant")
    return [each.expr if each.value is None else each.constant for each in given]


def _offsets(site: TFLiteOperator) -> dict[str, Attribute]:
    return {"offset0": -site.tensor(0).zero_point, "offset1": -site.tensor(1).zero_point}


def _ends(site: TFLiteOperator) -> dict[str, Attribute]:
    return ending(site.out, *bounds(site.activation))


def _of_reals(site: TFLiteOperator) -> Any:
    """The operator on reals, stored values brought to them and back; and on whole numbers."""
    a, b = site.tensor(0), site.tensor(1)
    value = _FUNCTIONS[site.operator](reals(a, a.expr), reals(b, b.expr))
    return steps(site.out, activated(site, value))


def _squared_difference(a: Any, b: Any) -> Any:
    return relax.op.power(relax.op.subtract(a, b), relax.const(2, "float32"))


_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "ADD": relax.op.add,
    "DIV": relax.op.divide,
    "EQUAL": relax.op.equal,
    "GREATER": relax.op.greater,
    "GREATER_EQUAL": relax.op.greater_equal,
    "LESS": relax.op.less,
    "LESS_EQUAL": relax.op.less_equal,
    "MUL": relax.op.multiply,
    "NOT_EQUAL": relax.op.not_equal,
    "POW": relax.op.power,
    "SQUARED_DIFFERENCE": _squared_difference,
    "SUB": relax.op.subtract,
}


def _made(site: TFLiteOperator, name: str, *tables: Any, **attributes: Attribute) -> Any:
    first, second = _operands(site)
    if isinstance(first, np.ndarray):
        return site.defined(name, second, first, *tables, swapped=1, **attributes)
    return site.defined(name, first, second, *tables, swapped=0, **attributes)


def scaled_sum(site: TFLiteOperator) -> Any:
    """ADD, SUB and SQUARED_DIFFERENCE."""
    if site.operator == "SQUARED_DIFFERENCE" and site.x.dtype == "int32":
        apart = relax.op.subtract(site.tensor(0).expr, site.tensor(1).expr)
        return relax.op.multiply(apart, apart)
    if not site.stored or site.x.dtype in ("int32", "int64") or _has_kind(site):
        return _of_reals(site)
    combine = site.operator.lower()
    scales = [site.tensor(index).scale for index in (0, 1)]
    out, wide = site.out.scale, site.x.dtype == "int16"
    ends = _ends(site)
    if wide and site.operator in ("ADD", "SUB") and site.options(_TABLES[site.operator]).PotScaleInt16():
        shifts = _powers_of_two(scales[0], scales[1], out)
        if shifts is not None:
            right = {"right0": -shifts[0], "right1": -shifts[1]}
            return _made(site, "shifted_sum", combine=combine, **right, **_offsets(site), **ends)
    twice = 2.0 * max(scales)
    left = 15 if wide else 20
    if site.operator == "SQUARED_DIFFERENCE":
        # Of int16 values LiteRT has none: as TFLite Micro.
        left = 0 if wide else 7
    total = twice / ((1 << left) * out)
    if site.operator == "SQUARED_DIFFERENCE":
        total = twice * twice / ((1 << (2 * left)) * out)
    return _made(
        site,
        "scaled_sum",
        combine=combine,
        left_shift=left,
        **encoded(scales[0] / twice).named("0"),
        **encoded(scales[1] / twice).named("1"),
        **encoded(total).named("out"),
        **_offsets(site),
        **ends,
    )


def _powers_of_two(first: float, second: float, out: float) -> tuple[int, int] | None:
    """The exponents of both scales over the output's, where all are powers of two; LiteRT then shifts."""
    mantissas, exponents = zip(*(math.frexp(scale) for scale in (first, second, out)), strict=True)
    if set(mantissas) != {0.5}:
        return None
    shifts = (exponents[0] - exponents[2], exponents[1] - exponents[2])
    return shifts if max(shifts) == 0 else None


def scaled_product(site: TFLiteOperator) -> Any:
    """MUL."""
    if not site.stored or site.x.dtype in ("int32", "int64") or _has_kind(site):
        return _of_reals(site)
    first, second = (site.tensor(index).scale for index in (0, 1))
    scale = encoded(float32(float32(first * second) / site.out.scale))
    return _made(site, "scaled_product", **scale.named("out"), **_offsets(site), **_ends(site))


def quotient(site: TFLiteOperator) -> Any:
    """DIV, of stored values those of eight bits. NotConverted where LiteRT shifts farther than C defines, and
    where a zero point is no value of its type: tables have a row for every distance from it.
    """
    require_numbers(site.x)
    if not site.stored:
        return _of_reals(site)
    if site.x.dtype not in STORED:
        raise NotConverted(f"stored values of type {site.x.dtype}")
    a, b = site.tensor(0), site.tensor(1)
    for operand in (a, b):
        low, high = DTYPE_RANGE[operand.dtype]
        if not low <= operand.zero_point <= high:
            raise NotConverted(f"{operand.dtype} does not hold the zero point {operand.zero_point}")
    scale = encoded(float32(a.scale / float32(b.scale * site.out.scale)))
    dividends, divisors = _centred(a), {abs(value) for value in _centred(b)}
    if 0 in divisors and b.value is not None:
        raise NotConverted("it divides by zero")
    most = _largest(a)
    headrooms = {value: headroom(value) for value in range(-most, most + 1)}
    inverses = [(0, 0), *map(reciprocal, range(1, _largest(b) + 1))]
    reached = [headrooms[sign * value] for value in dividends for sign in (-1, 1)]
    bits = [inverses[value][1] for value in divisors]
    if max(reached) + max(bits) - scale.shift > _MOST_SHIFTED or min(reached) + min(bits) < scale.shift:
        raise NotConverted("its scales make LiteRT shift by a number of bits that C does not define")
    tables = (
        np.array([value << bits for value, bits in headrooms.items()], np.int32),
        np.array(list(headrooms.values()), np.int8),
        np.array([multiplier for multiplier, _ in inverses], np.int32),
        np.array([bits for _, bits in inverses], np.int8),
    )
    attributes = {**scale.named("out"), **_offsets(site), **_ends(site)}
    return _made(site, "quotient", *tables, **attributes)


def _centred(operand: TFLiteOperand) -> list[int]:
    """The values that an operand has, less its zero point: of an activation all of its type."""
    least, most = DTYPE_RANGE[operand.dtype]
    values = range(least, most + 1) if operand.value is None else sorted(set(operand.value.ravel().tolist()))
    return [value - operand.zero_point for value in values]


def _largest(operand: TFLiteOperand) -> int:
    return max(abs(end - operand.zero_point) for end in DTYPE_RANGE[operand.dtype])


def extremum(site: TFLiteOperator) -> Any:
    """MAXIMUM and MINIMUM: of stored values as of reals."""
    a, b = site.tensor(0), site.tensor(1)
    if (a.quantization, b.quantization) != (site.out.quantization, site.out.quantization):
        raise NotConverted("its tensors have different scales")
    return _made(site, "chosen", combine=site.operator.lower())


def comparison(site: TFLiteOperator) -> Any:
    """Comparisons of stored values: both are scaled by their scale, 8 bits finer. The greater of two int16
    values is found as they are stored, whatever their scales, and so are all comparisons of longer ones.
    """
    if not site.stored:
        return _of_reals(site)
    scaled = (*STORED, "int16") if site.operator in ("EQUAL", "NOT_EQUAL") else STORED
    if site.x.dtype not in scaled:
        return _made(site, "chosen", combine=site.operator.lower())
    scales = [encoded(site.tensor(index).scale).named(str(index)) for index in (0, 1)]
    return _made(
        site,
        "scaled_comparison",
        combine=site.operator.lower(),
        left_shift=8,
        **scales[0],
        **scales[1],
        **_offsets(site),
    )


def prelu(site: TFLiteOperator) -> Any:
    """PRELU."""
    x, alpha = site.tensor(0), site.tensor(1)
    if not site.stored:
        return _prelu_of_reals(x, alpha)
    if x.dtype not in (*STORED, "int16"):
        raise NotConverted(f"stored values of type {x.dtype}")
    if alpha.dtype not in STORED:
        raise NotConverted(f"slopes of type {alpha.dtype}, whose bytes LiteRT reads as int8")
    steep = encoded(float32(x.scale / site.out.scale))
    flat = encoded(float32(float32(x.scale * alpha.scale) / site.out.scale))
    return _made(site, "leaky", **steep.named("0"), **flat.named("1"), **_offsets(site), **ending(site.out))


def _prelu_of_reals(x: TFLiteOperand, alpha: TFLiteOperand) -> Any:
    """A slope for each channel stays one; others are there once for each element."""
    if alpha.shape and x.shape and math.prod(alpha.shape) == alpha.shape[-1] == x.shape[-1]:
        channels = (alpha.shape[-1],)
        known = alpha.value
        slopes = (
            relax.op.reshape(alpha.expr, channels) if known is None else constant(known.reshape(channels))
        )
        return relax.op.nn.prelu(x.expr, slopes, axis=len(x.shape) - 1)
    count = (math.prod(x.shape),)
    slopes = relax.op.reshape(relax.op.broadcast_to(alpha.expr, x.shape), count)
    flat = relax.op.nn.prelu(relax.op.reshape(x.expr, count), slopes, axis=0)
    return relax.op.reshape(flat, x.shape)


def power(site: TFLiteOperator) -> Any:
    """POW of floats."""
    if site.x.dtype != "float32":
        raise NotConverted(f"values of type {site.x.dtype}")
    return _of_reals(site)


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("ADD", "SUB", "SQUARED_DIFFERENCE"), scaled_sum),
    "MUL": scaled_product,
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), extremum),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"), comparison),
    "POW": power,
    "PRELU": prelu,
    "DIV": quotient,
}
