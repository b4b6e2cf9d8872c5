"""Tensors of a graph that keep their values from run to run, and states that its operators have besides."""

import math
from typing import Any

import tflite
from attrs import frozen

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_operators.walk.graphs import (
    TYPES,
    NamedGraph,
    file_shape,
    quantization_of,
)
from target_arch.relax.readers.tflite_operators.walk.variables import Variables
from target_arch.relax.site import NotConverted


@frozen(kw_only=True, eq=False)
class TensorStates:
    """The states of the graph with that number, by the tensors that they are or whose operators have them."""

    graph: NamedGraph
    builder: Any
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


def _initial(tensor: Any) -> bytes | None:
    """The bytes of a variable tensor before the first run: reals of zero in int8, else zeros
    (LiteRT `Subgraph::ResetVariableTensors`).
    """
    grid = quantization_of(tensor)
    if grid is None or tensor.Type() != tflite.TensorType.INT8:
        return None
    return bytes([grid.zero_point[0] % 256]) * math.prod(file_shape(tensor))
