"""Weights in the type of their file: float32 values that all are values of float16 take two bytes each.

Readers widen what a file has in float16, which is exact. Here it becomes narrow again, whatever format it
came from. The definition of a sum of products widens each value where it multiplies it: the same bits as
before.

Tests: `tests/stages/simplification/test_halves.py`.
"""

from collections.abc import Iterator

import numpy as np
from attrs import evolve

from target_arch.plan.model import Model, Tensor
from target_arch.plan.operators.facts import Arithmetic

HALF = "float16"
_LOOKED_AT = 4096
"""Values that are looked at first: most models have another one among them."""


def with_half_weights(model: Model) -> Model:
    """The model with such weights of sums of products of floats in float16."""
    narrow = {tensor.name: tensor for tensor in map(_halved, half_weights(model))}
    return evolve(model, tensors={**model.tensors, **narrow}) if narrow else model


def half_weights(model: Model) -> Iterator[Tensor]:
    """The weights, in float32, that could be in float16 without a change of any value."""
    for operator in model.operators:
        if operator.facts.weighted and operator.arithmetic is Arithmetic.FLOAT:
            tensor = model.tensors[operator.constants[0]]
            if tensor.dtype == "float32" and _is_half(_values(tensor)):
                yield tensor


def _values(tensor: Tensor) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.frombuffer(tensor.data or b"", "<f4")


def _is_half(values: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> bool:
    """Whether each is a finite value of float16."""
    for some in (values[:_LOOKED_AT], values):
        with np.errstate(over="ignore"):
            halves = some.astype("<f2")
        if not np.array_equal(halves.astype("<f4"), some) or not np.isfinite(halves).all():
            return False
    return values.size > 0


def _halved(tensor: Tensor) -> Tensor:
    return evolve(tensor, dtype=HALF, data=_values(tensor).astype("<f2").tobytes())
