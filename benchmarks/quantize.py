"""Quantizing to fit, beside what the libraries make alone.

    python -m benchmarks.quantize trained     three nets, trained here: accuracy on frames not seen before
    python -m benchmarks.quantize recipes     the same nets in TFLite, beside the recipes of ai-edge-quantizer
    python -m benchmarks.quantize budgets     the same nets within rising budgets: is one for less the better?
    python -m benchmarks.quantize exported    TFLite nets of `conformance/exported`: distances

Nets are trained by PyTorch on one thread, from one seed, on data that is generated: shapes in noise, tones in
noise, and pairs of pulses. Each is quantized within what the library's own int8 takes, within less than that,
and within the middle between int8 and float. The first column of accuracies is on the frames that the
quantizer had, the second on 20,000 others; there, too, is what `quantize_static` makes. Every recipe of
ai-edge-quantizer is applied as it is, and then ours is asked for within its bytes of flash. Within budgets
from the least bytes to those of the float model, each answer is compared with every one for less, frame by
frame: `budgets` ends with 1 where one for less has more of the given right by over two standard errors.
"""

import argparse
import io
import lzma
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sequential_tflite import INPUT, channels_last, sequential_tflite
from target_arch import DiagnosticError, quantize_model
from target_arch.explore.bases import base_chip
from target_arch.explore.choose import chip_of
from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.library import file_answer
from target_arch.quantize.price import PriceList
from target_arch.quantize.result import QuantizedToFit
from target_arch.quantize.score import Answer, Judge, Score
from target_arch.quantize.tflite_file import tflite_quantizer
from target_arch.registry.plug_ins import PlugIns
from target_arch.relax.quiet import quiet
from target_arch.run.references.find import reference_for
from target_arch.run.references.reference import Frame

SOC = "mcu_m55"
SEED = 3
CLASSES = 8
GIVEN, OTHERS = 256, 20_000
BUDGETS = 12
RECIPES = (
    "static_wi8_ai8",
    "static_wi8_ai16",
    "dynamic_wi8_afp32",
    "dynamic_legacy_wi8_afp32",
    "dynamic_wi4_afp32",
    "weight_only_wi8_afp32",
    "weight_only_wi4_afp32",
)
"""Those of ai-edge-quantizer for whole models, with its default way to find scales."""
EXPORTED = Path(__file__).parents[1] / "conformance" / "exported"
Data = tuple[np.ndarray, np.ndarray]


def shapes(count: int, drawn: np.random.Generator) -> Data:
    """Images [N, 1, 16, 16] of a disc, ring, square, frame, cross, saltire, bar or grid, in noise."""
    labels = drawn.integers(0, CLASSES, count)
    y, x = np.mgrid[0:16, 0:16].astype(np.float32)
    images = []
    for label in labels:
        cx, cy, r = drawn.uniform(5, 10), drawn.uniform(5, 10), drawn.uniform(2.5, 5)
        dx, dy = x - cx, y - cy
        near, far = np.hypot(dx, dy), np.maximum(abs(dx), abs(dy))
        diagonal = np.minimum(abs(dx + dy), abs(dx - dy))
        inside = far < r
        masks = (
            near < r,
            abs(near - r) < 1,
            inside,
            abs(far - r) < 1,
            inside & (np.minimum(abs(dx), abs(dy)) < 1),
            inside & (diagonal < 1.2),
            inside & (abs(dy) < 1.2),
            inside & ((x + y) % 2 < 1),
        )
        images.append(masks[label] * drawn.uniform(0.4, 1.5) + drawn.normal(0, 0.35, (16, 16)))
    return np.array(images, np.float32)[:, None], labels


def tones(count: int, drawn: np.random.Generator) -> Data:
    """Signals [N, 1, 128] of one of eight frequencies with a harmonic, loud or soft, in noise."""
    labels = drawn.integers(0, CLASSES, count)
    time = np.arange(128) / 128
    frequencies = 4 * 1.3 ** labels[:, None] * drawn.uniform(0.97, 1.03, (count, 1))
    phases = drawn.uniform(0, 2 * np.pi, (count, 1))
    signal = np.sin(2 * np.pi * frequencies * time + phases)
    signal += 0.5 * np.sin(4 * np.pi * frequencies * time + 2 * phases)
    loud = 10 ** drawn.uniform(-0.7, 0.5, (count, 1))
    return ((signal + drawn.normal(0, 0.9, (count, 128))) * loud).astype(np.float32)[:, None], labels


def pulses(count: int, drawn: np.random.Generator) -> Data:
    """Rows [N, 64] whose class is the distance of two pulses of a sign each."""
    labels = drawn.integers(0, CLASSES, count)
    rows = drawn.normal(0, 0.3, (count, 64))
    starts = drawn.integers(4, 24, count)
    for row, label, start in zip(rows, labels, starts, strict=True):
        row[start : start + 3] += drawn.uniform(0.8, 3)
        row[start + 5 + 4 * label : start + 8 + 4 * label] -= drawn.uniform(0.8, 3)
    return rows.astype(np.float32), labels


def nets() -> Mapping[str, tuple[Any, Callable[[int, np.random.Generator], Data]]]:
    """Nets that are not trained yet, and the data of each."""
    from torch import nn

    def around(inputs: int, outputs: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
        convolution = nn.Conv2d(inputs, outputs, 3, stride, 1, groups=groups, bias=False)
        return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]

    separable = [*around(1, 12), *around(12, 12, 2, 12), nn.Conv2d(12, 24, 1), nn.ReLU()]
    separable += [*around(24, 24, 2, 24), nn.Conv2d(24, 32, 1), nn.ReLU()]
    series: list[nn.Module] = []
    for inputs, outputs in ((1, 12), (12, 16), (16, 24)):
        series += [nn.Conv1d(inputs, outputs, 7, 2, 3), nn.BatchNorm1d(outputs), nn.ReLU()]
    mean, flat = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return {
        "shapes": (nn.Sequential(*separable, mean, flat, nn.Linear(32, CLASSES)), shapes),
        "tones": (nn.Sequential(*series, nn.AdaptiveAvgPool1d(1), flat, nn.Linear(24, CLASSES)), tones),
        "pulses": (
            nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, CLASSES)),
            pulses,
        ),
    }


def trained(net: Any, data: Callable[[int, np.random.Generator], Data]) -> bytes:
    """The ONNX file of the net, trained: the same for the same versions and processor."""
    import torch

    inputs, labels = (torch.from_numpy(each) for each in data(6000, np.random.default_rng(SEED)))
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(25):
        for part in torch.randperm(len(inputs)).split(100):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(inputs[part]), labels[part]).backward()
            optimizer.step()
    file = io.BytesIO()
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(net.eval(), (inputs[:1],), file, dynamo=False, opset_version=17, **names)
    return file.getvalue()


def accuracy(content: bytes, data: Data, folder: Path, suffix: str = ".onnx") -> float:
    """The share of frames that a model has right."""
    answer = file_answer(content, folder, suffix)
    frames = tuple((frame[None],) for frame in data[0])
    return float(np.mean(right(frames, data[1], answer)))


def right(frames: tuple[Frame, ...], labels: np.ndarray, answer: Answer) -> np.ndarray:
    """Which frames a model has right."""
    judged = LabelledFrames(frames=frames, labels=tuple(map(int, labels)))
    return np.array(Judge(data=judged, expected=tuple(answer(frame) for frame in frames)).perfect.right)


def more_right(ours: np.ndarray, own: np.ndarray) -> str:
    """How many frames more ours has right, and the standard error of that by chance."""
    apart = ours.astype(int) - own
    return f"{apart.sum():+5,} frames, +-{np.sqrt(np.abs(apart).sum()):.0f} by chance"


def static(content: bytes, inputs: np.ndarray, method: str, folder: Path) -> bytes:
    """What onnxruntime's own function makes of a model, with a scale for each channel."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Frames(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types here
        """The frames one by one."""

        left = iter(inputs)

        def get_next(self) -> dict[str, np.ndarray] | None:
            frame = next(self.left, None)
            return None if frame is None else {"x": frame[None]}

    before, ready, after = (folder / f"{name}.onnx" for name in ("before", "ready", "after"))
    before.write_bytes(content)
    quant_pre_process(before, ready)
    quantize_static(ready, after, Frames(), per_channel=True, calibrate_method=CalibrationMethod[method])
    return after.read_bytes()


def print_rows(name: str, within: str, result: QuantizedToFit, others: Callable[[bytes], float]) -> None:
    """The library's rows and ours, within these limits."""
    for row in result.rows:
        flash = row.price.outcome.bytes.get("flash", 0)
        seen = "" if row.score.accuracy is None else f"{row.score.accuracy:8.2%}"
        rest = f"{others(result.content):8.2%}" if row is result.chosen and seen else " " * 8
        time = row.price.of("latency") * 1e6
        print(
            f"{name:12}{within:18}{row.name:34}{seen:9}{rest:9}{row.score.distance:9.3%}{flash:10,} B"
            f"{time:10,.1f} us  {'yes' if row.keeps else 'no'}"
        )


def prepared() -> Iterator[tuple[str, Any, bytes, Data, Data]]:
    """Each net by its name, trained, and as an ONNX model, with the frames that are given and the others."""
    import torch

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    drawn = np.random.default_rng(SEED + 1)
    for name, (net, data) in nets().items():
        content = trained(net, data)
        yield name, net, content, data(GIVEN, drawn), data(OTHERS, drawn)


def run_trained(folder: Path) -> None:
    """Three nets, each within three budgets."""
    for name, _, content, (inputs, labels), rest in prepared():
        np.savez(folder / "data.npz", x=inputs, labels=labels)
        print(f"{name}: float, {accuracy(content, rest, folder):.2%} of the others")
        for method in ("MinMax", "Percentile", "Entropy"):
            made = static(content, inputs, method, folder)
            print(f"{name}: quantize_static, {method}, {accuracy(made, rest, folder):.2%} of the others")
        first = quantize_model(content, SOC, folder / "data.npz")
        small, large = (first.rows[number].price.outcome.bytes["flash"] for number in (1, 0))
        for within in ("", f"flash={small - 1}B", f"flash={(small + large) // 2}B"):
            try:
                result = quantize_model(content, SOC, folder / "data.npz", within=[within])
            except DiagnosticError as error:
                print(f"{name:12}{within:18}{error}")
                continue
            print_rows(name, within, result, lambda made, rest=rest: accuracy(made, rest, folder))


def run_budgets(folder: Path) -> bool:
    """Three nets, each within `BUDGETS` budgets of flash: whether no answer for less is the better one, but
    for chance, on the given frames.
    """
    held = True
    for name, _, content, (inputs, labels), rest in prepared():
        np.savez(folder / "data.npz", x=inputs, labels=labels)
        frames = tuple((frame[None],) for frame in rest[0])
        given, others = [], []
        for budget in budgets(content, folder / "data.npz"):
            result = quantize_model(content, SOC, folder / "data.npz", within=[f"flash={budget}B"])
            answered = right(frames, rest[1], file_answer(result.content, folder, ".onnx"))
            given.append(result.chosen.score)
            others.append(Score(distance=0.0, right=tuple(answered)))
            taken = result.chosen.price.outcome.bytes["flash"]
            print(
                f"{name:8}{budget:8,} B: {taken:8,} B{given[-1].accuracy:9.2%} of the given"
                f"{np.mean(answered):9.2%} of the others",
                flush=True,
            )
        beaten = [sum(less.beats(more) for less, more in combinations(each, 2)) for each in (given, others)]
        pairs = BUDGETS * (BUDGETS - 1) // 2
        print(f"{name}: of {pairs} pairs the smaller is the better of {beaten[0]}, of the others {beaten[1]}")
        held = held and not beaten[0]
    return held


def budgets(content: bytes, data: Path) -> list[int]:
    """Bytes of flash from the least that hold to those of the float model, evenly apart."""
    try:
        quantize_model(content, SOC, data, within=["flash=1B"])
    except DiagnosticError as error:
        least = int(re.findall(r"flash=(\d+)B", str(error.diagnostics[0].hint))[0])
    most = quantize_model(content, SOC, data).rows[0].price.outcome.bytes["flash"]
    return [int(each) for each in np.linspace(least, most, BUDGETS)]


def run_recipes(folder: Path) -> None:
    """Three nets as TFLite files: each recipe of the library, and ours within its bytes."""
    for name, net, _, (inputs, labels), (others, theirs) in prepared():
        frames = tuple((frame[None],) for frame in channels_last(others))
        np.savez(folder / "data.npz", **{INPUT: channels_last(inputs), "labels": labels})
        given = LabelledFrames(frames=tuple((frame[None],) for frame in channels_last(inputs)))
        file = folder / "net.tflite"
        file.write_bytes(sequential_tflite(net, inputs[:1]))
        library = tflite_quantizer(file, given, folder)

        def answered(content: bytes, library: Any = library, rows: Any = (frames, theirs)) -> np.ndarray:
            return right(rows[0], rows[1], library.answer(content, folder))

        print(f"{name}: float, {np.mean(answered(library.float_model.read_bytes())):.2%} of the others")
        ours: dict[str, tuple[QuantizedToFit, np.ndarray]] = {}
        for recipe in RECIPES:
            made = by_recipe(library.float_model.read_bytes(), given, recipe)
            flash = flash_of(made)
            within = f"flash={flash}B"
            if within not in ours:
                result = quantize_model(file, SOC, folder / "data.npz", within=[within])
                ours[within] = result, answered(result.content)
            result, best = ours[within]
            own, taken = answered(made), result.chosen.price.outcome.bytes["flash"]
            print(
                f"{name:8}{recipe:26}{flash:8,} B{np.mean(own):9.2%}   ours{taken:8,} B{np.mean(best):9.2%}"
                f"{more_right(best, own)}  {result.setting}",
                flush=True,
            )


def by_recipe(content: bytes, given: LabelledFrames, name: str) -> bytes:
    """What ai-edge-quantizer makes of a model by one of its recipes."""
    from ai_edge_quantizer import quantizer, recipe

    with quiet():
        library = quantizer.Quantizer(content, getattr(recipe, name)())
        frames = [{INPUT: frame[0]} for frame in given.frames]
        ranges = library.calibrate({"serving_default": frames}) if library.need_calibration else None
        return bytes(library.quantize(ranges, enable_progress_report=False).quantized_model)


def flash_of(content: bytes) -> int:
    """Bytes of flash of a TFLite model on the chip, as `quantize` counts them."""
    prices = PriceList(chip=chip_of(base_chip(SOC)), plug_ins=PlugIns.discover(()))
    return int(prices.of(content, ".tflite").of("bytes.flash"))


def run_exported(folder: Path) -> None:
    """Nets of other exporters with random weights, on random data, within what int8 takes."""
    drawn = np.random.default_rng(SEED)
    for name in ("gated", "mobilenet", "tcn"):
        file = folder / f"{name}.tflite"
        file.write_bytes(lzma.decompress((EXPORTED / f"{name}_float.tflite.xz").read_bytes()))
        shape = reference_for(file).inputs[0].shape
        np.savez(folder / "data.npz", x=drawn.standard_normal((32, *shape), np.float32))
        print_rows(name, "", quantize_model(file, SOC, folder / "data.npz"), lambda _: 0.0)


def main() -> int:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    runs: Mapping[str, Callable[[Path], bool | None]] = {
        "trained": run_trained,
        "recipes": run_recipes,
        "budgets": run_budgets,
        "exported": run_exported,
    }
    parser.add_argument("what", choices=tuple(runs))
    with tempfile.TemporaryDirectory() as folder:
        held = runs[parser.parse_args().what](Path(folder))
    return int(held is False)


if __name__ == "__main__":
    sys.exit(main())
