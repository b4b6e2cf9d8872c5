"""Random integer networks with planted channels: dead, constant, unread, saturating."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, field

from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

Values = np.ndarray[Any, Any]


@define
class Network:
    """A network under construction, drawn from `draw`; `planted` counts the channels made constant."""

    draw: np.random.Generator
    arithmetic: Arithmetic = Arithmetic.TFLITE
    tensors: dict[str, Tensor] = field(factory=dict)
    operators: list[Operator] = field(factory=list)
    planted: int = 0

    def activation(self, shape: tuple[int, ...], like: str = "") -> str:
        """Add a tensor of int8 values on a grid of its own, or on that of another tensor."""
        name = f"t{len(self.tensors)}"
        grid = self.tensors[like].quantization if like else self._grid()
        self.tensors[name] = Tensor(name=name, shape=shape, dtype="int8", quantization=grid)
        return name

    def constant(self, values: Values, scales: Values) -> str:
        """Add weights or biases."""
        name = f"k{len(self.tensors)}"
        grid = Quantization(
            scale=tuple(map(float, scales)),
            zero_point=(0,) * len(scales),
            axis=0 if len(scales) > 1 else None,
        )
        self.tensors[name] = Tensor(
            name=name, shape=values.shape, dtype=str(values.dtype), quantization=grid, data=values.tobytes()
        )
        return name

    def add(
        self,
        kind: OperatorKind,
        inputs: tuple[str, ...],
        output: str,
        constants: tuple[str, ...] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> str:
        """Add an operator; the name of its output."""
        self.operators.append(
            Operator(
                id=f"{kind}_{len(self.operators)}",
                kind=kind,
                arithmetic=self.arithmetic,
                inputs=inputs,
                constants=constants,
                output=output,
                attributes=attributes or {},
            )
        )
        return output

    def conv2d(
        self,
        source: str,
        outputs: int,
        *,
        kernel: int = 1,
        pad: int = 0,
        dead: Values | None = None,
        unread: Values | None = None,
        saturated: Values | None = None,
        shared: Values | None = None,
        twin: Values | None = None,
    ) -> str:
        """Add a convolution without weights for the outputs `dead`, about a third by default, and for the
        inputs `unread`. Outputs have the biases `saturated` where those are not zero, a tenth by default.

        Weights for so many inputs as `shared` says add up to a weight. Output c is that of channel `twin[c]`.
        """
        batch, height, width, channels = self.tensors[source].shape
        weights = self._weights((outputs, kernel, kernel, channels))
        weights[self._plant(outputs) if dead is None else dead] = 0
        weights[..., self.draw.random(channels) < 0.1 if unread is None else unread] = 0
        weights = _divided(weights, shared)
        shape = (batch, height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1, outputs)
        if twin is not None:
            weights = weights[twin]
        return self._product(
            OperatorKind.CONV2D, source, shape, weights, outputs, _window(pad), saturated, twin
        )

    def depthwise(
        self,
        source: str,
        *,
        pad: int = 1,
        multiplier: int = 1,
        dead: Values | None = None,
        twin: Values | None = None,
    ) -> str:
        """Add a depthwise convolution without weights for the outputs `dead`, about a third by default."""
        batch, height, width, channels = self.tensors[source].shape
        outputs = channels * multiplier
        weights = self._weights((3, 3, outputs))
        weights[..., self._plant(outputs) if dead is None else dead] = 0
        shape = (batch, height + 2 * pad - 2, width + 2 * pad - 2, outputs)
        attributes = {**_window(pad), "depth_multiplier": multiplier}
        if twin is not None:
            weights = weights[..., twin]
        kind = OperatorKind.DEPTHWISE_CONV2D
        return self._product(kind, source, shape, weights, outputs, attributes, twin=twin)

    def dense(
        self, source: str, outputs: int, unread: Values | None = None, shared: Values | None = None
    ) -> str:
        """Add a fully connected layer over all elements of an image, without weights for those `unread`."""
        row = int(np.prod(self.tensors[source].shape[1:]))
        weights = self._weights((outputs, row))
        if unread is not None:
            weights[:, unread] = 0
        weights = _divided(weights, shared)
        return self._product(OperatorKind.DENSE, source, (1, outputs), weights, outputs, {"in_features": row})

    def model(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Model:
        """The network as a model."""
        return Model(
            name="random",
            source="random",
            inputs=inputs,
            outputs=outputs,
            tensors=self.tensors,
            operators=tuple(self.operators),
        )

    def _product(
        self,
        kind: OperatorKind,
        source: str,
        shape: tuple[int, ...],
        weights: Values,
        outputs: int,
        attributes: Mapping[str, Attribute],
        saturated: Values | None = None,
        twin: Values | None = None,
    ) -> str:
        grid = self.tensors[source].quantization
        assert grid is not None
        scales = self.draw.uniform(0.002, 0.02, outputs if self.draw.random() < 0.7 else 1).astype(np.float32)
        bias = self.draw.integers(-3000, 3000, outputs).astype(np.int32)
        if saturated is None:
            saturated = np.where(self.draw.random(outputs) < 0.1, 10**7, 0)
        bias = np.where(saturated == 0, bias, saturated).astype(np.int32)
        if twin is not None:
            bias, scales = bias[twin], scales if len(scales) == 1 else scales[twin]
        constants = (self.constant(weights, scales), self.constant(bias, scales * grid.scale[0]))
        return self.add(kind, (source,), self.activation(shape), constants, self._clamped(attributes))

    def _clamped(self, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
        low = int(self.draw.integers(-128, 0)) if self.draw.random() < 0.5 else -128
        return {**attributes, "activation_min": low, "activation_max": 127}

    def _weights(self, shape: tuple[int, ...]) -> Values:
        return self.draw.integers(-127, 128, shape).astype(np.int8)

    def _plant(self, outputs: int) -> Values:
        chosen = self.draw.random(outputs) < 0.35
        self.planted += int(chosen.sum())
        return chosen

    def _grid(self) -> Quantization:
        scale = float(np.float32(self.draw.uniform(0.02, 0.2)))
        return Quantization(scale=(scale,), zero_point=(int(self.draw.integers(-128, 20)),))


def _divided(weights: Values, shared: Values | None) -> Values:
    return weights if shared is None else (weights / shared).astype(np.int8)


def _window(pad: int) -> dict[str, Attribute]:
    return {"strides": (1, 1), "padding": (pad, pad, pad, pad), "dilation": (1, 1)}


def random_network(seed: int) -> tuple[Model, int]:
    """A network of every kind that channels go through, and how many channels were planted in it."""
    draw = np.random.default_rng(seed)
    arithmetic = Arithmetic.TFLITE if draw.random() < 0.6 else Arithmetic.ONNX
    net = Network(draw, arithmetic)
    start = net.activation((1, 5, 5, int(draw.integers(1, 5))))
    tip = net.conv2d(start, int(draw.integers(4, 10)), kernel=3, pad=1)
    for _ in range(int(draw.integers(2, 7))):
        tip = _grown(net, tip)
    if draw.random() < 0.5:
        shape = net.tensors[tip].shape
        tip = net.add(
            OperatorKind.AVG_POOL2D,
            (tip,),
            net.activation((1, 1, 1, shape[-1]), like=tip),
            (),
            {"kernel": (5, 5), "strides": (1, 1), "padding": (0, 0, 0, 0)},
        )
    row = int(np.prod(net.tensors[tip].shape))
    tip = net.add(OperatorKind.RESHAPE, (tip,), net.activation((1, row), like=tip))
    return net.model((start,), (net.dense(tip, 4),)), net.planted


def _grown(net: Network, tip: str) -> str:
    """One more block behind a tensor."""
    shape = net.tensors[tip].shape
    block = net.draw.integers(0, 6)
    if block == 0:
        return net.depthwise(tip, multiplier=int(net.draw.integers(1, 3)))
    if block == 1:
        kind = [OperatorKind.ADD, OperatorKind.SUB, OperatorKind.MUL][int(net.draw.integers(0, 3))]
        return net.add(kind, (tip, net.conv2d(tip, shape[-1])), net.activation(shape))
    if block == 2:
        other = net.conv2d(tip, int(net.draw.integers(2, 6)))
        like = net.activation((*shape[:-1], net.tensors[other].shape[-1] + shape[-1]), like=tip)
        net.tensors[other] = Tensor(
            name=other,
            shape=net.tensors[other].shape,
            dtype="int8",
            quantization=net.tensors[tip].quantization,
        )
        return net.add(OperatorKind.CONCAT, (tip, other), like, (), {"axis": 3})
    if block == 3:
        return net.add(OperatorKind.REQUANTIZE, (tip,), net.activation(shape))
    if block == 4:
        window = {"kernel": (3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1)}
        return net.add(OperatorKind.MAX_POOL2D, (tip,), net.activation(shape, like=tip), (), window)
    return net.conv2d(tip, int(net.draw.integers(3, 12)), kernel=3, pad=1)
