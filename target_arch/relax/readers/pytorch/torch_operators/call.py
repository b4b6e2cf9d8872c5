"""One operator of a decomposed PyTorch program on its way to Relax."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from attrs import frozen
from tvm import relax

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.onnx_converters import converted
from target_arch.relax.onnx_operators.node import Node, NotConverted
from target_arch.relax.te.loops import written


@frozen(eq=False)
class TorchCall:
    """A node of the graph and the importer that has converted those before it."""

    node: Any
    importer: Any

    def given(self, name: str) -> Any:
        """An argument by its name in the operator's schema, or its default. Tensors are Relax expressions."""
        for number, argument in enumerate(self.node.target._schema.arguments):
            if argument.name == name:
                if number < len(self.node.args):
                    return self._converted(self.node.args[number])
                return self._converted(self.node.kwargs.get(name, argument.default_value))
        raise NotConverted(f"it has no argument `{name}`")

    def _converted(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return self.importer.env[value]
        if isinstance(value, list | tuple):
            return [self._converted(each) for each in value]
        return value

    def tensors(self, *names: str) -> list[Any]:
        """Arguments that are tensors."""
        return [self.given(name) for name in names]

    def dtype(self, number: int = 0) -> str:
        """The element type that PyTorch gives a result. Raises NotConverted for one without a form."""
        found = dtype_name(self._result(number).dtype)
        if found not in DTYPE_BYTES:
            raise NotConverted(f"its elements are {found}")
        return found

    def shape(self, number: int = 0) -> tuple[int, ...]:
        """The shape that PyTorch gives a result."""
        return tuple(int(extent) for extent in self._result(number).shape)

    def _result(self, number: int) -> Any:
        value = self.node.meta["val"]
        return value[number] if isinstance(value, list | tuple) else value

    def axes(self, name: str, rank: int) -> list[int]:
        """Dimensions, counted from the start: all where none is given."""
        given = self.given(name)
        listed = [given] if isinstance(given, int) else list(given or range(rank))
        return [axis % max(rank, 1) for axis in listed]

    def emit(self, expression: Any) -> Any:
        """A variable that is bound to a Relax expression, so that its type is known."""
        return self.importer.block_builder.emit(expression)

    def cast(self, value: Any, dtype: str) -> Any:
        """The value with elements of another type."""
        return value if dtype_of(value) == dtype else self.emit(relax.op.astype(value, dtype))

    def reshaped(self, value: Any, shape: Sequence[int]) -> Any:
        """The elements in another shape."""
        return value if shape_of(value) == tuple(shape) else self.emit(relax.op.reshape(value, tuple(shape)))

    def spread(self, value: Any, shape: Sequence[int]) -> Any:
        """The elements repeated in a larger shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(relax.op.broadcast_to(value, tuple(shape)))

    def by_onnx(self, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """The result of ONNX's operator of that name."""
        made = converted(
            Node(
                operator=operator,
                inputs=inputs,
                attributes=attributes,
                outputs=outputs,
                opset=18,
                builder=self.importer.block_builder,
            )
        )
        return made if outputs > 1 else self.emit(made)

    def computed(self, definition: Callable[..., Any], *operands: Any) -> Any:
        """The result of a definition in TE, a function of tensors that returns one."""
        return self.importer.block_builder.emit_te(definition, *operands)

    def written(self, shape: Sequence[int], dtype: str, body: Callable[..., None], *operands: Any) -> Any:
        """A tensor that loops write: `body(output, *operands)` is called inside a builder of TIR."""
        return self.computed(written(shape, dtype, body), *operands)


Convert = Callable[[TorchCall], Any]
"""The Relax expression of the output, or a list of one for each output. Raises NotConverted."""


def dtype_name(dtype: Any) -> str:
    """The name of an element type of PyTorch."""
    return str(dtype).removeprefix("torch.")


def constant(value: Any, dtype: str) -> Any:
    """A number, or an array of them."""
    return relax.const(np.asarray(value, dtype), dtype)
