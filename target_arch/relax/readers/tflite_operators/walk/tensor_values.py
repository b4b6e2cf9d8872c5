"""The tensors of a graph as converters see them, and the states that some of them are."""

import math
from typing import Any

import numpy as np
import tflite
from attrs import define

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_constants.sparse import dense
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand
from target_arch.relax.readers.tflite_operators.walk.graphs import TYPES, file_shape, quantization_of
from target_arch.relax.readers.tflite_operators.walk.variables import Variables
from target_arch.relax.site import NotConverted


@define(kw_only=True, eq=False)
class TensorValues:
    """The values of the tensors of the graph with that number, by their own numbers."""

    frontend: Any
    graph: Any
    variables: Variables
    number: int

    def variable(self, index: int, shape: tuple[int, ...]) -> Any:
        """The value of a variable tensor, kept in that shape."""
        tensor = self.graph.Tensors(index)
        if not tensor.IsVariable():
            raise NotConverted(f"tensor `{tensor.author}` is no variable")
        dtype = TYPES[tensor.Type()]
        return self.variables.value(self._key(index), shape, dtype, tensor.author, _initial(tensor))

    def update(self, index: int, value: Any) -> None:
        """The value of a variable tensor from here on."""
        value = self.frontend.bb.emit(value)
        self.variables.assign(self._key(index), value, shape_of(value), dtype_of(value))

    def own_state(
        self, index: int, name: str, shape: tuple[int, ...], dtype: str, initial: bytes | None = None
    ) -> Any:
        """A state of the operator that writes a tensor."""
        author = f"{self.graph.Tensors(index).author}_{name}"
        return self.variables.value(f"{self._key(index)}/{name}", shape, dtype, author, initial)

    def leave(self, index: int, name: str, value: Any) -> None:
        """The value of such a state from here on."""
        value = self.frontend.bb.emit(value)
        self.variables.assign(f"{self._key(index)}/{name}", value, shape_of(value), dtype_of(value))

    def _key(self, index: int) -> str:
        """A name of the variable that a tensor is, or that the operator has which writes it:
        a subgraph that runs twice has one.
        """
        return f"{self.number}/{index}"

    def tensor(self, index: int) -> TFLiteOperand:
        """A tensor as converters see it."""
        (wrapped,) = self.frontend.get_tensors([index])
        tensor = wrapped.tensor
        return TFLiteOperand(
            name=tensor.author,
            shape=file_shape(tensor),
            dtype=TYPES.get(tensor.Type(), "unknown"),
            quantization=quantization_of(tensor),
            value=self._value(index, wrapped),
            narrow=tensor.narrow,
            kept=bool(tensor.IsVariable()),
            expression=lambda: self._expression(index, wrapped),
        )

    def _expression(self, index: int, wrapped: Any) -> Any:
        tensor = self.graph.Tensors(index)
        if tensor.IsVariable() and not self.frontend.has_expr(index):
            return self.variable(index, file_shape(tensor))
        return self.frontend.get_tensor_expr(wrapped)

    def _value(self, index: int, wrapped: Any) -> Any:
        if self.frontend.is_prefetched(index):
            return self.frontend.get_prefetched_node(index)
        if self.frontend.has_expr(index):
            expr = self.frontend.get_expr(index)
            return expr.value.numpy() if hasattr(expr, "value") and hasattr(expr.value, "numpy") else None
        if wrapped.buffer.DataLength() == 0:
            return None
        if wrapped.tensor.Sparsity() is not None:
            dtype = np.dtype(TYPES[wrapped.tensor.Type()])
            values = wrapped.buffer.DataAsNumpy().view(dtype)
            return dense(wrapped.tensor, values, file_shape(wrapped.tensor))
        return self.frontend.get_tensor_value(wrapped)


def _initial(tensor: Any) -> bytes | None:
    """The bytes of a variable tensor before the first run: reals of zero in int8, else zeros
    (LiteRT `Subgraph::ResetVariableTensors`).
    """
    grid = quantization_of(tensor)
    if grid is None or tensor.Type() != tflite.TensorType.INT8:
        return None
    return bytes([grid.zero_point[0] % 256]) * math.prod(file_shape(tensor))
