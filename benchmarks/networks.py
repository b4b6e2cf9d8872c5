"""Nets of the sizes that people run on a CPU, as ONNX models with random weights: for timing.

Layers are those of the papers: MobileNetV2 of width 0.35 at 96x96 (Sandler et al., "MobileNetV2", 2018, table
2), ResNet-18 at half width (He et al., "Deep residual learning", 2015, table 1), the encoder block of Vaswani
et al., "Attention is all you need", 2017, with GELU, and a U-Net of three levels (Ronneberger et al., 2015)
that enlarges by bilinear Resize. Batch normalization is folded into weights, as exporters do it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from conformance.mobilenet import SIDE, STAGES, channels
from conformance.topologies import Net

_LAST = 1280
_CLASSES = 10
_HEADS, _TOKENS, _WIDTH = 4, 64, 128


def _classified(net: Net, x: str, width: int) -> Any:
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    return net.built(net.add("Softmax", net.dense(x, width, _CLASSES)))


def mobilenet_v2_035() -> Any:
    """Inverted residuals with ReLU6."""
    net = Net((1, 3, SIDE, SIDE))
    low, high = net.number(0), net.number(6)

    def clipped(x: str) -> str:
        return net.add("Clip", x, low, high)

    before = channels(32)
    x = clipped(net.conv("x", 3, before, 3, 2))
    for expansion, full, repetitions, first in STAGES:
        after = channels(full)
        for stride in (first, *[1] * (repetitions - 1)):
            inner = before * expansion
            wide = clipped(net.conv(x, before, inner, 1)) if expansion > 1 else x
            made = net.conv(clipped(net.conv(wide, inner, inner, 3, stride, inner)), inner, after, 1)
            x = net.add("Add", x, made) if stride == 1 and before == after else made
            before = after
    return _classified(net, clipped(net.conv(x, before, _LAST, 1)), _LAST)


def resnet18_half() -> Any:
    """Basic blocks of 32 to 256 channels, for images of 128x128."""
    net = Net((1, 3, 128, 128))
    x = net.add("Relu", net.conv("x", 3, 32, 7, 2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 32
    for after, first in ((32, 1), (64, 2), (128, 2), (256, 2)):
        for stride in (first, 1):
            made = net.add("Relu", net.conv(x, before, after, 3, stride))
            made = net.conv(made, after, after, 3)
            beside = x if stride == 1 else net.conv(x, before, after, 1, stride)
            x = net.add("Relu", net.add("Add", made, beside))
            before = after
    return _classified(net, x, before)


def transformer_block() -> Any:
    """Attention of 64 tokens with four heads of 32, and a feed-forward net of four times the width."""
    net = Net((1, _TOKENS, _WIDTH))
    head = _WIDTH // _HEADS
    heads = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        split = net.add("Reshape", net.dense("x", _WIDTH, _WIDTH), net.integers(1, _TOKENS, _HEADS, head))
        heads.append(net.add("Transpose", split, perm=order))
    query, key, value = heads
    scores = net.add("Mul", net.add("MatMul", query, key), net.number(head**-0.5))
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), value)
    mixed = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", mixed, net.integers(1, _TOKENS, _WIDTH))
    x = _normalized(net, net.add("Add", "x", net.dense(mixed, _WIDTH, _WIDTH)))
    wide = net.dense(x, _WIDTH, 4 * _WIDTH)
    erf = net.add("Add", net.add("Erf", net.add("Mul", wide, net.number(0.5**0.5))), net.number(1))
    gelu = net.add("Mul", net.add("Mul", wide, erf), net.number(0.5))
    return net.built(_normalized(net, net.add("Add", x, net.dense(gelu, 4 * _WIDTH, _WIDTH))))


def _normalized(net: Net, x: str) -> str:
    return net.add("LayerNormalization", x, net.constant(np.ones(_WIDTH, np.float32)), net.weights(_WIDTH))


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
