"""One operator with the values of its operands, as the oracle sees it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.run.exact.scaling import Integers

Array = np.ndarray[Any, np.dtype[Any]]


class NotDefined(Exception):
    """The oracle has no definition of this operator."""


@frozen(kw_only=True, eq=False)
class OperatorCase:
    """An operator of a model, and the values of its activations by tensor name, in the shapes of the plan."""

    operator: Operator
    model: Model
    values: Mapping[str, Array]

    @property
    def tflite(self) -> bool:
        """Whether TFLite's rules of rounding hold, else ONNX's."""
        return self.operator.arithmetic is Arithmetic.TFLITE

    @property
    def out(self) -> Tensor:
        """The tensor it writes."""
        return self.model.tensors[self.operator.output]

    def operand(self, index: int) -> Array:
        """The values of an operand, constants after activations."""
        name = (*self.operator.inputs, *self.operator.constants)[index]
        data = self.model.tensors[name].data
        if data is None:
            return self.values[name]
        return np.frombuffer(data, self.tensor(index).dtype).reshape(self.tensor(index).shape)

    def tensor(self, index: int) -> Tensor:
        """The tensor that an operand is."""
        return self.model.tensors[(*self.operator.inputs, *self.operator.constants)[index]]

    def grid(self, index: int | None = None) -> tuple[float, int]:
        """Scale and zero point of an operand, of the output without an index. NotDefined where it has not
        exactly one of each.
        """
        quantization = self.grids(index)
        if len(quantization.scale) != 1:
            raise NotDefined
        return quantization.scale[0], quantization.zero_point[0]

    def grids(self, index: int | None = None) -> Quantization:
        """The quantization of an operand, of the output without an index. NotDefined where it has none."""
        found = (self.out if index is None else self.tensor(index)).quantization
        if found is None:
            raise NotDefined
        return found

    def centred(self, index: int) -> Integers:
        """An operand's stored values less its zero point."""
        return self.operand(index).astype(np.int64) - self.grid(index)[1]

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """An attribute, and its value where it is left out."""
        return self.operator.attributes.get(name, otherwise)

    def stored(self, results: Integers) -> Array:
        """Results plus the zero point of the output, clamped as the operator says, in its shape and type."""
        return self.clamped(results + self.grid()[1])

    def clamped(self, values: Integers) -> Array:
        """Values clamped as the operator says, in the shape and type of its output."""
        limits = np.iinfo(self.out.dtype)
        low = self.operator.integer("activation_min", int(limits.min))
        high = self.operator.integer("activation_max", int(limits.max))
        return np.clip(values, low, high).astype(self.out.dtype).reshape(self.out.shape)
