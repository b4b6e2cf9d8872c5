"""Functions of float32 numbers in TE, by name: what TVM's legalization of the Relax operators computes."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from tvm import te, tirx

from target_arch.plan.model import Model, Operator
from target_arch.relax.te.definition import (
    Definition,
    elements,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)


def function(operator: Operator, model: Model) -> Definition:
    """The function of every element. ValueError for one that is not in the table."""
    x, attributes = tensor_of(model, operator, 0), operator.attributes
    name, parameters = str(attributes["function"]), attributes.get("parameters", ())
    if name not in FUNCTIONS:
        raise ValueError(f"`{operator.id}`: there is no function `{name}`")
    given = [_real(float(value)) for value in parameters]  # type: ignore[union-attr]
    data = placeholder(x, (elements(x),), "x")
    out = stage("out", (("i", elements(x)),), lambda i: FUNCTIONS[name](data[i], *given))
    return Definition(arguments=(data, out), schedule=one_by_one((), ()))


def _real(value: float) -> Any:
    return tirx.const(value, "float32")


def _gelu(x: Any) -> Any:
    erf = tirx.erf(x * _real(0.5**0.5))
    return x * (_real(0.5) + erf * _real(0.5))


def _gelu_tanh(x: Any) -> Any:
    inner = _real(math.sqrt(2.0 / math.pi)) * x * (_real(1.0) + _real(0.044715) * x * x)
    return _real(0.5) * x * (_real(1.0) + tirx.tanh(inner))


def _selu(x: Any) -> Any:
    low = _real(1.6732632423543772) * (tirx.exp(x) - _real(1.0))
    return _real(1.0507009873554805) * (te.max(x, _real(0.0)) + te.min(_real(0.0), low))


def _softplus(x: Any, beta: Any, threshold: Any) -> Any:
    soft = (_real(1.0) / beta) * tirx.log(_real(1.0) + tirx.exp(beta * x))
    return tirx.Select(beta * x > threshold, x, soft)


def _sign(x: Any) -> Any:
    zero = _real(0.0)
    return tirx.Select(x > zero, _real(1.0), tirx.Select(x < zero, _real(-1.0), zero))


def _hard_swish(x: Any) -> Any:
    three, six, zero = _real(3.0), _real(6.0), _real(0.0)
    return x * te.min(te.max(x + three, zero), six) / six


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": tirx.abs,
    "acos": tirx.acos,
    "acosh": tirx.acosh,
    "asin": tirx.asin,
    "asinh": tirx.asinh,
    "atan": tirx.atan,
    "atanh": tirx.atanh,
    "ceil": tirx.ceil,
    "clip": lambda x, low, high: te.max(te.min(x, high), low),
    "cos": tirx.cos,
    "cosh": tirx.cosh,
    "erf": tirx.erf,
    "exp": tirx.exp,
    "floor": tirx.floor,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "hard_swish": _hard_swish,
    "leaky_relu": lambda x, slope: tirx.Select(x > _real(0.0), x, x * slope),
    "log": tirx.log,
    "negative": lambda x: x * _real(-1.0),
    "round": tirx.nearbyint,
    "rsqrt": tirx.rsqrt,
    "selu": _selu,
    "sigmoid": tirx.sigmoid,
    "sign": _sign,
    "silu": lambda x: x * tirx.sigmoid(x),
    "sin": tirx.sin,
    "sinh": tirx.sinh,
    "softplus": _softplus,
    "sqrt": tirx.sqrt,
    "square": lambda x: x * x,
    "tan": tirx.tan,
    "tanh": tirx.tanh,
    "trunc": tirx.trunc,
}
