"""One operator of a decomposed PyTorch program on its way to Relax."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from attrs import frozen
from tvm import relax

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.onnx_converters import converted
from target_arch.relax.onnx_operators.node import Node
from target_arch.relax.site import NotConverted, Result, Site


@frozen(kw_only=True, eq=False)
class TorchCall(Site):
    """A node of the graph and the importer that has converted those before it."""

    node: Any
    importer: Any

    def given(self, index: int) -> Any | None:
        """Return an argument by its place in the operator's schema."""
        arguments = self.node.target._schema.arguments
        return self.argument(arguments[index].name) if index < len(arguments) else None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The arguments that are no tensors, by name."""
        values = {each.name: self.argument(each.name) for each in self.node.target._schema.arguments}
        return {name: value for name, value in values.items() if not isinstance(value, relax.Expr)}

    @property
    def results(self) -> tuple[Result | None, ...]:
        """Its outputs as PyTorch states them."""
        value = self.node.meta["val"]
        count = len(value) if isinstance(value, list | tuple) else 1
        return tuple(
            Result(shape=self.result_shape(number), dtype=self.result_dtype(number))
            for number in range(count)
        )

    def argument(self, name: str) -> Any:
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
        return [self.argument(name) for name in names]

    def result_dtype(self, number: int = 0) -> str:
        """The element type that PyTorch gives a result. Raises NotConverted for one without a form."""
        found = dtype_name(self._result(number).dtype)
        if found not in DTYPE_BYTES:
            raise NotConverted(f"its elements are {found}")
        return found

    def result_shape(self, number: int = 0) -> tuple[int, ...]:
        """The shape that PyTorch gives a result."""
        return tuple(int(extent) for extent in self._result(number).shape)

    def _result(self, number: int) -> Any:
        value = self.node.meta["val"]
        return value[number] if isinstance(value, list | tuple) else value

    def axes(self, name: str, rank: int) -> list[int]:
        """Dimensions, counted from the start: all where none is given."""
        given = self.argument(name)
        listed = [given] if isinstance(given, int) else list(given or range(rank))
        return [axis % max(rank, 1) for axis in listed]

    def by_onnx(self, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """The result of ONNX's operator of that name."""
        made = converted(
            Node(
                operator=operator,
                inputs=inputs,
                attributes=attributes,
                outputs=outputs,
                opset=18,
                builder=self.builder,
            )
        )
        return made if outputs > 1 else self.emit(made)


Convert = Callable[[TorchCall], Any]
"""The Relax expression of the output, or a list of one for each output. Raises NotConverted."""


def dtype_name(dtype: Any) -> str:
    """The name of an element type of PyTorch."""
    return str(dtype).removeprefix("torch.")
