"""A convolution or dense layer in the engine's terms: sizes in blocks, and constants in its order.

A dense layer is a 1x1 convolution over an image of one row, with a column for each of its rows. Channels come
in blocks of `LANES`, the last one filled up: inputs by the padding of the DMA, weights with zeros here.
"""

from math import prod
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.gemm_vta.description import LANES
from target_arch.plan.arithmetic import Requantization, requantization
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.rounding import ceil_div


@frozen(kw_only=True)
class LayerSizes:
    """Sizes of a layer: image and result (rows, columns, channels), and how the kernel slides over the
    image."""

    image: tuple[int, int, int]
    result: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]

    @property
    def inputs(self) -> int:
        """Blocks of input channels."""
        return ceil_div(self.image[2], LANES)

    @property
    def outputs(self) -> int:
        """Blocks of output channels."""
        return ceil_div(self.result[2], LANES)

    @property
    def products(self) -> int:
        """Products of a vector with a block of weights."""
        return prod(self.result[:2]) * prod(self.kernel) * self.inputs * self.outputs


def layer_of(operator: Operator, model: Model) -> LayerSizes:
    """The sizes of a conv2d or dense operator."""
    x, weights = model.tensors[operator.inputs[0]].shape, model.tensors[operator.constants[0]].shape
    if operator.kind is OperatorKind.DENSE:
        rows = prod(x) // weights[1]
        return LayerSizes(
            image=(1, rows, weights[1]),
            result=(1, rows, weights[0]),
            kernel=(1, 1),
            strides=(1, 1),
            padding=(0, 0, 0, 0),
        )
    out, attributes = model.tensors[operator.output].shape, operator.attributes
    strides: Any = attributes["strides"]
    padding: Any = attributes["padding"]
    return LayerSizes(
        image=(x[1], x[2], x[3]),
        result=(out[1], out[2], out[3]),
        kernel=(weights[1], weights[2]),
        strides=strides,
        padding=padding,
    )


def packed(operator: Operator, model: Model, layer: LayerSizes) -> tuple[Tensor, ...]:
    """Weights int8 [outputs, inputs, KH, KW, LANES, LANES], then bias, multiplier and shift int32
    [outputs, LANES].

    The bias includes the contribution of the input's zero point to every sum:
    sum((x - z) * w) + b = sum(x * w) + (b - z * sum(w)), modulo 2**32 as the accumulators are.
    """
    weights, bias = (model.tensors[name] for name in operator.constants)
    assert weights.data is not None
    assert bias.data is not None
    scaling = requantization(operator, model)
    o, (kh, kw), c = layer.result[2], layer.kernel, layer.image[2]
    values = np.frombuffer(weights.data, np.int8).reshape(o, kh, kw, c)
    sums = values.astype(np.int64).sum(axis=(1, 2, 3))
    folded = np.frombuffer(bias.data, "<i4").astype(np.int64) + scaling.input_offset * sums
    blocks = np.zeros((layer.outputs * LANES, kh, kw, layer.inputs * LANES), np.int8)
    blocks[:o, :, :, :c] = values
    blocks = blocks.reshape(layer.outputs, LANES, kh, kw, layer.inputs, LANES).transpose(0, 4, 2, 3, 1, 5)
    return (
        _tensor(operator, "weights", blocks),
        _tensor(operator, "bias", _lanes(folded, layer)),
        *(
            _tensor(operator, name, _lanes(each, layer))
            for name, each in zip(("multiplier", "shift"), _scales(scaling, o), strict=True)
        ),
    )


def _scales(scaling: Requantization, channels: int) -> tuple[Any, Any]:
    """Multipliers and shifts, one per channel."""
    each = 1 if len(scaling.multipliers) > 1 else channels
    return np.repeat(scaling.multipliers, each), np.repeat(scaling.shifts, each)


def _lanes(values: Any, layer: LayerSizes) -> Any:
    filled = np.zeros(layer.outputs * LANES, np.int64)
    filled[: len(values)] = values
    return (filled & 0xFFFFFFFF).astype("<u4").view("<i4").reshape(layer.outputs, LANES)


def _tensor(operator: Operator, suffix: str, values: Any) -> Tensor:
    data = np.ascontiguousarray(values)
    return Tensor(
        name=f"{operator.id}.{suffix}", shape=data.shape, dtype=str(data.dtype), data=data.tobytes()
    )
