"""The hyperbolic tangent and the logistic function as onnxruntime computes them: every bit, where its
processor multiplies and adds in one step.

A digit counts where the results are brought to eight bits: a value between two integers goes the other way.
Source: the coefficients of `onnxruntime/core/mlas/lib/{tanh,logistic}.cpp`.
"""

from collections.abc import Sequence
from typing import Any

from tvm import tirx

from target_arch.relax.te.fixed_point import bound

_FLOAT = "float32"
_TANH_END = 9.0
_TANH_NUMERATOR = (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
    1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03,
)  # fmt: skip
_TANH_DENOMINATOR = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
_LOGISTIC_END = 18.0
_LOGISTIC_NUMERATOR = (
    4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03,
    2.48287947061529e-01,
)  # fmt: skip
_LOGISTIC_DENOMINATOR = (
    6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03,
    1.16817656904453e-01, 9.93151921023180e-01,
)  # fmt: skip


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


def tanh(value: Any) -> Any:
    """The hyperbolic tangent."""
    return _quotient(value, _TANH_END, _TANH_NUMERATOR, _TANH_DENOMINATOR)


def logistic(value: Any) -> Any:
    """1 / (1 + exp(-value))."""
    found = _quotient(value, _LOGISTIC_END, _LOGISTIC_NUMERATOR, _LOGISTIC_DENOMINATOR)
    return tirx.max(tirx.min(found + _number(0.5), _number(1.0)), _number(0.0))


def _quotient(value: Any, end: float, numerator: Sequence[float], denominator: Sequence[float]) -> Any:
    """x P(x**2) / Q(x**2) of the value within `end` on both sides."""

    def of(x: Any) -> Any:
        return bound(
            x * x, lambda square: _polynomial(square, numerator) * x / _polynomial(square, denominator)
        )

    return bound(tirx.max(tirx.min(value, _number(end)), _number(-end)), of)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    found = _number(coefficients[0])
    for each in coefficients[1:]:
        found = tirx.call_pure_extern(_FLOAT, "fmaf", found, x, _number(each))
    return found
