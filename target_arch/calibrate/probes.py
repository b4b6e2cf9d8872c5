"""Nets of layers in many shapes, for measuring: no user's model has all of them.

Layers of one network have much in common, so their times do not tell what a product costs and what an output
does. Here windows, channels, strides, rows and lengths vary one against the other. Nets exist with 8-bit
values and in float32, those of memories and recurrent layers in float32 alone.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

import numpy as np
import onnx
from attrs import define, field, frozen
from onnx import TensorProto, helper, numpy_helper

_SCALE = 0.05
_WEIGHT_SCALE = 0.02
_BIASES = 500
_STEPS = 8
_OPSET = 17
_IR_VERSION = 8


class LayerKind(Enum):
    """The computation of a layer of a probe."""

    CONVOLUTION = auto()
    DEPTHWISE = auto()
    RESIDUAL = auto()
    """A convolution whose input is added to its output."""
    AVERAGE = auto()
    MAXIMUM = auto()
    """Pools of 2x2."""
    HALF = auto()
    """Every channel of the first half of them."""
    TWICE = auto()
    """All channels, and behind them all again."""
    MEMORY = auto()
    """A sum of products of every eight features with weights of their own, as of a memory of eight steps."""
    LSTM = auto()
    GRU = auto()
    """Recurrent layers of a sequence, whose steps are rows."""
    DENSE = auto()
    """The first one is of the mean over the image."""


@frozen
class Layer:
    """A layer with so many output channels. `kernel` and `stride` are rows and columns."""

    kind: LayerKind
    outputs: int = 0
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)


def _convolution(outputs: int, kernel: tuple[int, int] = (1, 1), stride: tuple[int, int] = (1, 1)) -> Layer:
    return Layer(LayerKind.CONVOLUTION, outputs, kernel, stride)


def _depthwise(kernel: tuple[int, int] = (3, 3), stride: tuple[int, int] = (1, 1)) -> Layer:
    return Layer(LayerKind.DEPTHWISE, 0, kernel, stride)


def _residual() -> Layer:
    return Layer(LayerKind.RESIDUAL, 0, (3, 3))


def _dense(*outputs: int) -> tuple[Layer, ...]:
    return tuple(Layer(LayerKind.DENSE, each) for each in outputs)


_NETS: dict[str, tuple[tuple[int, ...], tuple[Layer, ...]]] = {
    "windows": (
        (3, 32, 32),
        (
            _convolution(8, (3, 3)),
            _convolution(16, (3, 3), (2, 2)),
            _residual(),
            _convolution(24, (5, 5)),
            Layer(LayerKind.MAXIMUM),
            _convolution(32, (3, 3)),
            _residual(),
            _convolution(48),
            _convolution(40, (3, 3)),
            Layer(LayerKind.AVERAGE),
            _convolution(64, (3, 3)),
            _residual(),
            *_dense(10),
        ),
    ),
    "depthwise": (
        (1, 48, 48),
        (
            _convolution(8, (3, 3), (2, 2)),
            _depthwise(),
            _convolution(20),
            _depthwise(stride=(2, 2)),
            _convolution(40),
            _depthwise((5, 5)),
            _convolution(72),
            _depthwise(stride=(2, 2)),
            _convolution(96),
            _depthwise(),
            _convolution(128),
            _depthwise(stride=(2, 2)),
            _convolution(160),
            _depthwise(),
            _convolution(32),
            *_dense(3),
        ),
    ),
    "sequence": (
        (1, 40, 12),
        (
            _convolution(32, (8, 4), (2, 2)),
            _depthwise(),
            _convolution(48),
            _depthwise((9, 1)),
            _convolution(64),
            _convolution(32, (3, 1)),
            _convolution(32, (5, 1), (2, 1)),
            _convolution(24),
            *_dense(12),
        ),
    ),
    "moves": (
        (3, 24, 24),
        (
            _convolution(24, (3, 3)),
            Layer(LayerKind.HALF),
            _convolution(16),
            Layer(LayerKind.TWICE),
            _convolution(40, stride=(2, 2)),
            Layer(LayerKind.HALF),
            _convolution(12, stride=(2, 2)),
            Layer(LayerKind.TWICE),
            _convolution(64, stride=(3, 3)),
            Layer(LayerKind.HALF),
            _convolution(10),
            Layer(LayerKind.TWICE),
            *_dense(8),
        ),
    ),
    "spectrum": (
        (1, 60, 32),
        (
            _convolution(6, (9, 6), (2, 1)),
            _convolution(1),
            _convolution(12, (12, 5), (1, 2)),
            _convolution(1),
            _convolution(24, (5, 7)),
            _convolution(1),
            _convolution(16, (10, 10), (2, 2)),
            *_dense(7),
        ),
    ),
    "dense": ((300,), _dense(160, 160, 48, 400, 96, 16, 200, 6)),
}


_NETS_OF_FLOATS: dict[str, tuple[tuple[int, ...], tuple[Layer, ...]]] = {
    "memories": (
        (120,),
        (
            *_dense(256),
            Layer(LayerKind.MEMORY),
            *_dense(1_024),
            Layer(LayerKind.MEMORY),
            *_dense(9, 640),
            Layer(LayerKind.MEMORY),
            *_dense(5),
        ),
    ),
    "recurrent": (
        (1, 20, 24),
        (
            Layer(LayerKind.LSTM, 40),
            Layer(LayerKind.GRU, 16),
            Layer(LayerKind.LSTM, 64),
            Layer(LayerKind.GRU, 96),
            *_dense(4),
        ),
    ),
}
"""Nets whose operators ONNX has for floats alone."""


def probes() -> tuple[onnx.ModelProto, ...]:
    """All probes, named `probe_…`. Each ends with a softmax."""
    return tuple(
        _Net(f"probe_{name}{'' if integer else '_float32'}", shape, integer).model(layers)
        for integer, nets in ((True, _NETS), (False, _NETS | _NETS_OF_FLOATS))
        for name, (shape, layers) in nets.items()
    )


@define
class _Net:
    """A chain of ONNX operators; `shape` is of the value at its end, without the batch."""

    name: str
    shape: tuple[int, ...]
    integer: bool
    value: str = "input"
    nodes: list[onnx.NodeProto] = field(factory=list)
    initializers: list[onnx.TensorProto] = field(factory=list)
    random: np.random.RandomState = field(factory=lambda: np.random.RandomState(0))

    def model(self, layers: Sequence[Layer]) -> onnx.ModelProto:
        entry = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, *self.shape])
        self.value = self._quantized("input", _SCALE)
        for layer in layers:
            self._add(layer)
        self.value = self._quantized(self._node("Softmax", [self.value], axis=-1), 1 / 256)
        result = helper.make_tensor_value_info(self.value, TensorProto.FLOAT, [1, *self.shape])
        graph = helper.make_graph(self.nodes, self.name, [entry], [result], self.initializers)
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _add(self, layer: Layer) -> None:
        match layer.kind:
            case LayerKind.DENSE:
                self._dense(layer.outputs)
            case LayerKind.AVERAGE:
                self._pool("AveragePool")
            case LayerKind.MAXIMUM:
                self._pool("MaxPool")
            case LayerKind.HALF:
                self._half()
            case LayerKind.TWICE:
                self._twice()
            case LayerKind.MEMORY:
                self._memory()
            case LayerKind.LSTM:
                self._recurrent("LSTM", 4, layer.outputs)
            case LayerKind.GRU:
                self._recurrent("GRU", 3, layer.outputs)
            case _:
                self._window(layer)

    def _window(self, layer: Layer) -> None:
        inputs = self.shape[0]
        groups = inputs if layer.kind is LayerKind.DEPTHWISE else 1
        outputs = layer.outputs or inputs
        before = self.value
        operands = self._parameters((outputs, inputs // groups, *layer.kernel))
        result = self._node(
            "Conv", [before, *operands], kernel_shape=layer.kernel, strides=layer.stride, group=groups,
            auto_pad="SAME_UPPER",
        )  # fmt: skip
        if layer.kind is LayerKind.RESIDUAL:
            result = self._node("Add", [self._quantized(result, _SCALE), before])
        self.value = self._quantized(self._node("Relu", [result]), _SCALE)
        rows, columns = (
            -(-extent // stride) for extent, stride in zip(self.shape[1:], layer.stride, strict=True)
        )
        self.shape = (outputs, rows, columns)

    def _dense(self, outputs: int) -> None:
        if len(self.shape) > 1:
            mean = self._quantized(self._node("GlobalAveragePool", [self.value]), _SCALE)
            self.value = self._node("Flatten", [mean])
        operands = self._parameters((outputs, self.shape[0]))
        result = self._node("Gemm", [self.value, *operands], transB=1)
        self.value = self._quantized(self._node("Relu", [result]), _SCALE)
        self.shape = (outputs,)

    def _pool(self, kind: str) -> None:
        pooled = self._node(kind, [self.value], kernel_shape=(2, 2), strides=(2, 2))
        self.value = self._quantized(pooled, _SCALE)
        self.shape = (self.shape[0], *(extent // 2 for extent in self.shape[1:]))

    def _half(self) -> None:
        channels, *extents = self.shape
        limits = [self._constant(np.array([limit], np.int64)) for limit in (0, channels // 2, 1)]
        half = self._node("Slice", [self.value, *limits])
        self.value = self._quantized(half, _SCALE)
        self.shape = (channels // 2, *extents)

    def _twice(self) -> None:
        twice = self._node("Concat", [self.value, self.value], axis=1)
        self.value = self._quantized(twice, _SCALE)
        self.shape = (2 * self.shape[0], *self.shape[1:])

    def _memory(self) -> None:
        units = self.shape[0] // _STEPS
        weights = self.random.uniform(-1, 1, size=(units, _STEPS, 1)).astype(np.float32)
        steps = self._reshaped(self.value, (units, 1, _STEPS))
        sums = self._node("MatMul", [steps, self._constant(weights)])
        self.value = self._reshaped(sums, (1, units))
        self.shape = (units,)

    def _recurrent(self, kind: str, gates: int, outputs: int) -> None:
        batch, steps, inputs = self.shape
        weights = [
            self._constant(self.random.uniform(-0.2, 0.2, (1, gates * outputs, width)).astype(np.float32))
            for width in (inputs, outputs)
        ]
        entering = self._reshaped(self.value, (steps, batch, inputs))
        states = self._node(kind, [entering, *weights], hidden_size=outputs)
        self.shape = (batch, steps, outputs)
        self.value = self._reshaped(states, (1, *self.shape))

    def _reshaped(self, value: str, shape: tuple[int, ...]) -> str:
        return self._node("Reshape", [value, self._constant(np.array(shape, np.int64))])

    def _parameters(self, shape: tuple[int, ...]) -> tuple[str, str]:
        """Weights and biases of a layer; the scale keeps results in range whatever their number."""
        depth = int(np.prod(shape[1:]))
        scales = np.full(shape[0], _WEIGHT_SCALE / np.sqrt(depth), np.float32)
        weights = self.random.randint(-127, 128, size=shape).astype(np.int8)
        biases = self.random.randint(-_BIASES, _BIASES, size=shape[0]).astype(np.int32)
        return self._parameter(weights, scales), self._parameter(biases, (scales * _SCALE).astype(np.float32))

    def _parameter(self, values: Any, scales: Any) -> str:
        if not self.integer:
            each = scales.reshape(-1, *[1] * (values.ndim - 1))
            return self._constant((values * each).astype(np.float32))
        operands = [self._constant(each) for each in (values, scales, np.zeros(len(scales), values.dtype))]
        return self._node("DequantizeLinear", operands, axis=0)

    def _quantized(self, value: str, scale: float) -> str:
        """The value through 8 bits, in a net of integers."""
        if not self.integer:
            return value
        how = [self._constant(np.array(scale, np.float32)), self._constant(np.array(0, np.int8))]
        return self._node("DequantizeLinear", [self._node("QuantizeLinear", [value, *how]), *how])

    def _constant(self, values: Any) -> str:
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def _node(self, kind: str, operands: Sequence[str], **attributes: Any) -> str:
        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name
