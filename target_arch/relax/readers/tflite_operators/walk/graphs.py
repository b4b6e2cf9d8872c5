"""Subgraphs of a file as the walk reads them: names that no other tensor has, shapes, types and grids."""

from typing import Any

import tflite

from target_arch.plan.model import Quantization

TYPES = {
    tflite.TensorType.FLOAT32: "float32",
    tflite.TensorType.FLOAT16: "float16",
    tflite.TensorType.FLOAT64: "float64",
    tflite.TensorType.INT8: "int8",
    tflite.TensorType.UINT8: "uint8",
    tflite.TensorType.INT16: "int16",
    tflite.TensorType.UINT16: "uint16",
    tflite.TensorType.INT32: "int32",
    tflite.TensorType.UINT32: "uint32",
    tflite.TensorType.INT64: "int64",
    tflite.TensorType.UINT64: "uint64",
    tflite.TensorType.BOOL: "bool",
}
"""The element types that tensors may have, by their numbers in TFLite's schema."""


class _Named:
    """A tensor of the file under a name that no other tensor has, and with the quantization as read here. A
    `narrow` one is a constant of 4 bits, which is int8 here.
    """

    def __init__(self, tensor: Any, name: bytes, *, constant: bool) -> None:
        self._tensor, self._name = tensor, name
        self.narrow = constant and tensor.Type() == tflite.TensorType.INT4
        self.author = (tensor.Name() or b"").decode("utf-8", errors="replace")

    def Name(self) -> bytes:
        return self._name

    def Type(self) -> int:
        return tflite.TensorType.INT8 if self.narrow else int(self._tensor.Type())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)


class NamedGraph:
    """A subgraph whose tensors have names of their own."""

    def __init__(self, model: Any, number: int) -> None:
        self._model, self._graph = model, model.Subgraphs(number)

    def Tensors(self, index: int) -> Any:
        tensor = self._graph.Tensors(index)
        constant = self._model.Buffers(tensor.Buffer()).DataLength() > 0
        return _Named(tensor, f"tensor{index}".encode(), constant=constant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)


def quantization_of(tensor: Any) -> Quantization | None:
    """The grid of a tensor, None where it has none.

    An axis that the tensor does not have is read as TFLite Micro does, which never looks at it: the tensor's
    own, where it has one dimension.
    """
    stored = tensor.Quantization()
    if stored is None or stored.ScaleLength() == 0 or stored.ZeroPointLength() == 0:
        return None
    scale: tuple[float, ...] = tuple(stored.ScaleAsNumpy().tolist())
    zero: tuple[int, ...] = tuple(stored.ZeroPointAsNumpy().tolist())
    if not any(scale):
        return None
    if len(scale) == 1:
        return Quantization(scale=scale, zero_point=zero[:1])
    zero = zero * len(scale) if len(zero) == 1 else zero
    axis, rank = stored.QuantizedDimension(), tensor.ShapeLength()
    return Quantization(scale=scale, zero_point=zero, axis=0 if rank == 1 else axis)


def file_shape(tensor: Any) -> tuple[int, ...]:
    """The shape of a tensor as the file has it."""
    return tuple(int(tensor.Shape(index)) for index in range(tensor.ShapeLength()))


def own_name(name: str) -> str:
    """The author's name; of names that a converter joined for fused operators, the last."""
    return name.rsplit(";", maxsplit=1)[-1]
