"""Large models: processor time and memory of `compile`, bytes of the bundle, and whether it verifies.

    python -m benchmarks.large_models [--only TEXT] [--forms text section file]

ResNet-50 (He et al., "Deep Residual Learning for Image Recognition", 2015) and two vision transformers
(Dosovitskiy et al., "An Image Is Worth 16x16 Words", 2020) with 12 layers of 384 and of 640, made by PyTorch
with random weights and exported to ONNX, for one processor with enough memory, with constants in each form.
Bundles are built and compared with onnxruntime on one random frame, but not those of text, for which a
compiler takes minutes and gigabytes. Exit code 1 where a bundle does not verify.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.real_models import CHIP
from target_arch.plan.printed.text import table

FORMS = ("text", "section", "file")
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Width, blocks and first stride of ResNet-50's stages."""
_EXPANSION = 4
_PATCH, _SIDE = 16, 224


@frozen(kw_only=True)
class Taken:
    """What one process took, in seconds of processor time and MiB at most, and its exit code."""

    seconds: float
    mib: float
    code: int


def resnet() -> Any:
    """ResNet-50 without its softmax."""
    from torch import nn

    from conformance.torch_nets import Residual, conv

    class Downsampled(nn.Module):  # type: ignore[misc]  # PyTorch has no types here
        """A block whose shortcut is a convolution."""

        def __init__(self, body: nn.Module, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.body, self.short = body, conv(before, after, 1, None, stride)

        def forward(self, x: Any) -> Any:
            return self.body(x) + self.short(x)

    layers: list[nn.Module] = [conv(3, 64, 7, nn.ReLU(), 2), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width, blocks, first in STAGES:
        for number in range(blocks):
            stride, after = (first if number == 0 else 1), width * _EXPANSION
            inner = (conv(before, width, 1, nn.ReLU()), conv(width, width, 3, nn.ReLU(), stride))
            body = nn.Sequential(*inner, conv(width, after, 1, None))
            block = Residual(body) if number else Downsampled(body, before, after, stride)
            layers += [block, nn.ReLU()]
            before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


def vit(width: int) -> Callable[[], Any]:
    """A vision transformer with 12 layers of this width and heads of 64."""

    def made() -> Any:
        import torch
        from torch import nn

        class Vit(nn.Module):  # type: ignore[misc]
            """Patches, places, layers, and a class from their mean."""

            def __init__(self) -> None:
                super().__init__()
                self.patches = nn.Conv2d(3, width, _PATCH, _PATCH)
                self.places = nn.Parameter(torch.randn(1, (_SIDE // _PATCH) ** 2, width))
                layer = nn.TransformerEncoderLayer(
                    width, width // 64, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
                )
                self.layers = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
                self.head = nn.Linear(width, 1000)

            def forward(self, x: Any) -> Any:
                rows = self.patches(x).flatten(2).transpose(1, 2) + self.places
                return self.head(self.layers(rows).mean(1))

        torch.backends.mha.set_fastpath_enabled(False)
        return Vit()

    return made


MODELS: Mapping[str, Callable[[], Any]] = {"resnet50": resnet, "vit_384": vit(384), "vit_640": vit(640)}


def exported(net: Any, file: Path) -> None:
    """Write the net as ONNX. Layers that PyTorch copies get other weights: equal ones are stored once."""
    import torch

    torch.manual_seed(0)
    for parameter in net.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.02)
    example = torch.randn(1, 3, _SIDE, _SIDE)
    torch.onnx.export(net.eval(), (example,), file, dynamo=False, opset_version=17)


def taken(*arguments: str) -> Taken:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "target_arch", *arguments]
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return Taken(seconds=used.ru_utime + used.ru_stime, mib=used.ru_maxrss / 1024, code=code)


def rows(file: Path, forms: list[str], folder: Path) -> Iterator[tuple[str, ...]]:
    """One model in each form."""
    chip, size = folder / "desk.toml", f"{file.stat().st_size / 1e6:.0f}"
    chip.write_text(CHIP)
    for form in forms:
        out = folder / f"{file.stem}_{form}"
        made = taken("compile", str(file), "--soc", str(chip), "--constants", form, "-o", str(out))
        bundle = sum(each.stat().st_size for each in out.rglob("*") if each.is_file()) / 1e6
        verdict = "not built"
        if form != "text":
            checked = taken("verify", str(file), "--bundle", str(out), "--count", "1")
            verdict = "yes" if checked.code == 0 else "no"
        yield file.stem, form, size, f"{made.seconds:.0f}", f"{made.mib:,.0f}", f"{bundle:.0f}", verdict


def main() -> int:
    """Print the table; 1 where a bundle does not verify."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    options = parser.parse_args()
    found: list[tuple[str, ...]] = []
    for name, net in MODELS.items():
        if options.only in name:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{name}.onnx"
                exported(net(), file)
                for row in rows(file, options.forms, Path(folder)):
                    found.append(row)
                    print(*row, flush=True)
    print(table(["model", "constants", "file, MB", "s", "MiB", "bundle, MB", "verified"], found))
    return int(any(row[-1] == "no" for row in found))


if __name__ == "__main__":
    sys.exit(main())
