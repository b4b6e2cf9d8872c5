"""Four nets as three exporters write them, in floats and in int8: the files of `conformance/exported`.

    python -m conformance.exported_nets FOLDER [--only NAME …]

writes them, each with random weights, with what is installed of:

    .pt2     torch.export; in int8 pt2e quantization (package `torchao`), a scale for each channel of weights
    .onnx    torch.onnx; in int8 QDQ by onnxruntime, a scale for each channel of weights
    .tflite  litert-torch 0.10; in int8 by ai-edge-quantizer 0.10 (static, weights and activations of 8 bits)

The files are kept, compressed with `xz -9e`, since no environment has all of these: litert-torch needs
another PyTorch than target_arch reads.
"""

import argparse
import lzma
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "exported"
NAMES = ("mobilenet", "gated", "tcn", "transformer")
FORMATS = ("tflite", "onnx", "pt2")


def exported(net: str, form: str, format: str, folder: Path) -> Path:
    """The file of a net, `float` or `int8`, in a format, unpacked into a folder."""
    path = folder / f"{net}_{form}.{format}"
    path.write_bytes(lzma.decompress((FOLDER / f"{path.name}.xz").read_bytes()))
    return path


def nets() -> Mapping[str, tuple[Any, tuple[int, ...]]]:
    """The modules by name, each with the shape of its input."""
    import torch
    from torch import nn

    from conformance.torch_nets import Residual, conv

    def classifier(channels: int, *layers: nn.Module) -> nn.Module:
        head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10), nn.Softmax(-1))
        return nn.Sequential(*layers, *head)

    def mobilenet() -> nn.Module:
        """Inverted residuals of MobileNetV2 with ReLU6."""

        def inverted(before: int, after: int, stride: int) -> nn.Module:
            wide = 6 * before
            body = nn.Sequential(
                conv(before, wide, 1, nn.ReLU6()),
                conv(wide, wide, 3, nn.ReLU6(), stride, wide),
                conv(wide, after, 1, None),
            )
            return Residual(body) if (before, stride) == (after, 1) else body

        first = conv(3, 8, 3, nn.ReLU6(), 2)
        return classifier(16, first, inverted(8, 8, 1), inverted(8, 16, 2), inverted(16, 16, 1))

    class Excitation(nn.Module):  # type: ignore[misc]  # PyTorch has no types here
        """Channels weighed by sigmoid gates."""

        def __init__(self, channels: int) -> None:
            super().__init__()
            few = channels // 4
            squeezed = (nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, few, 1), nn.ReLU())
            self.share = nn.Sequential(*squeezed, nn.Conv2d(few, channels, 1), nn.Sigmoid())

        def forward(self, x: Any) -> Any:
            return x * self.share(x)

    def gated() -> nn.Module:
        """A residual net with squeeze and excitation."""

        def block() -> nn.Module:
            return Residual(nn.Sequential(conv(8, 16, 3, nn.ReLU()), conv(16, 8, 3, None), Excitation(8)))

        return classifier(8, conv(3, 8, 3, nn.ReLU(), 2), block(), block())

    class Causal(nn.Module):  # type: ignore[misc]
        """A convolution along time that sees no later step, added to its input."""

        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.before, self.layer = 2 * dilation, nn.Conv1d(8, 8, 3, dilation=dilation)

        def forward(self, x: Any) -> Any:
            return x + torch.relu(self.layer(nn.functional.pad(x, (self.before, 0))))

    class Tcn(nn.Module):  # type: ignore[misc]
        """Causal convolutions, each with twice the dilation of the one before, and the mean over time."""

        def __init__(self) -> None:
            super().__init__()
            self.layers, self.head = nn.Sequential(Causal(1), Causal(2), Causal(4)), nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.layers(x).mean(-1))

    class Attention(nn.Module):  # type: ignore[misc]
        """Four heads, written out."""

        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

        def forward(self, x: Any) -> Any:
            query, key, value = (
                layer(x).reshape(1, 6, 4, 4).transpose(1, 2) for layer in (self.query, self.key, self.value)
            )
            shares = torch.softmax(query @ key.transpose(-1, -2) * 0.5, -1)
            return self.out((shares @ value).transpose(1, 2).reshape(1, 6, 16))

    class Transformer(nn.Module):  # type: ignore[misc]
        """A layer of an encoder, and classes of the mean of its tokens."""

        def __init__(self) -> None:
            super().__init__()
            self.attention, self.first, self.second = Attention(), nn.LayerNorm(16), nn.LayerNorm(16)
            self.forwarded = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
            self.head = nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            x = self.first(x + self.attention(x))
            return self.head(self.second(x + self.forwarded(x)).mean(1))

    made: tuple[tuple[Callable[[], nn.Module], tuple[int, ...]], ...] = (
        (mobilenet, (1, 3, 32, 32)),
        (gated, (1, 3, 32, 32)),
        (Tcn, (1, 8, 32)),
        (Transformer, (1, 6, 16)),
    )
    return {name: (build, shape) for name, (build, shape) in zip(NAMES, made, strict=True)}


def write_torch(net: Any, shape: tuple[int, ...], stem: Path) -> None:
    """The two `.pt2` files."""
    import torch

    from conformance.torch_nets import quantized

    inputs = (torch.randn(shape),)
    program = torch.export.export(net, inputs)
    torch.export.save(program, stem.with_name(f"{stem.name}_float.pt2"))
    stored = torch.export.export(quantized(program, shape, channels=True), inputs)
    torch.export.save(stored, stem.with_name(f"{stem.name}_int8.pt2"))


def write_onnx(net: Any, shape: tuple[int, ...], stem: Path) -> None:
    """The two `.onnx` files."""
    import torch
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    from conformance.topologies import Calibration

    real, prepared, stored = (stem.with_name(f"{stem.name}_{form}.onnx") for form in ("float", "pre", "int8"))
    torch.onnx.export(net, (torch.randn(shape),), real, dynamo=False, opset_version=20, input_names=["x"])
    quant_pre_process(real, prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        stored,
        Calibration(shape),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    prepared.unlink()


def write_tflite(net: Any, shape: tuple[int, ...], stem: Path) -> None:
    """The two `.tflite` files."""
    import litert_torch
    import numpy as np
    import torch
    from ai_edge_quantizer import quantizer, recipe

    from conformance.topologies import Calibration

    real = stem.with_name(f"{stem.name}_float.tflite")
    litert_torch.convert(net, (torch.randn(shape),)).export(str(real))
    by = quantizer.Quantizer(str(real))
    by.load_quantization_recipe(recipe.static_wi8_ai8())
    frames = iter(Calibration(shape).get_next, None)
    data = {"serving_default": [{"args_0": np.asarray(frame["x"])} for frame in frames]}
    by.quantize(by.calibrate(data)).export_model(str(stem.with_name(f"{stem.name}_int8.tflite")))


def main() -> int:
    """Write the files of the exporters that are installed."""
    import torch

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, metavar="NAME")
    options = parser.parse_args()
    for name, (build, shape) in nets().items():
        if name not in options.only:
            continue
        torch.manual_seed(0)
        net = build().eval()
        for write in (write_torch, write_onnx, write_tflite):
            try:
                with torch.no_grad():
                    write(net, shape, options.folder / name)
            except ImportError as error:
                print(f"{name}: no {write.__name__.removeprefix('write_')}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
