"""The operators of quantized programs, between floats and stored values: `torch.ops.quantized_decomposed`, as
pt2e quantization (package `torchao`) writes them.

Scales and zero points are numbers, or tensors of the file. Those that the program computes, as dynamic
quantization does, make arithmetic in float32 of both operators, with the rounding of PyTorch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.site import NotConverted

Values = Mapping[str, NDArray[Any]]
"""Tensors of the file by the names of their nodes."""


def quantized_converters(values: Values) -> dict[str, Callable[[Any, Any], Any]]:
    """The converters of the quantized operators of a program with these tensors, by their names."""

    def quantize(node: Any, importer: Any) -> Any:
        if _computes_grid(node, values):
            return _quantized_now(node, importer)
        grid = _Grid(node, values)
        grid.require_whole_range()
        x = importer.env[node.args[0]]
        made = relax.op.quantize(x, grid.scale, grid.zero_point(grid.dtype), grid.axis, grid.dtype)
        return importer.block_builder.emit(made)

    def dequantize(node: Any, importer: Any) -> Any:
        if _computes_grid(node, values):
            return _dequantized_now(node, importer)
        grid, x = _Grid(node, values), importer.env[node.args[0]]
        made = relax.op.dequantize(x, grid.scale, grid.zero_point(dtype_of(x)), grid.axis, "float32")
        return importer.block_builder.emit(made)

    forms = ("per_tensor.default", "per_tensor.tensor", "per_tensor.tensor2", "per_channel.default")
    made = {f"{convert.__name__}_{form}": convert for convert in (quantize, dequantize) for form in forms}
    return {**made, "choose_qparams.tensor": _chosen}


def _computes_grid(node: Any, values: Values) -> bool:
    """Whether a tensor of the program is the scale."""
    name = getattr(node.args[1], "name", "")
    return bool(name) and name not in values and not str(node.target.__name__).startswith(_CHANNELS)


_CHANNELS = ("quantize_per_channel", "dequantize_per_channel")


def _chosen(node: Any, importer: Any) -> Any:
    """Scale and zero point from the least and largest element and zero."""
    emit, number = importer.block_builder.emit, relax.const
    given, low, high, epsilon, _ = node.args
    x, zero = importer.env[given], number(0.0, "float32")
    least = emit(relax.op.minimum(emit(relax.op.min(x)), zero))
    most = emit(relax.op.maximum(emit(relax.op.max(x)), zero))
    step = emit(relax.op.divide(emit(relax.op.subtract(most, least)), number(float(high - low), "float32")))
    scale = emit(relax.op.maximum(step, number(epsilon, "float32")))
    below = emit(relax.op.round(emit(relax.op.divide(least, scale))))
    place = emit(relax.op.subtract(number(float(low), "float32"), below))
    kept = emit(relax.op.clip(place, low, high))
    return [emit(relax.op.reshape(each, (1,))) for each in (scale, emit(relax.op.astype(kept, "int64")))]


def _quantized_now(node: Any, importer: Any) -> Any:
    emit = importer.block_builder.emit
    x, scale, zero_point = _floats(node, importer)
    low, high, dtype = node.args[3:6]
    inverse = emit(relax.op.divide(relax.const(1.0, "float32"), scale))
    steps = emit(relax.op.round(emit(relax.op.multiply(x, inverse))))
    kept = emit(relax.op.clip(emit(relax.op.add(steps, zero_point)), low, high))
    return emit(relax.op.astype(kept, str(dtype).removeprefix("torch.")))


def _dequantized_now(node: Any, importer: Any) -> Any:
    if str(node.kwargs.get("out_dtype") or _FLOAT) != _FLOAT:
        raise NotConverted("its results are not float32")
    x, scale, zero_point = _floats(node, importer)
    emit = importer.block_builder.emit
    return emit(relax.op.multiply(emit(relax.op.subtract(x, zero_point)), scale))


def _floats(node: Any, importer: Any) -> list[Any]:
    """The tensor, the scale and the zero point in float32, the latter two without dimensions."""
    emit = importer.block_builder.emit
    found = [importer.env[each] for each in node.args[:3]]
    wide = [each if dtype_of(each) == "float32" else emit(relax.op.astype(each, "float32")) for each in found]
    return [wide[0], *(emit(relax.op.reshape(each, ())) for each in wide[1:])]


_FLOAT = "torch.float32"


class _Grid:
    """The arguments of a quantized operator: tensor, scale, zero point, the axis of scales per channel, least
    and largest stored value, and the stored type. Raises NotConverted for those without a form.
    """

    def __init__(self, node: Any, values: Values) -> None:
        _, scale, zero_point, *axis, low, high, dtype = node.args
        if str(node.kwargs.get("out_dtype") or _FLOAT) != _FLOAT:
            raise NotConverted("its results are not float32")
        self.axis = int(axis[0]) if axis else 0
        self.dtype = str(dtype).removeprefix("torch.")
        self.scale = relax.const(_numbers(scale, values, "scale").astype(np.float32))
        self._zero_point = _numbers(zero_point or 0, values, "zero point")
        self._range = tuple(int(_numbers(each, values, "range").item()) for each in (low, high))

    def zero_point(self, dtype: str) -> Any:
        """The zero point as a constant of the stored type."""
        return relax.const(self._zero_point.astype(dtype))

    def require_whole_range(self) -> None:
        """Stored values are clamped to their type, and to nothing narrower."""
        if self._range != DTYPE_RANGE[self.dtype]:
            low, high = self._range
            raise NotConverted(f"its values are {low} to {high}, a part of {self.dtype}")


def _numbers(given: Any, values: Values, what: str) -> NDArray[Any]:
    """A number without dimensions, or the tensor: one of a single element has none."""
    if isinstance(given, (int, float)):
        return np.asarray(given)
    name = getattr(given, "name", "")
    if name not in values:
        raise NotConverted(f"its {what} is computed")
    return values[name].reshape(()) if values[name].size == 1 else values[name]
