"""Whole numbers and truth values that follow from constants: shapes, and those that count a loop's trips."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from target_arch.relax.readers.tflite_operators.site import TFLiteOperator

Array = np.ndarray[Any, Any]

_WITH_ACTIVATION: Mapping[str, tuple[str, Callable[..., Array]]] = {
    "ADD": ("AddOptions", np.add),
    "SUB": ("SubOptions", np.subtract),
    "MUL": ("MulOptions", np.multiply),
}
_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_NOT": np.logical_not,
    "ABS": np.abs,
    "NEG": np.negative,
    "SELECT_V2": np.where,
    "TRANSPOSE": np.transpose,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
}
_MOVED = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE")
_COUNTING = ("int32", "int64", "bool")


def folded(site: TFLiteOperator) -> Array | None:
    """The value of an operator's only output; None where it is not known, or its kind is not folded here."""
    operands = [each for each in site.inputs if each is not None]
    if any(each.value is None or each.dtype not in _COUNTING or each.quantization for each in operands):
        return None
    function = _function(site)
    if function is None:
        return None
    with np.errstate(over="ignore"):  # they wrap around, as those of the runtime do
        value = function(*(each.constant for each in operands)).astype(site.out.dtype)
    return value.reshape(site.out.shape) if value.size == math.prod(site.out.shape) else None


def _function(site: TFLiteOperator) -> Callable[..., Array] | None:
    if site.operator in _MOVED or site.operator == "CAST":
        return lambda x, *_: x
    if site.operator == "PACK":
        return _packed if all(each is not None and not each.shape for each in site.inputs) else None
    if site.operator == "CONCATENATION":
        options = site.options("ConcatenationOptions")
        return None if options.FusedActivationFunction() else _joined(options.Axis())
    if site.operator in _WITH_ACTIVATION:
        table, function = _WITH_ACTIVATION[site.operator]
        return None if site.options(table).FusedActivationFunction() else function
    return _FUNCTIONS.get(site.operator)


def _joined(axis: int) -> Callable[..., Array]:
    return lambda *parts: np.concatenate(parts, axis)


def _packed(*values: Array) -> Array:
    return np.stack(values)
