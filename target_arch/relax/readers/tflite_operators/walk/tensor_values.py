"""The tensors of a graph as converters see them, and their expressions."""

import math
from typing import Any

import numpy as np
from attrs import define, field, frozen
from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.attempts import zeros
from target_arch.relax.readers.tflite_constants.four_bits import widened
from target_arch.relax.readers.tflite_constants.sparse import dense
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand
from target_arch.relax.readers.tflite_operators.walk.graphs import (
    TYPES,
    NamedGraph,
    file_shape,
    quantization_of,
)
from target_arch.relax.readers.tflite_operators.walk.tensor_states import TensorStates
from target_arch.relax.readers.tflite_operators.walk.variables import Handle
from target_arch.relax.site import NotConverted, constant

Array = np.ndarray[Any, Any]


@frozen(eq=False)
class Count:
    """How much is there of the first dimension of a tensor that has its largest size: an element of int64."""

    value: Any = field(repr=False)


@define(kw_only=True, eq=False)
class TensorValues:
    """The values of the tensors of a graph, by their numbers."""

    model: Any
    graph: NamedGraph
    builder: Any
    states: TensorStates
    expressions: dict[int, Any] = field(factory=dict)
    """Those of the tensors that are inputs or computed, by their numbers, in the order in which they came."""
    handles: dict[int, Handle] = field(factory=dict)
    """The tensors that stand for variables."""
    counts: dict[int, Count] = field(factory=dict)
    """Those of tensors whose size depends on values."""
    unread: set[int] = field(factory=set)
    """Those that are computed from constants alone, whose values are not known here."""

    def may_stay_unread(self, index: int) -> bool:
        """Whether a tensor has the type of shapes, and is no output."""
        kind = TYPES.get(self.graph.Tensors(index).Type())
        return kind in ("int32", "int64") and index not in self.outputs

    def keep(self, index: int, expression: Any) -> None:
        """Keep the expression of a tensor; the first one of several is its own."""
        self.expressions.setdefault(index, expression)

    def result(self, index: int, result: Any) -> None:
        """Keep what an operator computed for a tensor of the file, in the type of that one, and in its shape,
        unless its size depends on values.
        """
        if isinstance(result, Handle):
            self.handles[index] = result
            return
        tensor = self.graph.Tensors(index)
        result = self.builder.normalize(result)
        shape, dtype = file_shape(tensor), TYPES[tensor.Type()]
        if dtype_of(result) != dtype:
            result = self.builder.normalize(relax.op.astype(result, dtype))
        is_open = index in self.counts or self._is_left_open(index, result)
        if shape_of(result) != shape and not is_open:
            result = self.builder.normalize(relax.op.reshape(result, shape))
        self.keep(index, result)

    def _is_left_open(self, index: int, result: Any) -> bool:
        """Whether a converter did not know the shape of an output of the model: that of a custom operator."""
        return (
            not file_shape(self.graph.Tensors(index))
            and index in self.outputs
            and math.prod(shape_of(result)) != 1
        )

    def stand_in(self, index: int) -> None:
        """Keep zeros for a tensor of an operator without a form."""
        tensor = self.graph.Tensors(index)
        self.keep(index, zeros(self.builder, file_shape(tensor), TYPES.get(tensor.Type(), "float32")))

    def parameters(self) -> list[Any]:
        """A parameter for each input of the graph that has no value, which is its value from here on."""
        parameters = []
        for number in range(self.graph.InputsLength()):
            index = self.graph.Inputs(number)
            if index not in self.handles and index not in self.expressions:
                tensor = self.graph.Tensors(index)
                kind = relax.TensorType(file_shape(tensor), TYPES[tensor.Type()])
                parameters.append(relax.Var(tensor.author, kind))
                self.keep(index, parameters[-1])
        return parameters

    @property
    def outputs(self) -> list[int]:
        """The tensors that are outputs of the graph."""
        return [int(self.graph.Outputs(number)) for number in range(self.graph.OutputsLength())]

    def named(self, index: int) -> str:
        """The variable that a tensor stands for. NotConverted where that is computed."""
        if index not in self.handles:
            raise NotConverted("its variable is computed")
        return self.handles[index].name

    def output(self, index: int) -> Any:
        """The variable that a tensor stands for, or its expression."""
        return self.handles.get(index) or self.expression(index)

    def tensor(self, index: int) -> TFLiteOperand:
        """A tensor as converters see it."""
        tensor = self.graph.Tensors(index)
        grid = quantization_of(tensor)
        if grid is not None and len(set(grid.zero_point)) > 1:
            raise NotConverted("channels have different zero points")
        if grid is not None and not all(0 <= scale < math.inf for scale in grid.scale):
            raise NotConverted(f"a scale of tensor `{tensor.author}` is no positive number")
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
            return self.states.variable(index, file_shape(tensor))
        value = self._value(index)
        if value is None and index in self.unread:
            raise NotConverted(f"tensor `{tensor.author}` is computed from constants alone")
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
