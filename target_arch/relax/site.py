"""One operator of a model file on its way to Relax, as every converter sees it, whatever the file's format.

A converter takes a `Site` and returns the Relax expression of the operator's output, or several for several
outputs. Shapes are static. What only one format has is added by the site of that format: `Node` of ONNX,
`TFLiteOperator`, `TorchCall`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
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


MOST_DIMENSIONS = 32
"""Of a tensor: NumPy's arrays have no more, before version 2, and all constants are such."""


MOST_FILLED = 2**26
"""Elements of a constant that an operator makes of a few numbers: a small file may ask for any number."""


class NotConverted(ValueError):
    """No converter takes an operator as it is; the text is the reason, after the operator's name."""


def filled(*shape: int) -> tuple[int, ...]:
    """The shape of a constant that an operator makes. Raises NotConverted where it is too large."""
    count = prod(shape)
    if count > MOST_FILLED:
        raise NotConverted(f"a constant of {count:,} elements, more than {MOST_FILLED:,}")
    return shape


@frozen(kw_only=True)
class Result:
    """The shape and the element type of an output of an operator, as a file states them."""

    shape: tuple[int, ...]
    dtype: str


@frozen(kw_only=True, eq=False)
class Site(ABC):
    """An operator: its name in the format, its operands, attributes and results, and the ways to compute from
    them.
    """

    operator: str
    builder: Any = field(repr=False)

    @abstractmethod
    def given(self, index: int) -> Any | None:
        """Return the Relax expression of an operand, None where it is left out."""

    @property
    @abstractmethod
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes by name: those of ONNX, the options of a custom operator of TFLite, and what is no
        tensor of the arguments in PyTorch, defaults among it.
        """

    @property
    @abstractmethod
    def results(self) -> tuple[Result | None, ...]:
        """Its outputs as the file states them; None for one of which it does not, as some of ONNX are."""

    def operand(self, index: int) -> Any:
        """Return an operand that must be there. Raises NotConverted."""
        value = self.given(index)
        if value is None:
            raise NotConverted(f"operand {index} is missing")
        return value

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of an operand."""
        return shape_of(self.operand(index))

    def dtype(self, index: int) -> str:
        """Return the element type of an operand."""
        return dtype_of(self.operand(index))

    def constant(self, index: int, name: str) -> Array | None:
        """Return the value of an operand called `name` that has to be known now; None where it is left out.

        Raises NotConverted where it is computed or an input of the model.
        """
        operand = self.given(index)
        if operand is None:
            return None
        if not isinstance(operand, GenericConst):
            raise NotConverted(f"its operand `{name}` must be a constant")
        value: Array = operand.value.numpy()
        return value

    def emit(self, expression: Any) -> Any:
        """Return a variable that is bound to a Relax expression, so that its type is known."""
        return self.builder.emit(expression)

    def cast(self, value: Any, dtype: str) -> Any:
        """Return the value with elements of another type."""
        return value if dtype_of(value) == dtype else self.emit(relax.op.astype(value, dtype))

    def reshaped(self, value: Any, shape: Sequence[int]) -> Any:
        """Return the elements in another shape."""
        return value if shape_of(value) == tuple(shape) else self.emit(relax.op.reshape(value, tuple(shape)))

    def spread(self, value: Any, shape: Sequence[int]) -> Any:
        """Return the elements repeated in a larger shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(relax.op.broadcast_to(value, tuple(shape)))

    def computed(self, definition: Callable[..., Any], *operands: Any, name: str = "") -> Any:
        """Return the result of a definition in TE, a function of tensors that returns one. Its function has
        that name, else the operator's.
        """
        return self.builder.emit_te(definition, *operands, primfunc_name_hint=name or self.operator)

    def written(
        self,
        shape: Sequence[int],
        dtype: str,
        body: Callable[..., None],
        *operands: Any,
        name: str = "",
    ) -> Any:
        """Return a tensor that loops write: `body(output, *operands)` is called inside a builder of TIR."""
        return self.computed(written(shape, dtype, body), *operands, name=name)


def constant(value: Any, dtype: str | None = None) -> Any:
    """Return a constant with elements of that type, else of the value's own: TVM would make 32 bits of 64."""
    array = np.asarray(value, dtype)
    return relax.const(array, array.dtype.name)


def counted(axis: int, rank: int) -> int:
    """Return a dimension, counted from the start. Raises NotConverted where there is none."""
    if not -rank <= axis < rank:
        raise NotConverted(f"dimension {axis} of a tensor with {rank}")
    return axis % rank


def within(index: Any, extent: int) -> Any:
    """Return an index that may count from the end, as one that never leaves the tensor, whatever its
    value.
    """
    if extent == 1:
        return tirx.const(0, "int32")
    given, placed = tirx.Var("index", "int32"), tirx.Var("place", "int32")
    from_start = tirx.Select(given < 0, given + extent, given)
    kept = tirx.max(tirx.min(placed, extent - 1), 0)
    return tirx.Let(given, index.astype("int32"), tirx.Let(placed, from_start, kept))


def zero(dtype: str) -> Any:
    """Return the number 0 of an element type."""
    return tirx.const(0, dtype)


def local(name: str, shape: Sequence[int], dtype: str) -> Any:
    """Return a buffer of the kernel itself, inside `Site.written`."""
    return IRBuilder.name(name, ib.alloc_buffer(tuple(shape), dtype))
