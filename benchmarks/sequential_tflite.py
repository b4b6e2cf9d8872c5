"""A trained `torch.nn.Sequential` as a float TFLite file, as TensorFlow's converter would write it.

Channels are last, normalizations are in the weights of the convolutions before them, rectifiers in the
operators before them, and zeros around an image are a PAD. Signals are images with one row.
"""

from typing import Any

import numpy as np
from attrs import define, field

from conformance.tflite_files import TfliteFile

INPUT = "t0"
"""The name of the input in the file."""
_NONE, _RELU = 0, 1
_VALID = 1
Array = np.ndarray[Any, Any]


def channels_last(values: Array) -> Array:
    """Images [N, C, H, W] and signals [N, C, W] as the file takes them; rows [N, K] as they are."""
    if values.ndim == 2:
        return values
    rows = values if values.ndim == 4 else values[:, :, None]
    return np.ascontiguousarray(np.moveaxis(rows, 1, -1))


def sequential_tflite(net: Any, example: Array) -> bytes:
    """The content of the file. `example` is an input of the net, with a batch of 1."""
    from torch import nn

    layers, written = list(net.eval()), _Written(shape=channels_last(example).shape)
    for number, layer in enumerate(layers):
        then = layers[number + 1 :]
        if isinstance(layer, nn.Conv1d | nn.Conv2d):
            norm = next((each for each in then[:1] if hasattr(each, "running_var")), None)
            rectified = isinstance(then[norm is not None], nn.ReLU)
            written.convolution(layer, *_folded(layer, norm), _RELU if rectified else _NONE)
        elif isinstance(layer, nn.Linear):
            written.dense(_values(layer.weight), _values(layer.bias), _RELU if then else _NONE)
        elif isinstance(layer, nn.AdaptiveAvgPool1d | nn.AdaptiveAvgPool2d):
            written.mean()
    return written.content()


@define(kw_only=True)
class _Written:
    """The graph under construction, with the index and the shape of the tensor that was made last."""

    shape: tuple[int, ...]
    index: int = field(init=False)
    file: TfliteFile = field(factory=TfliteFile)

    def __attrs_post_init__(self) -> None:
        self.index = self.file.input(self.shape, "float32")

    def content(self) -> bytes:
        """The bytes of the file, whose output is the last tensor."""
        self.file.mark_output(self.index)
        return self.file.content()

    def convolution(self, layer: Any, weights: Array, bias: Array, activation: int) -> None:
        """A convolution, or a depthwise one, of weights [O, I, H, W]."""
        self._pad(*_of_images(layer.padding, 0))
        stride, depthwise = _of_images(layer.stride, 1), layer.groups > 1
        options = {"padding": _VALID, "strideH": stride[0], "strideW": stride[1]}
        options |= {"dilationHFactor": 1, "dilationWFactor": 1, "fusedActivationFunction": activation}
        options |= {"depthMultiplier": 1} if depthwise else {}
        extents = [
            (extent - taps) // step + 1
            for extent, taps, step in zip(self.shape[1:3], weights.shape[2:], stride, strict=True)
        ]
        kind, table, order = (
            ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", (1, 2, 3, 0))
            if depthwise
            else ("CONV_2D", "Conv2DOptions", (0, 2, 3, 1))
        )
        operands = self._constants(weights.transpose(order), bias)
        self._append(kind, operands, (1, *extents, len(weights)), (table, options))

    def dense(self, weights: Array, bias: Array, activation: int) -> None:
        """A dense layer of weights [O, I]."""
        options = {"fusedActivationFunction": activation}
        operands = self._constants(weights, bias)
        self._append("FULLY_CONNECTED", operands, (1, len(weights)), ("FullyConnectedOptions", options))

    def mean(self) -> None:
        """The mean of each channel."""
        options = ("ReducerOptions", {"keepDims": False})
        self._append("MEAN", [self.file.numbers(1, 2)], (1, self.shape[-1]), options)

    def _pad(self, rows: int, columns: int) -> None:
        if rows or columns:
            sizes = np.array([[0, 0], [rows, rows], [columns, columns], [0, 0]])
            n, height, width, depth = self.shape
            operands = [self.file.tensor((4, 2), "int32", data=sizes)]
            self._append(
                "PAD", operands, (n, height + 2 * rows, width + 2 * columns, depth), ("PadOptions", {})
            )

    def _constants(self, *values: Array) -> list[int]:
        return [self.file.tensor(each.shape, "float32", data=each) for each in values]

    def _append(self, code: str, operands: list[int], shape: tuple[int, ...], options: Any) -> None:
        made = self.file.tensor(shape, "float32")
        self.file.operator(code, [self.index, *operands], [made], options)
        self.index, self.shape = made, shape


def _folded(layer: Any, norm: Any) -> tuple[Array, Array]:
    """Weights [O, I, H, W] and the bias of a convolution with the normalization behind it."""
    weights = _values(layer.weight)
    rows = weights if weights.ndim == 4 else weights[:, :, None]
    bias = np.zeros(len(rows)) if layer.bias is None else _values(layer.bias)
    if norm is None:
        return rows, bias
    factors = _values(norm.weight) / np.sqrt(_values(norm.running_var) + norm.eps)
    moved = (bias - _values(norm.running_mean)) * factors + _values(norm.bias)
    return rows * factors[:, None, None, None], moved


def _values(parameter: Any) -> Array:
    return np.asarray(parameter.detach().numpy(), np.float64)


def _of_images(pair: tuple[int, ...], row: int) -> tuple[int, int]:
    """A parameter for height and width; that of a signal is for its width."""
    return (pair[0], pair[1]) if len(pair) == 2 else (row, pair[0])
