"""Time of single operators on this computer, beside LiteRT and onnxruntime, on one thread.

    python -m benchmarks.single_operators [--only TEXT] [--rounds 9] [--page]

Each model is one operator, or the few that an exporter writes for one, with random weights: of ONNX models in
float32, QDQ per channel and `quantize_dynamic`, of TFLite files with int8 weights for floats, and with values
of 16 bits. Ours is built with `-O2` and with `-O3 -march=native`; the outputs are compared first. All take
turns, and the least time of each counts, so that a busy computer harms little: only ratios are of use.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.latency import FLAGS, bundle, difference, ours
from benchmarks.peers import litert, onnxruntime
from benchmarks.timed import Program
from conformance.tflite_files import TfliteFile
from conformance.topologies import Net, written
from target_arch.plan.printed.text import table
from target_arch.run import reference_for

_SLICE = 0.01
"""Seconds of a measurement: as many runs as fit."""

Made = Callable[[Path], Path]
"""Writes a model into a folder."""


def onnx(name: str, shape: tuple[int, ...], build: Callable[[Net], str], form: str = "float") -> Made:
    """An ONNX model of the input `x` in one of the forms of `conformance.topologies`."""

    def made(folder: Path) -> Path:
        net, path = Net(shape), folder / f"{name}.onnx"
        written(net.built(build(net)), form, path)
        return path

    return made


def _convolved(kernel: int, outputs: int, **attributes: Any) -> Callable[[Net], str]:
    group = attributes.get("group", 1)

    def build(net: Net) -> str:
        spatial = len(net.shape) - 2
        w = net.weights(outputs, net.shape[1] // group, *[kernel] * spatial)
        return net.add("Conv", "x", w, net.weights(outputs), pads=[kernel // 2] * 2 * spatial, **attributes)

    return build


def _transposed(kernel: int, outputs: int, stride: int) -> Callable[[Net], str]:
    def build(net: Net) -> str:
        w = net.weights(net.shape[1], outputs, kernel, kernel)
        cut = (kernel - stride) // 2
        return net.add(
            "ConvTranspose", "x", w, net.weights(outputs), pads=[cut] * 4, strides=[stride, stride]
        )

    return build


def _dense(outputs: int) -> Callable[[Net], str]:
    return lambda net: net.dense("x", net.shape[-1], outputs)


def _of_x(operator: str, *others: int, **attributes: Any) -> Callable[[Net], str]:
    """The operator on `x`, and random weights of these extents."""
    return lambda net: net.add(operator, "x", *(net.weights(extent) for extent in others), **attributes)


def _silu(net: Net) -> str:
    return net.add("Mul", "x", net.add("Sigmoid", "x"))


def _gelu(net: Net) -> str:
    erf = net.add("Add", net.add("Erf", net.add("Mul", "x", net.number(0.5**0.5))), net.number(1))
    return net.add("Mul", net.add("Mul", "x", erf), net.number(0.5))


def _chain(net: Net) -> str:
    return net.add("Log", net.add("Add", net.add("Exp", net.add("Tanh", "x")), net.number(1)))


def _normalized_after_relu(net: Net) -> str:
    channels = net.shape[1]
    ones = net.constant(np.linspace(0.5, 1.5, channels, dtype=np.float32))
    x = net.add("Relu", "x")
    return net.add(
        "BatchNormalization", x, ones, net.weights(channels), net.weights(channels), ones, epsilon=1e-5
    )


def _top(net: Net) -> str:
    net._nodes.append(_top_node())
    net._constants["most"] = np.array([5], np.int64)
    return "values"


def _top_node() -> Any:
    from onnx import helper

    return helper.make_node("TopK", ["x", "most"], ["values", "places"], axis=-1)


def _recurrent(operator: str, gates: int, hidden: int) -> Callable[[Net], str]:
    def build(net: Net) -> str:
        inputs = net.shape[-1]
        w, r = net.weights(1, gates * hidden, inputs), net.weights(1, gates * hidden, hidden)
        return net.add(operator, "x", w, r, net.weights(1, 2 * gates * hidden), hidden_size=hidden)

    return build


def _sampled(net: Net) -> str:
    _, _, height, width = net.shape
    rows, columns = np.meshgrid(np.linspace(-0.9, 0.8, height), np.linspace(-0.8, 0.9, width), indexing="ij")
    grid = np.stack([columns + 0.1 * rows, rows - 0.1 * columns], -1)[None].astype(np.float32)
    return net.add("GridSample", "x", net.constant(grid), align_corners=0)


def hybrid_dense(name: str, shape: tuple[int, int], outputs: int) -> Made:
    """FULLY_CONNECTED of floats with int8 weights."""
    options = {"asymmetricQuantizeInputs": True, "fusedActivationFunction": 1}
    return _tflite(
        name,
        ("FULLY_CONNECTED", ("FullyConnectedOptions", options), 9),
        (shape, (outputs, shape[1]), (shape[0], outputs)),
        "float32",
    )


def tflite_convolution(name: str, channels: int, outputs: int, kernel: int, dtype: str) -> Made:
    """CONV_2D of an image of 24x24 with int8 weights."""
    options = {"padding": 0, "strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    shapes = ((1, 24, 24, channels), (outputs, kernel, kernel, channels), (1, 24, 24, outputs))
    return _tflite(name, ("CONV_2D", ("Conv2DOptions", options), 5), shapes, dtype)


def tflite_depthwise(name: str, channels: int, dtype: str) -> Made:
    """DEPTHWISE_CONV_2D with 3x3 kernels of an image of 24x24 with int8 weights."""
    steps = {"padding": 0, "strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    shapes = ((1, 24, 24, channels), (1, 3, 3, channels), (1, 24, 24, channels))
    options = ("DepthwiseConv2DOptions", {**steps, "depthMultiplier": 1})
    return _tflite(name, ("DEPTHWISE_CONV_2D", options, 6), shapes, dtype)


def _tflite(name: str, layer: tuple[str, Any, int], shapes: tuple[tuple[int, ...], ...], dtype: str) -> Made:
    """A layer in TFLite: its operator, the shapes of `x`, weights and result, and the type of the values."""

    def made(folder: Path) -> Path:
        file, draw, path = TfliteFile(), np.random.default_rng(1), folder / f"{name}.tflite"
        shape, weights, result = shapes
        stored = draw.integers(-127, 128, weights)
        real, axis = dtype == "float32", 3 if layer[0].startswith("DEPTHWISE") else 0
        count = weights[axis]
        scales = draw.uniform(0.002, 0.004, count if axis else 1).tolist()
        grid: tuple[Any, ...] = () if real else (0.01 if dtype == "int8" else 0.0001, 0)
        x = file.input(shape, dtype, *grid)
        w = file.tensor(weights, "int8", scales if axis else scales[0], data=stored, axis=axis)
        of_bias = {"float32": "float32", "int16": "int64"}.get(dtype, "int32")
        units = None if real else [scale * grid[0] for scale in scales]
        b = file.tensor((count,), of_bias, units, data=draw.integers(-20, 20, count))
        wide: tuple[Any, ...] = () if real else (0.05 if dtype == "int8" else 0.0005, 0)
        y = file.output(result, dtype, *wide)
        code, options, version = layer
        file.operator(code, [x, w, b], [y], options, version)
        path.write_bytes(file.content())
        return path

    return made


_IMAGE = (1, 32, 28, 28)

OPERATORS: Mapping[str, Made] = {
    "conv_transpose_2": onnx("conv_transpose_2", _IMAGE, _transposed(2, 32, 2)),
    "conv_transpose_4": onnx("conv_transpose_4", _IMAGE, _transposed(4, 32, 2)),
    "conv_transpose_3_qdq": onnx("conv_transpose_3_qdq", _IMAGE, _transposed(3, 32, 1), "qdq_channels"),
    "conv_grouped": onnx("conv_grouped", (1, 64, 28, 28), _convolved(3, 64, group=4)),
    "conv_grouped_qdq": onnx("conv_grouped_qdq", (1, 64, 28, 28), _convolved(3, 64, group=4), "qdq_channels"),
    "conv_3d": onnx("conv_3d", (1, 16, 8, 16, 16), _convolved(3, 16)),
    "conv": onnx("conv", _IMAGE, _convolved(3, 32)),
    "conv_qdq": onnx("conv_qdq", _IMAGE, _convolved(3, 32), "qdq_channels"),
    "dynamic_dense": onnx("dynamic_dense", (16, 256), _dense(256), "dynamic"),
    "dynamic_dense_1": onnx("dynamic_dense_1", (1, 640), _dense(128), "dynamic"),
    "dynamic_conv": onnx("dynamic_conv", _IMAGE, _convolved(3, 32), "dynamic"),
    "hybrid_dense": hybrid_dense("hybrid_dense", (1, 640), 128),
    "hybrid_dense_16": hybrid_dense("hybrid_dense_16", (16, 256), 256),
    "hybrid_conv": tflite_convolution("hybrid_conv", 32, 32, 3, "float32"),
    "hybrid_conv_1x1": tflite_convolution("hybrid_conv_1x1", 64, 64, 1, "float32"),
    "hybrid_depthwise": tflite_depthwise("hybrid_depthwise", 64, "float32"),
    "int16_conv": tflite_convolution("int16_conv", 32, 32, 3, "int16"),
    "int16_depthwise": tflite_depthwise("int16_depthwise", 64, "int16"),
    "silu": onnx("silu", _IMAGE, _silu),
    "gelu": onnx("gelu", (1, 64, 512), _gelu),
    "tanh_exp_log": onnx("tanh_exp_log", _IMAGE, _chain),
    "topk": onnx("topk", (8, 1000), _top),
    "lstm": onnx("lstm", (20, 1, 64), _recurrent("LSTM", 4, 64)),
    "gru": onnx("gru", (20, 1, 64), _recurrent("GRU", 3, 64)),
    "instance_norm": onnx("instance_norm", _IMAGE, _of_x("InstanceNormalization", 32, 32)),
    "layer_norm": onnx("layer_norm", (1, 64, 256), _of_x("LayerNormalization", 256, 256)),
    "batch_norm": onnx("batch_norm", _IMAGE, _normalized_after_relu),
    "max_pool_5": onnx(
        "max_pool_5", _IMAGE, _of_x("MaxPool", kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
    ),
    "grid_sample": onnx("grid_sample", _IMAGE, _sampled),
}


def least(programs: list[Program], rounds: int) -> list[float]:
    """The least microseconds of a run of each, which take turns."""
    runs = [max(1, int(_SLICE / max(each.seconds(2) / 2, 1e-7))) for each in programs]
    times = [float("inf")] * len(programs)
    for _ in range(rounds):
        for number, (each, count) in enumerate(zip(programs, runs, strict=True)):
            times[number] = min(times[number], each.seconds(count) / count)
    return [each * 1e6 for each in times]


def rows(options: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """The cells of each operator: the peer, its microseconds, ours over it, and how far results are apart."""
    for name, make in OPERATORS.items():
        if options.only not in name:
            continue
        model = make(folder)
        (frame,) = reference_for(model).frames(1, seed=0)
        header = bundle(model, folder / name)
        builds = [ours(header, flags, frame) for flags in FLAGS]
        peer = litert(model, frame) if model.suffix == ".tflite" else onnxruntime(model, frame)
        found, wanted = [each.outputs() for each in builds], peer.outputs()
        apart = dict.fromkeys(difference(each, wanted) for each in found)
        *mine, theirs = least([*builds, peer], options.rounds)
        yield [name, peer.name, f"{theirs:.1f}", *(f"{each / theirs:.2f}" for each in mine), ", ".join(apart)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="operators whose name contains this")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--page", action="store_true", help="as a table of Markdown")
    options = parser.parse_args()
    cells: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name:
        for row in rows(options, Path(name)):
            cells.append(row)
            print(" ".join(row), file=sys.stderr, flush=True)
    header = ("operator", "peer", "us", *FLAGS, "apart")
    if options.page:
        print("| " + " | ".join(header) + " |\n|---|---|" + "---:|" * (len(header) - 2))
        print("\n".join("| " + " | ".join(row) + " |" for row in cells))
    else:
        print(table(header, cells, right=range(2, len(header))))


if __name__ == "__main__":
    main()
