"""Nets with the architectures of torchvision and others, saved by `torch.export`, each compiled and verified.

    python -m conformance.torch_nets [--only TEXT] [--form NAME] [--results FILE] [--minutes NUMBER]

The nets are small, with random weights: what counts is which operators meet. Needs PyTorch, and
`torchao` for the forms that pt2e quantization makes:

    float          as built
    pt2e           int8, one scale a tensor
    pt2e_channels  int8, one scale a channel of weights

Otherwise as `conformance.topologies`.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from conformance.topologies import arguments_of, outcomes

FORMS = ("float", "pt2e", "pt2e_channels")


class Residual(nn.Module):  # type: ignore[misc]  # PyTorch has no types here
    """What its body makes of an image, added to the image."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Any) -> Any:
        """The sum."""
        return x + self.body(x)


class Excitation(nn.Module):  # type: ignore[misc]
    """Channels weighed by squeeze and excitation."""

    def __init__(self, channels: int, inner: nn.Module, gate: nn.Module) -> None:
        super().__init__()
        few = channels // 4
        self.share = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, few, 1), inner, nn.Conv2d(few, channels, 1), gate
        )

    def forward(self, x: Any) -> Any:
        """The product."""
        return x * self.share(x)


def conv(before: int, after: int, size: int, act: nn.Module | None, stride: int = 1, groups: int = 1) -> Any:
    """A convolution that keeps the image's size but for its stride, normalized."""
    layers = [
        nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
    ]
    return nn.Sequential(*layers, *([] if act is None else [act]))


def classifier(channels: int, *layers: nn.Module) -> Any:
    """The layers, the mean of each channel, and ten classes."""
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def mobilenet_v2() -> Any:
    """Inverted residuals with ReLU6."""

    def inverted(before: int, after: int, stride: int) -> Any:
        wide = 4 * before
        body = nn.Sequential(
            conv(before, wide, 1, nn.ReLU6()),
            conv(wide, wide, 3, nn.ReLU6(), stride, wide),
            conv(wide, after, 1, None),
        )
        return Residual(body) if (before, stride) == (after, 1) else body

    return classifier(
        12, conv(3, 8, 3, nn.ReLU6(), 2), inverted(8, 8, 1), inverted(8, 12, 2), inverted(12, 12, 1)
    )


def excited(size: int, act: Any, excitation: Any) -> Any:
    """An inverted residual of 8 channels, 32 inside, with squeeze and excitation."""
    return Residual(
        nn.Sequential(conv(8, 32, 1, act), conv(32, 32, size, act, 1, 32), excitation, conv(32, 8, 1, None))
    )


def mobilenet_v3() -> Any:
    """Hard swish, and squeeze and excitation with a hard sigmoid."""

    def inverted(size: int) -> Any:
        return excited(size, nn.Hardswish(), Excitation(32, nn.ReLU(), nn.Hardsigmoid()))

    return classifier(8, conv(3, 8, 3, nn.Hardswish(), 2), inverted(3), inverted(5))


def efficientnet() -> Any:
    """SiLU, and squeeze and excitation with a sigmoid."""

    def inverted(size: int) -> Any:
        return excited(size, nn.SiLU(), Excitation(32, nn.SiLU(), nn.Sigmoid()))

    return classifier(8, conv(3, 8, 3, nn.SiLU(), 2), inverted(3), inverted(5))


class Basic(nn.Module):  # type: ignore[misc]
    """A basic block of ResNet, with a convolution beside where the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(before, after, 3, nn.ReLU(), stride), conv(after, after, 3, None))
        self.beside = nn.Identity() if stride == 1 else conv(before, after, 1, None, stride)

    def forward(self, x: Any) -> Any:
        """The sum, above zero."""
        return torch.relu(self.body(x) + self.beside(x))


def resnet18() -> Any:
    """Eight basic blocks, narrow."""
    widths = ((4, 4, 1), (4, 4, 1), (4, 8, 2), (8, 8, 1), (8, 12, 2), (12, 12, 1), (12, 16, 2), (16, 16, 1))
    blocks = [Basic(*each) for each in widths]
    return classifier(16, conv(3, 4, 7, nn.ReLU(), 2), nn.MaxPool2d(3, 2, 1), *blocks)


class Segmentation(nn.Module):  # type: ignore[misc]
    """A class for every pixel: a coarse image with dilation, enlarged by `interpolate`."""

    def __init__(self) -> None:
        super().__init__()
        self.coarse = nn.Sequential(conv(3, 8, 3, nn.ReLU(), 2), conv(8, 16, 3, nn.ReLU(), 2))
        self.wide = nn.Conv2d(16, 8, 3, padding=2, dilation=2)
        self.near = nn.Conv2d(16, 8, 1)
        self.classes = nn.Conv2d(16, 4, 1)

    def forward(self, x: Any) -> Any:
        """Four classes."""
        coarse = self.coarse(x)
        both = torch.cat([torch.relu(self.wide(coarse)), torch.relu(self.near(coarse))], 1)
        return nn.functional.interpolate(
            self.classes(both), x.shape[-2:], mode="bilinear", align_corners=False
        )


def transformer() -> Any:
    """A layer of an encoder, with its attention."""
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)


class Recurrent(nn.Module):  # type: ignore[misc]
    """An LSTM over a sequence, and classes of its last step."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.classes = nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 4)

    def forward(self, x: Any) -> Any:
        """Four classes."""
        return self.classes(self.layer(x)[0][:, -1])


IMAGE = (1, 3, 32, 32)
NETS: Mapping[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "mobilenet_v2": (mobilenet_v2, IMAGE),
    "mobilenet_v3": (mobilenet_v3, IMAGE),
    "efficientnet": (efficientnet, IMAGE),
    "resnet18": (resnet18, IMAGE),
    "segmentation": (Segmentation, IMAGE),
    "transformer": (transformer, (1, 6, 16)),
    "lstm": (Recurrent, (1, 6, 8)),
}


def written(name: str, form: str, path: Path) -> None:
    """The net in that form, as a file."""
    torch.manual_seed(0)
    make, shape = NETS[name]
    net, inputs = make().eval(), (torch.randn(shape),)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(net, inputs)
        if form != "float":
            program = torch.export.export(quantized(program, shape, channels=form == "pt2e_channels"), inputs)
        torch.export.save(program, path)


def quantized(program: Any, shape: tuple[int, ...], *, channels: bool) -> Any:
    """Calibrated with eight random inputs."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=channels))
    prepared = prepare_pt2e(program.module(), quantizer)
    for _ in range(8):
        prepared(torch.randn(shape))
    return convert_pt2e(prepared)


if __name__ == "__main__":
    sys.exit(outcomes(arguments_of(__doc__, FORMS), tuple(NETS), ".pt2", written))
