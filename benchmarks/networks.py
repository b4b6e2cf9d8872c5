"""Nets of the sizes that people run on a CPU, as ONNX models with random weights: for timing.

Layers are those of the papers: MobileNetV2 of width 0.35 at 96x96 (Sandler et al., "MobileNetV2", 2018, table
2), ResNet-18 at half width (He et al., "Deep residual learning", 2015, table 1), the encoder block of Vaswani
et al., "Attention is all you need", 2017, with GELU, and a U-Net of three levels (Ronneberger et al., 2015)
that enlarges by bilinear Resize. Batch normalization is folded into weights, as exporters do it. `NETWORKS`
are small ones, `LARGE` those of the sizes of the papers: MobileNetV2 of width 1 and ResNet-18 for images of
224x224, and a block of BERT-base (Devlin et al., 2019) for 128 tokens.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from conformance.mobilenet import SIDE, STAGES, WIDTH, channels
from conformance.topologies import Net

_LAST = 1280
_CLASSES = 10
_LARGE, _MANY = 224, 1000
"""Side of the images of large nets, and their classes."""


def _classified(net: Net, x: str, width: int, classes: int) -> Any:
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    return net.built(net.add("Softmax", net.dense(x, width, classes)))


def mobilenet_v2_035() -> Any:
    """Inverted residuals with ReLU6."""
    return _mobilenet(WIDTH, SIDE, _CLASSES)


def mobilenet_v2_100() -> Any:
    """The same of width 1, for images of 224x224."""
    return _mobilenet(1.0, _LARGE, _MANY)


def _mobilenet(width: float, side: int, classes: int) -> Any:
    net = Net((1, 3, side, side))
    low, high = net.number(0), net.number(6)

    def clipped(x: str) -> str:
        return net.add("Clip", x, low, high)

    before = channels(32, width)
    x = clipped(net.conv("x", 3, before, 3, 2))
    for expansion, full, repetitions, first in STAGES:
        after = channels(full, width)
        for stride in (first, *[1] * (repetitions - 1)):
            inner = before * expansion
            wide = clipped(net.conv(x, before, inner, 1)) if expansion > 1 else x
            made = net.conv(clipped(net.conv(wide, inner, inner, 3, stride, inner)), inner, after, 1)
            x = net.add("Add", x, made) if stride == 1 and before == after else made
            before = after
    return _classified(net, clipped(net.conv(x, before, _LAST, 1)), _LAST, classes)


def resnet18_half() -> Any:
    """Basic blocks of 32 to 256 channels, for images of 128x128."""
    return _resnet18(32, 128, _CLASSES)


def resnet18() -> Any:
    """Basic blocks of 64 to 512 channels, for images of 224x224."""
    return _resnet18(64, _LARGE, _MANY)


def _resnet18(before: int, side: int, classes: int) -> Any:
    net = Net((1, 3, side, side))
    x = net.add("Relu", net.conv("x", 3, before, 7, 2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for after, first in ((before, 1), (2 * before, 2), (4 * before, 2), (8 * before, 2)):
        for stride in (first, 1):
            made = net.add("Relu", net.conv(x, before, after, 3, stride))
            made = net.conv(made, after, after, 3)
            beside = x if stride == 1 else net.conv(x, before, after, 1, stride)
            x = net.add("Relu", net.add("Add", made, beside))
            before = after
    return _classified(net, x, before, classes)


def transformer_block() -> Any:
    """Attention of 64 tokens with four heads of 32, and a feed-forward net of four times the width."""
    return _encoder(tokens=64, width=128, count=4)


def bert_block() -> Any:
    """The same of 128 tokens with twelve heads of 64."""
    return _encoder(tokens=128, width=768, count=12)


def _encoder(*, tokens: int, width: int, count: int) -> Any:
    net = Net((1, tokens, width))
    head = width // count
    heads = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        split = net.add("Reshape", net.dense("x", width, width), net.integers(1, tokens, count, head))
        heads.append(net.add("Transpose", split, perm=order))
    query, key, value = heads
    scores = net.add("Mul", net.add("MatMul", query, key), net.number(head**-0.5))
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), value)
    mixed = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", mixed, net.integers(1, tokens, width))
    x = _normalized(net, net.add("Add", "x", net.dense(mixed, width, width)), width)
    inner = net.dense(x, width, 4 * width)
    erf = net.add("Add", net.add("Erf", net.add("Mul", inner, net.number(0.5**0.5))), net.number(1))
    gelu = net.add("Mul", net.add("Mul", inner, erf), net.number(0.5))
    made = net.add("Add", x, net.dense(gelu, 4 * width, width))
    return net.built(_normalized(net, made, width))


def _normalized(net: Net, x: str, width: int) -> str:
    return net.add("LayerNormalization", x, net.constant(np.ones(width, np.float32)), net.weights(width))


def unet() -> Any:
    """Three levels of 16, 32 and 64 channels, for images of 64x64."""
    net = Net((1, 3, 64, 64))
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))

    def twice(x: str, before: int, after: int) -> str:
        x = net.add("Relu", net.conv(x, before, after, 3))
        return net.add("Relu", net.conv(x, after, after, 3))

    def halved(x: str) -> str:
        return net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    fine = twice("x", 3, 16)
    middle = twice(halved(fine), 16, 32)
    x = twice(halved(middle), 32, 64)
    for beside, before, after in ((middle, 64, 32), (fine, 32, 16)):
        large = net.conv(net.add("Resize", x, "", scales, mode="linear"), before, after, 3)
        x = twice(net.add("Concat", large, beside, axis=1), 2 * after, after)
    return net.built(net.add("Sigmoid", net.conv(x, 16, 1, 1)))


NETWORKS: Mapping[str, Callable[[], Any]] = {
    made.__name__: made for made in (mobilenet_v2_035, resnet18_half, transformer_block, unet)
}
"""Nets of a tenth of a millisecond to two."""

LARGE: Mapping[str, Callable[[], Any]] = {
    made.__name__: made for made in (mobilenet_v2_100, resnet18, bert_block)
}
"""Nets of the sizes of the papers."""
