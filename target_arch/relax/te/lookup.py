"""TE definitions of functions of one number: computed on floats, looked up for stored 8-bit values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Model, Operator, Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    Packed,
    elements,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)

Stored = Callable[[int, Quantization, Quantization], int]
"""The stored result of a stored value, from the quantization of both; the table clamps it to its type."""


@frozen(kw_only=True)
class Function:
    """A function of one number: `real` in TE on float32, `stored` for each arithmetic of integers."""

    real: Callable[[Any], Any]
    stored: Mapping[Arithmetic, Stored]

    def definition(self, operator: Operator, model: Model) -> Definition:
        """The function of every element. ValueError where a quantization has no exact form."""
        x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
        axes: Axes = (("i", elements(x)),)
        data = placeholder(x, (elements(x),), "x")
        if operator.arithmetic is Arithmetic.FLOAT:
            result = stage("out", axes, lambda i: self.real(data[i]))
            return Definition(arguments=(data, result), schedule=one_by_one((), ()))
        least = DTYPE_RANGE[x.dtype][0]
        packed = Packed(suffix="results", dtype=out.dtype, values=self.table(operator, model))
        results = packed.placeholder()
        result = stage("out", axes, lambda i: results[data[i].astype("int32") - tirx.const(least, "int32")])
        return Definition(arguments=(data, results, result), schedule=one_by_one((), ()), packed=(packed,))

    def table(self, operator: Operator, model: Model) -> tuple[int, ...]:
        """The stored result of every stored value, from the least one on."""
        x, out = tensor_of(model, operator, 0), model.tensors[operator.output]
        if x.quantization is None or out.quantization is None:
            raise ValueError(f"`{operator.id}`: a tensor has no quantization")
        stored, (least, most) = self.stored[operator.arithmetic], DTYPE_RANGE[out.dtype]
        first, last = DTYPE_RANGE[x.dtype]
        values = (stored(value, x.quantization, out.quantization) for value in range(first, last + 1))
        return tuple(min(max(value, least), most) for value in values)


def by_floats(function: Callable[[np.float32], np.float32]) -> Stored:
    """ONNX's rule: dequantize, the function in float32, quantize (half to even)."""

    def stored(value: int, x: Quantization, out: Quantization) -> int:
        real = np.float32(value - x.zero_point[0]) * np.float32(x.scale[0])
        return int(np.rint(function(real) / np.float32(out.scale[0]))) + out.zero_point[0]

    return stored
