"""One ONNX operator on its way to Relax: its operands, its attributes, and the ways to compute from them.

A converter takes a `Node` and returns the Relax expression of its output, or a tuple of one for each output.
It is listed with the attributes that it honours; any other one is a refusal. Shapes are static.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from tvm import relax, tirx
from tvm.ir import GenericConst
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.te.loops import written

Array = np.ndarray[Any, np.dtype[Any]]


class NotConverted(ValueError):
    """An operator that no converter takes as it is; the text is the reason, after the operator's name."""


@frozen(kw_only=True, eq=False)
class Node:
    """An operator. `inputs` are Relax expressions, None for one that is left out; `outputs` counts its
    outputs; `opset` is the version of ONNX's operators.
    """

    operator: str
    inputs: tuple[Any | None, ...]
    attributes: Mapping[str, Any]
    outputs: int
    opset: int
    builder: Any = field(repr=False)

    def given(self, index: int) -> Any | None:
        """An operand, None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def operand(self, index: int) -> Any:
        """An operand that must be there. Raises NotConverted."""
        found = self.given(index)
        if found is None:
            raise NotConverted(f"operand {index} is missing")
        return found

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of an operand."""
        return shape_of(self.operand(index))

    def dtype(self, index: int) -> str:
        """The element type of an operand."""
        return dtype_of(self.operand(index))

    def constant(self, index: int, name: str) -> Array | None:
        """The value of an operand called `name` that has to be known now; None where it is left out.

        Raises NotConverted where it is computed or an input of the model.
        """
        found = self.given(index)
        if found is None:
            return None
        if not isinstance(found, GenericConst):
            raise NotConverted(f"its operand `{name}` must be a constant")
        value: Array = found.value.numpy()
        return value

    def integers(self, index: int, name: str) -> tuple[int, ...] | None:
        """As `constant`, for a list of whole numbers that was an attribute in earlier versions."""
        value = self.attributes.get(name)
        if value is not None:
            return tuple(int(each) for each in value)
        found = self.constant(index, name)
        return None if found is None else tuple(int(each) for each in found.reshape(-1))

    def integer(self, name: str, otherwise: int) -> int:
        """An attribute that is a whole number."""
        return int(self.attributes.get(name, otherwise))

    def text(self, name: str, otherwise: str, allowed: Sequence[str]) -> str:
        """An attribute that is one of several words. Raises NotConverted for any other."""
        value = self.attributes.get(name, otherwise)
        found = value.decode() if isinstance(value, bytes) else str(value)
        if found not in allowed:
            raise NotConverted(f"its attribute `{name}` is `{found}`")
        return found

    def axis(self, otherwise: int, *, rank: int, name: str = "axis") -> int:
        """An attribute that is a dimension, counted from the start. Raises NotConverted for none."""
        return counted(self.integer(name, otherwise), rank)

    def computed(self, definition: Callable[..., Any], *operands: Any) -> Any:
        """The result of a definition in TE, a function of tensors that returns one."""
        return self.builder.emit_te(definition, *operands, primfunc_name_hint=self.operator)

    def written(
        self,
        shape: Sequence[int],
        dtype: str,
        body: Callable[..., None],
        *operands: Any,
    ) -> Any:
        """A tensor that loops write: `body(output, *operands)` is called inside a builder of TIR."""

        return self.computed(written(shape, dtype, body), *operands)

    def emit(self, expression: Any) -> Any:
        """A variable that is bound to a Relax expression, so that its type is known."""
        return self.builder.emit(expression)

    def cast(self, value: Any, dtype: str) -> Any:
        """The value with elements of another type."""
        return value if dtype_of(value) == dtype else self.emit(relax.op.astype(value, dtype))

    def reshaped(self, value: Any, shape: Sequence[int]) -> Any:
        """The elements in another shape."""
        return self.emit(relax.op.reshape(value, tuple(shape)))


Convert = Callable[[Node], Any]


@frozen
class Converter:
    """A converter and the attributes that it honours; `only` says which operators of its name it takes, where
    TVM's own takes the others.
    """

    convert: Convert
    attributes: tuple[str, ...]
    only: Callable[[Node], bool]


def converter(
    convert: Convert, attributes: str = "", *, only: Callable[[Node], bool] = lambda _: True
) -> Converter:
    """A converter with the names of its attributes in one text."""
    return Converter(convert, tuple(attributes.split()), only)


def counted(axis: int, rank: int) -> int:
    """A dimension, counted from the start. Raises NotConverted where there is none."""
    if not -rank <= axis < rank:
        raise NotConverted(f"dimension {axis} of a tensor with {rank}")
    return axis % rank


def within(index: Any, extent: int) -> Any:
    """An index that may count from the end, as one that never leaves the tensor, whatever its value."""
    if extent == 1:
        return tirx.const(0, "int32")
    given, placed = tirx.Var("index", "int32"), tirx.Var("place", "int32")
    from_start = tirx.Select(given < 0, given + extent, given)
    kept = tirx.max(tirx.min(placed, extent - 1), 0)
    return tirx.Let(given, index.astype("int32"), tirx.Let(placed, from_start, kept))


def zero(dtype: str) -> Any:
    """The number 0 of an element type."""
    return tirx.const(0, dtype)


def table(values: Any, dtype: str) -> Any:
    """Constants that a kernel reads."""
    return relax.const(np.ascontiguousarray(values, dtype), dtype)


def local(name: str, shape: Sequence[int], dtype: str) -> Any:
    """A buffer of the kernel itself, inside `Node.written`."""
    return IRBuilder.name(name, ib.alloc_buffer(tuple(shape), dtype))
