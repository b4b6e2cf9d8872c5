"""The tensors of a graph as converters see them, their expressions, and the states that some of them are."""

import math
from typing import Any

import numpy as np
import tflite
from attrs import define, field
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_constants.four_bits import widened
from target_arch.relax.readers.tflite_constants.sparse import dense
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand
from target_arch.relax.readers.tflite_operators.walk.graphs import (
    TYPES,
    NamedGraph,
    file_shape,
    quantization_of,
)
from target_arch.relax.readers.tflite_operators.walk.variables import Variables
from target_arch.relax.site import NotConverted, constant

Array = np.ndarray[Any, Any]


@define(kw_only=True, eq=False)
class TensorValues:
    """The values of the tensors of the graph with that number, by their own numbers."""

    model: Any
    graph: NamedGraph
    builder: Any
    variables: Variables
    number: int
    expressions: dict[int, Any] = field(factory=dict)
    """Those of the tensors that are inputs or computed, by their numbers, in the order in which they came."""

    def keep(self, index: int, expression: Any) -> None:
        """Keep the expression of a tensor; the first one of several is its own."""
        self.expressions.setdefault(index, expression)

    def variable(self, index: int, shape: tuple[int, ...]) -> Any:
        """The value of a variable tensor, kept in that shape."""
        tensor = self.graph.Tensors(index)
        if not tensor.IsVariable():
            raise NotConverted(f"tensor `{tensor.author}` is no variable")
        dtype = TYPES[tensor.Type()]
        return self.variables.value(self._key(index), shape, dtype, tensor.author, _initial(tensor))

    def update(self, index: int, value: Any) -> None:
        """The value of a variable tensor from here on."""
        value = self.builder.emit(value)
        self.variables.assign(self._key(index), value, shape_of(value), dtype_of(value))

    def own_state(
        self, index: int, name: str, shape: tuple[int, ...], dtype: str, initial: bytes | None = None
    ) -> Any:
        """A state of the operator that writes a tensor."""
        author = f"{self.graph.Tensors(index).author}_{name}"
        return self.variables.value(f"{self._key(index)}/{name}", shape, dtype, author, initial)

    def leave(self, index: int, name: str, value: Any) -> None:
        """The value of such a state from here on."""
        value = self.builder.emit(value)
        self.variables.assign(f"{self._key(index)}/{name}", value, shape_of(value), dtype_of(value))

    def _key(self, index: int) -> str:
        """A name of the variable that a tensor is, or that the operator has which writes it:
        a subgraph that runs twice has one.
        """
        return f"{self.number}/{index}"

    def tensor(self, index: int) -> TFLiteOperand:
        """A tensor as converters see it."""
        tensor = self.graph.Tensors(index)
        grid = quantization_of(tensor)
        if grid is not None and len(set(grid.zero_point)) > 1:
            raise NotConverted("channels have different zero points")
        return TFLiteOperand(
            name=tensor.author,
            shape=file_shape(tensor),
            dtype=TYPES.get(tensor.Type(), "unknown"),
            quantization=grid,
            value=self._value(index),
            narrow=tensor.narrow,
            kept=bool(tensor.IsVariable()),
            expression=lambda: self.expression(index),
        )

    def expression(self, index: int) -> Any:
        """Return the expression of a tensor. Raises NotConverted for one that nothing gave a value."""
        if index in self.expressions:
            return self.expressions[index]
        tensor = self.graph.Tensors(index)
        if tensor.IsVariable():
            return self.variable(index, file_shape(tensor))
        value = self._value(index)
        if value is None:
            raise NotConverted(f"tensor `{tensor.author}` has no value")
        return constant(value)

    def _value(self, index: int) -> Array | None:
        """Return the value of a constant; None for any other tensor."""
        if index in self.expressions:
            expression = self.expressions[index]
            return expression.value.numpy() if isinstance(expression, GenericConst) else None
        tensor = self.graph.Tensors(index)
        buffer, shape = self.model.Buffers(tensor.Buffer()), file_shape(tensor)
        if buffer.DataLength() == 0:
            return None
        if tensor.narrow:
            return widened(buffer.DataAsNumpy(), shape)
        if tensor.Type() not in TYPES:
            raise NotConverted(f"constant `{tensor.author}` has elements of another type")
        values: Array = buffer.DataAsNumpy().view(TYPES[tensor.Type()])
        return dense(tensor, values, shape) if tensor.Sparsity() is not None else values.reshape(shape)


def _initial(tensor: Any) -> bytes | None:
    """The bytes of a variable tensor before the first run: reals of zero in int8, else zeros
    (LiteRT `Subgraph::ResetVariableTensors`).
    """
    grid = quantization_of(tensor)
    if grid is None or tensor.Type() != tflite.TensorType.INT8:
        return None
    return bytes([grid.zero_point[0] % 256]) * math.prod(file_shape(tensor))
