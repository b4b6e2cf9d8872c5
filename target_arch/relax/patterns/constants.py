"""Constants as the author stored them: integers with their quantization, found through the frontend's
reshapes.

A frontend writes weights as `reshape(dequantize(const))` or `dequantize(permute_dims(const))`. An operator
needs the stored integers in its own layout, and their scales.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import relax, tirx

from target_arch.plan.model import Quantization
from target_arch.relax.ir.content import content_of
from target_arch.relax.ir.graph import Graph, operator_name, shape_of


@frozen(kw_only=True, eq=False)
class Constant:
    """Values as stored. `quantization` is None for floats; its axis refers to `values` as they are here.

    `content` is that of the elements in the model file (or the frontend's copy of them), by which the
    author's name is found; empty where the file has none.
    """

    values: np.ndarray[Any, Any]
    quantization: Quantization | None = None
    content: bytes = b""

    @property
    def real(self) -> np.ndarray[Any, Any]:
        """The real numbers they stand for, in double precision, shaped like `values`."""
        if self.quantization is None:
            return self.values.astype(np.float64)
        scale = _along(self.quantization.scale, self.quantization.axis, self.values.ndim)
        zero_point = _along(self.quantization.zero_point, self.quantization.axis, self.values.ndim)
        real: np.ndarray[Any, Any] = (self.values.astype(np.float64) - zero_point) * scale
        return real

    def transposed(self, axes: tuple[int, ...]) -> "Constant":
        """With dimension `axes[i]` of this one as dimension i."""
        return evolve(self, values=self.values.transpose(axes), quantization=_moved(self.quantization, axes))

    def matrix(self) -> "Constant | None":
        """The last two dimensions, where all others only repeat them; None where they do not, or the
        quantized axis is one of the others.
        """
        more = self.values.ndim - 2
        if more < 0:
            return None
        if more == 0:
            return self
        first = self.values[(0,) * more]
        if not np.array_equal(np.broadcast_to(first, self.values.shape), self.values):
            return None
        quantization = self.quantization
        if quantization is not None and quantization.axis is not None:
            if quantization.axis < more:
                return None
            quantization = evolve(quantization, axis=quantization.axis - more)
        return evolve(self, values=first, quantization=quantization)

    def reshaped(self, shape: tuple[int, ...]) -> "Constant | None":
        """In another shape. None where the quantized axis would be torn apart."""
        values = self.values.reshape(shape)
        if self.quantization is None or self.quantization.axis is None:
            return evolve(self, values=values)
        axis = _axis_after_reshape(self.values.shape, self.quantization.axis, shape)
        return (
            axis
            if axis is None
            else evolve(self, values=values, quantization=evolve(self.quantization, axis=axis))
        )


def constant_of(graph: Graph, expr: Any) -> Constant | None:
    """The constant an expression stands for; None for activations and for expressions not understood here."""
    if hasattr(expr, "value") and hasattr(expr.value, "numpy"):
        values = expr.value.numpy()
        return Constant(values=values, content=content_of(values))
    if isinstance(expr, tirx.FloatImm):
        return Constant(values=np.asarray(expr.value, np.float32))
    if not isinstance(expr, relax.Var) or expr not in graph.constant:
        return None
    call = graph.call(expr)
    step = _STEPS.get(operator_name(call)) if call is not None else None
    if call is None or step is None:
        return None
    inner = constant_of(graph, call.args[0])
    return None if inner is None else step(graph, call, inner)


def quantization_of(graph: Graph, call: Any, data: Any) -> Quantization | None:
    """The parameters of a `quantize` or `dequantize` call on tensor expression `data`.

    None where they are not constants, belong to no single axis, or a scale is no finite number.
    """
    scale, zero_point = constant_of(graph, call.args[1]), constant_of(graph, call.args[2])
    if scale is None or zero_point is None or not np.isfinite(scale.values).all():
        return None
    scales = tuple(float(value) for value in scale.values.astype(np.float32).ravel())
    zeros = tuple(int(value) for value in zero_point.values.ravel())
    if len(scales) == 1 and len(zeros) == 1:
        return Quantization(scale=scales, zero_point=zeros)
    shape = shape_of(data)
    axis = int(call.attrs.axis) % len(shape)
    count = shape[axis]
    scales = scales * count if len(scales) == 1 else scales
    zeros = zeros * count if len(zeros) == 1 else zeros
    if len(scales) != count or len(zeros) != count:
        return None
    return Quantization(scale=scales, zero_point=zeros, axis=axis)


def _dequantize(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    quantization = quantization_of(graph, call, call.args[0])
    if inner.quantization is not None or quantization is None:
        return None
    return evolve(inner, quantization=quantization)


def _permute(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    del graph
    axes = call.attrs.axes
    order = range(inner.values.ndim)[::-1] if axes is None else (int(axis) for axis in axes)
    return inner.transposed(tuple(order))


def _reshape(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    del graph
    return inner.reshaped(shape_of(call))


def _broadcast(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    """The same values for each of a batch, as exporters write a product of matrices with a batch."""
    del graph
    values, quantization = np.broadcast_to(inner.values, shape_of(call)), inner.quantization
    if quantization is not None and quantization.axis is not None:
        axis = quantization.axis + values.ndim - inner.values.ndim
        if values.shape[axis] != len(quantization.scale):
            return None
        quantization = evolve(quantization, axis=axis)
    return evolve(inner, values=values, quantization=quantization)


def _cast(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    """To floats only: weights of float16 and of integers are stored so, and used as float32."""
    del graph
    if inner.values.dtype.kind not in "fi" or not str(call.attrs.dtype).startswith("float"):
        return None
    return evolve(inner, values=inner.values.astype(str(call.attrs.dtype)))


def _computed(graph: Graph, call: Any, inner: Constant) -> Constant | None:
    """Arithmetic between float constants, as a folded batch normalization leaves it."""
    operands = [inner] + [constant_of(graph, argument) for argument in call.args[1:]]
    values = [None if one is None or one.quantization is not None else one.values for one in operands]
    if any(value is None or value.dtype != np.float32 for value in values):
        return None
    return evolve(inner, values=np.asarray(_ARITHMETIC[operator_name(call)](*values), np.float32))


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "sqrt": np.sqrt,
}

_STEPS: dict[str, Callable[[Graph, Any, Constant], Constant | None]] = {
    "dequantize": _dequantize,
    "astype": _cast,
    "broadcast_to": _broadcast,
    "permute_dims": _permute,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "flatten": _reshape,
    **dict.fromkeys(_ARITHMETIC, _computed),
}


def _along(values: tuple[float, ...] | tuple[int, ...], axis: int | None, rank: int) -> np.ndarray[Any, Any]:
    array = np.asarray(values, dtype=np.float64)
    if axis is None:
        return array.reshape(())
    return array.reshape([-1 if index == axis else 1 for index in range(rank)])


def _moved(quantization: Quantization | None, axes: tuple[int, ...]) -> Quantization | None:
    if quantization is None or quantization.axis is None:
        return quantization
    return evolve(quantization, axis=axes.index(quantization.axis))


def _axis_after_reshape(before: tuple[int, ...], axis: int, after: tuple[int, ...]) -> int | None:
    """The dimension of `after` that holds what dimension `axis` of `before` held: same extent, same inner
    size.
    """
    inner = int(np.prod(before[axis + 1 :], dtype=np.int64))
    for index, extent in enumerate(after):
        if extent == before[axis] and int(np.prod(after[index + 1 :], dtype=np.int64)) == inner:
            return index
    return None
