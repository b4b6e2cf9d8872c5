"""Random ONNX models of up to eight operators, in floats or quantized to int8."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from attrs import define, field
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
_NEAR = (1, 1, 2, 3, 4, 5, 8)
"""Extents: odd ones, such as no tile divides, and one."""


@define
class _Tensor:
    """`steps` are scale and zero point, None of a float net."""

    name: str
    shape: Shape
    steps: tuple[float, int] | None = None

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 4


@define
class _Net:
    """A model that grows."""

    draw: Random
    quantized: bool
    nodes: list[Any] = field(factory=list)
    constants: dict[str, Array] = field(factory=dict)
    tensors: list[_Tensor] = field(factory=list)
    read: set[str] = field(factory=set)

    def constant(self, values: Array) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = values
        return name

    def values(self, *shape: int) -> Array:
        count = int(np.prod(shape))
        found = [self.draw.uniform(-1, 1) for _ in range(count)]
        return np.array(found, np.float32).reshape(shape)

    def weights(self, x: _Tensor, *shape: int) -> list[str]:
        """Weights and, half the time, a bias; of a quantized net as integers with their scale."""
        bias = self.draw.random() < 0.5
        if x.steps is None:
            made = [self.constant(self.values(*shape))]
            return [*made, self.constant(self.values(shape[0]))] if bias else made
        scale = self.draw.uniform(0.01, 0.05)
        numbers = np.round(self.values(*shape) * 127).astype(np.int8)
        made = [self._dequantized(numbers, scale, np.int8)]
        if bias:
            numbers = np.round(self.values(shape[0]) * 1000).astype(np.int32)
            made.append(self._dequantized(numbers, scale * x.steps[0], np.int32))
        return made

    def add(self, kind: str, operands: list[str], shape: Shape, like: _Tensor, **attributes: Any) -> None:
        """An operator; its result keeps the steps of `like` where the operator only moves values."""
        moves = kind in ("MaxPool", "Flatten", "Concat", "Relu", "Transpose", "Reshape")
        name = f"t{len(self.tensors)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        self.read |= set(operands)
        self.put(_Tensor(name, shape), like.steps if moves else None)

    def put(self, made: _Tensor, steps: tuple[float, int] | None = None) -> None:
        """A tensor of the net, brought to eight bits where the net is quantized."""
        if self.quantized:
            steps = steps or (self.draw.uniform(0.005, 0.1), self.draw.randint(-128, 127))
            made = self._eight_bits(made, steps)
        self.tensors.append(made)

    def _eight_bits(self, made: _Tensor, steps: tuple[float, int]) -> _Tensor:
        scale = self.constant(np.array(steps[0], np.float32))
        zero = self.constant(np.array(steps[1], np.int8))
        q, d = f"{made.name}_q", f"{made.name}_d"
        self.nodes.append(helper.make_node("QuantizeLinear", [made.name, scale, zero], [q]))
        self.nodes.append(helper.make_node("DequantizeLinear", [q, scale, zero], [d]))
        return _Tensor(d, made.shape, steps)

    def _dequantized(self, numbers: Array, scale: float, kind: type[np.generic]) -> str:
        operands = [self.constant(each) for each in (numbers, np.array(scale, np.float32), np.array(0, kind))]
        name = f"{operands[0]}_d"
        self.nodes.append(helper.make_node("DequantizeLinear", operands, [name]))
        return name


def _convolution(net: _Net, x: _Tensor) -> None:
    _, channels, height, width = x.shape
    draw = net.draw
    depthwise = draw.random() < 0.3
    kernel = (draw.randint(1, min(3, height)), draw.randint(1, min(3, width)))
    strides = (draw.randint(1, 2), draw.randint(1, 2))
    pads = [draw.randint(0, size - 1) for size in (*kernel, *kernel)]
    out = channels if depthwise else draw.choice(_NEAR)
    weights = net.weights(x, out, 1 if depthwise else channels, *kernel)
    sizes = _strided((height, width), kernel, strides, pads)
    group = channels if depthwise else 1
    net.add(
        "Conv", [x.name, *weights], (1, out, *sizes), x, strides=strides, pads=pads, group=group,
        kernel_shape=kernel,
    )  # fmt: skip


def _strided(sizes: Shape, kernel: Shape, strides: Shape, pads: list[int]) -> Shape:
    padded = (size + pads[axis] + pads[axis + 2] for axis, size in enumerate(sizes))
    return tuple((size - k) // s + 1 for size, k, s in zip(padded, kernel, strides, strict=True))


def _pool(net: _Net, x: _Tensor) -> None:
    _, channels, height, width = x.shape
    kernel = (net.draw.randint(1, min(3, height)), net.draw.randint(1, min(3, width)))
    strides = (net.draw.randint(1, 2), net.draw.randint(1, 2))
    kind = net.draw.choice(("MaxPool", "AveragePool"))
    shape = (1, channels, *_strided((height, width), kernel, strides, [0, 0, 0, 0]))
    net.add(kind, [x.name], shape, x, kernel_shape=kernel, strides=strides)


def _mean(net: _Net, x: _Tensor) -> None:
    net.add("GlobalAveragePool", [x.name], (1, x.shape[1], 1, 1), x)


def _dense(net: _Net, x: _Tensor) -> None:
    if x.is_image:
        net.add("Flatten", [x.name], (1, int(np.prod(x.shape))), x)
        x = net.tensors[-1]
    out = net.draw.choice(_NEAR)
    net.add("Gemm", [x.name, *net.weights(x, out, x.shape[1])], (1, out), x, transB=1)


def _both(net: _Net, x: _Tensor) -> None:
    others = [other.name for other in net.tensors if other.shape == x.shape]
    kind = net.draw.choice(("Add", "Add", "Mul", "Sub"))
    net.add(kind, [x.name, net.draw.choice(others)], x.shape, x)


def _join(net: _Net, x: _Tensor) -> None:
    others = [
        other
        for other in net.tensors
        if other.shape[2:] == x.shape[2:] and len(other.shape) == len(x.shape) and other.steps == x.steps
    ]
    other = net.draw.choice(others)
    shape = (1, x.shape[1] + other.shape[1], *x.shape[2:])
    net.add("Concat", [x.name, other.name], shape, x, axis=1)


def _turn(net: _Net, x: _Tensor) -> None:
    order = [0, *net.draw.sample(range(1, len(x.shape)), len(x.shape) - 1)]
    net.add("Transpose", [x.name], tuple(x.shape[axis] for axis in order), x, perm=order)


def _activation(net: _Net, x: _Tensor) -> None:
    kinds = ("Relu",) if net.quantized else ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Softmax")
    net.add(net.draw.choice(kinds), [x.name], x.shape, x)


_EVERYWHERE = (_dense, _both, _join, _turn, _activation)
_OF_IMAGES = (_convolution, _convolution, _convolution, _pool, _mean)


def net(seed: int) -> Any:
    """The ONNX model of that number: one or two inputs, every result that nothing reads as an output."""
    draw = Random(seed)
    made = _Net(draw, quantized=draw.random() < 0.5)
    inputs = {}
    for number in range(draw.choice((1, 1, 2))):
        channels, height, width = (draw.choice(_NEAR) for _ in range(3))
        inputs[f"x{number}"] = (1, channels, height, width)
        made.put(_Tensor(f"x{number}", inputs[f"x{number}"]))
    for _ in range(draw.randint(1, 8)):
        x = draw.choice(made.tensors[-3:])
        ways: tuple[Callable[[_Net, _Tensor], None], ...] = (
            (*_EVERYWHERE, *_OF_IMAGES) if x.is_image else _EVERYWHERE
        )
        draw.choice(ways)(made, x)
    outputs = {each.name: each.shape for each in made.tensors if each.name not in made.read}
    return _model(made, inputs, {name: shape for name, shape in outputs.items() if name not in inputs})


def _model(made: _Net, inputs: dict[str, Shape], outputs: dict[str, Shape]) -> Any:
    def declared(tensors: dict[str, Shape]) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, tensors[name]) for name in tensors]

    constants = [numpy_helper.from_array(value, name) for name, value in made.constants.items()]
    graph = helper.make_graph(made.nodes, "net", declared(inputs), declared(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
