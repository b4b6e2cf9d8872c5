"""MobileNetV2 of width 0.35 at 96x96 as an int8 TFLite file, with random weights.

The layers are those of Keras' `MobileNetV2(alpha=0.35)` as its converter writes them: an explicit PAD before
each depthwise convolution of stride 2, average pooling as MEAN; with two classes, since the weights of a
thousand would not fit the flash of `mcu_m7`. Widths, expansions, repetitions and strides are those of table 2
of Sandler et al., "MobileNetV2", 2018.
"""

import numpy as np
from attrs import define, field, frozen

from conformance.tflite_files import TfliteFile

WIDTH, SIDE, CLASSES = 0.35, 96, 2
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, repetitions and first stride, from table 2 of Sandler et al., "MobileNetV2", 2018."""
_LAST = 1280
_PIXEL, _LINEAR, _CLIPPED = (1 / 128, 0), (0.06, 0), (6 / 255, -128)
"""Scale and zero point of the image, of linear layers, and of values between 0 and 6."""
_SPREAD = 2.0
"""The standard deviation of outputs that weights are made for, so that some are clipped."""
_SPREAD_OF_LOGITS = 0.2
_NONE, _RELU6 = 0, 3
_SAME, _VALID = 0, 1


def channels(full: int, width: float = WIDTH) -> int:
    """Channels at this width: a multiple of 8 that is at most a tenth less than the product."""
    wanted = full * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


@frozen
class _Image:
    """A tensor of the graph: square, with channels last; and its scale and zero point."""

    index: int
    side: int
    channels: int
    grid: tuple[float, int]


@define
class _Net:
    """The graph under construction."""

    file: TfliteFile = field(factory=TfliteFile)
    _draw: np.random.Generator = field(factory=lambda: np.random.default_rng(0))

    def image(self, side: int, depth: int, grid: tuple[float, int]) -> _Image:
        """A new tensor."""
        return _Image(self.file.tensor((1, side, side, depth), "int8", *grid), side, depth, grid)

    def convolution(
        self, x: _Image, depth: int, taps: int = 1, stride: int = 1, *, linear: bool = False
    ) -> _Image:
        """A convolution; its result is between 0 and 6 where it is not linear."""
        y = self.image(-(-x.side // stride), depth, _LINEAR if linear else _CLIPPED)
        inputs = [x.index, *self.weights(x, (depth, taps, taps, x.channels), 0)]
        options = _options(stride, _SAME, _NONE if linear else _RELU6)
        self.file.operator("CONV_2D", inputs, [y.index], ("Conv2DOptions", options), 3)
        return y

    def depthwise(self, x: _Image, stride: int) -> _Image:
        """A depthwise convolution of 3x3."""
        y = self.image(x.side // stride, x.channels, _CLIPPED)
        given = self.padded(x) if stride == 2 else x
        inputs = [given.index, *self.weights(x, (1, 3, 3, x.channels), 3)]
        options = _options(stride, _VALID if stride == 2 else _SAME, _RELU6) | {"depthMultiplier": 1}
        self.file.operator("DEPTHWISE_CONV_2D", inputs, [y.index], ("DepthwiseConv2DOptions", options), 3)
        return y

    def padded(self, x: _Image) -> _Image:
        """One row more below, and one column more to the right."""
        y = self.image(x.side + 1, x.channels, x.grid)
        sizes = self.file.tensor((4, 2), "int32", data=np.array([[0, 0], [0, 1], [0, 1], [0, 0]]))
        self.file.operator("PAD", [x.index, sizes], [y.index], ("PadOptions", {}))
        return y

    def sum(self, one: _Image, other: _Image) -> _Image:
        """The end of a residual block."""
        y = self.image(one.side, one.channels, _LINEAR)
        options = {"fusedActivationFunction": _NONE}
        self.file.operator("ADD", [one.index, other.index], [y.index], ("AddOptions", options), 2)
        return y

    def weights(self, x: _Image, shape: tuple[int, ...], axis: int, spread: float = _SPREAD) -> list[int]:
        """Weights with a scale for each output, and the bias."""
        outputs = shape[axis]
        terms = int(np.prod(shape)) // outputs
        reach = self._draw.uniform(2, 4, outputs) * spread / terms**0.5
        scales = [float(each) / 127 for each in reach]
        values = np.clip(np.rint(self._draw.normal(0, 127 / 3, shape)), -127, 127)
        products = [each * x.grid[0] for each in scales]
        bias = np.rint(self._draw.normal(0.5, 0.5, outputs) / products)
        return [
            self.file.tensor(shape, "int8", scales, data=values, axis=axis),
            self.file.tensor((outputs,), "int32", products, data=bias),
        ]

    def head(self, x: _Image) -> None:
        """The mean of each channel, a dense layer, and softmax."""
        mean = self.file.tensor((1, x.channels), "int8", *x.grid)
        options = ("ReducerOptions", {"keepDims": False})
        self.file.operator("MEAN", [x.index, self.file.numbers(1, 2)], [mean], options, 2)
        inputs = [mean, *self.weights(x, (CLASSES, x.channels), 0, _SPREAD_OF_LOGITS)]
        logits = self.file.tensor((1, CLASSES), "int8", *_LINEAR)
        dense = ("FullyConnectedOptions", {"fusedActivationFunction": _NONE})
        self.file.operator("FULLY_CONNECTED", inputs, [logits], dense, 4)
        out = self.file.output((1, CLASSES), "int8", 1 / 256, -128)
        self.file.operator("SOFTMAX", [logits], [out], ("SoftmaxOptions", {"beta": 1.0}), 2)


def _options(stride: int, padding: int, activation: int) -> dict[str, int]:
    return {
        "strideH": stride,
        "strideW": stride,
        "padding": padding,
        "fusedActivationFunction": activation,
        "dilationHFactor": 1,
        "dilationWFactor": 1,
    }


def mobilenet(side: int = SIDE, early: int = 2) -> bytes:
    """The bytes of the file; always the same. Images have that side, and `early` is the stride of the first
    layer and of the second stage: 1 where images are small.
    """
    net = _Net()
    given = net.file.input((1, side, side, 3), "int8", *_PIXEL)
    x = net.convolution(_Image(given, side, 3, _PIXEL), channels(32), 3, early)
    for number, (expansion, full, repetitions, first) in enumerate(STAGES):
        for stride in (early if number == 1 else first, *[1] * (repetitions - 1)):
            wide = net.convolution(x, x.channels * expansion) if expansion > 1 else x
            y = net.convolution(net.depthwise(wide, stride), channels(full), linear=True)
            x = net.sum(x, y) if stride == 1 and x.channels == y.channels else y
    net.head(net.convolution(x, _LAST))
    return net.file.content()
