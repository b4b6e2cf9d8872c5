"""Relax's functions of elements at the same place, computed here on float32.

Each step is computed in double precision and rounded once, so sums, products, quotients and roots are those
of IEEE float32, and other functions the nearest float32 to the true value.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Reals = np.ndarray[Any, np.dtype[Any]]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Reals) -> Reals:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Reals) -> Reals:
    result: Reals = x * (1 + _erf(x / math.sqrt(2))) / 2
    return result


def _gelu_tanh(x: Reals) -> Reals:
    result: Reals = x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    return result


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": np.add,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "divide": np.divide,
    "equal": np.equal,
    "erf": _erf,
    "exp": np.exp,
    "floor": np.floor,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "log": np.log,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "negative": np.negative,
    "nn.gelu": _gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.prelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "nn.relu": lambda x: np.maximum(x, 0),
    "nn.silu": lambda x: x * _sigmoid(x),
    "not_equal": np.not_equal,
    "power": np.power,
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "subtract": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
    "where": np.where,
}
"""Functions of their operands alone, by the name of the Relax operator."""


def _clip(call: Any) -> Callable[[Reals], Reals]:
    low, high = (np.float32(bound.value) for bound in call.args[1:])
    return lambda x: np.minimum(np.maximum(x, low), high)


def _leaky_relu(call: Any) -> Callable[[Reals], Reals]:
    slope = float(np.float32(call.attrs.alpha))
    return lambda x: np.where(x < 0, x * slope, x)


def _softplus(call: Any) -> Callable[[Reals], Reals]:
    beta, threshold = float(call.attrs.beta), float(call.attrs.threshold)
    return lambda x: np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def _astype(call: Any) -> Callable[[Reals], Reals]:
    dtype = str(call.attrs.dtype)
    return lambda x: x.astype(dtype)


_WITH_ATTRIBUTES: Mapping[str, Callable[[Any], Callable[[Reals], Reals]]] = {
    "astype": _astype,
    "clip": _clip,
    "nn.leakyrelu": _leaky_relu,
    "nn.softplus": _softplus,
}
_TYPES = ("float32", "bool")


def pointwise(name: str, call: Any, dtype: str) -> Callable[..., Reals] | None:
    """The function that a call of a Relax operator applies to elements at the same place, with results of
    that type; None for every other operator, and for types other than float32 and bool.
    """
    function = _WITH_ATTRIBUTES[name](call) if name in _WITH_ATTRIBUTES else FUNCTIONS.get(name)
    if function is None or dtype not in _TYPES:
        return None

    def computed(*operands: Reals) -> Reals:
        with np.errstate(all="ignore"):
            wide = (each.astype(np.float64) if each.dtype.kind == "f" else each for each in operands)
            return np.asarray(function(*wide)).astype(dtype)

    return computed
