"""Nets of the shapes that people bring, in every numeric form that ONNX has, each compiled and verified.

    python -m conformance.topologies [--only TEXT] [--form NAME] [--results FILE] [--minutes NUMBER]

The nets are small, with random weights: what counts is which operators meet. onnxruntime quantizes them:

    float          as built
    qdq            QDQ, int8, one scale a tensor
    qdq_channels   QDQ, int8 activations, one scale a channel of weights
    qoperator      QLinearConv and its kin, uint8 activations
    dynamic        DynamicQuantizeLinear and MatMulInteger
    int16          QDQ with 16-bit activations
    extended       as built, then as onnxruntime's optimizer writes it at level extended
    qdq_extended, qoperator_extended, dynamic_extended   the same of these forms

Every operator is compared by itself, too (`verify --layers`). A line for each net says `verifies`, `differs`
or `refused`, and what was said. `--results` keeps each line, and a run goes on from what the file has;
`--minutes` ends a run early. Ends with 1 where one differs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field
from onnx import TensorProto, helper, numpy_helper, save_model
from onnx.shape_inference import infer_shapes

from conformance.kept import Kept

Array = np.ndarray[Any, np.dtype[Any]]

_PLAIN = ("float", "qdq", "qdq_channels", "qoperator", "dynamic", "int16")
_EXTENDED = {"extended": "float", **{f"{form}_extended": form for form in ("qdq", "qoperator", "dynamic")}}
FORMS = (*_PLAIN, *_EXTENDED)
VERDICTS = {0: "verifies", 1: "differs", 2: "refused"}


@define
class Net:
    """A model under construction; values are named in the order in which they are made."""

    shape: tuple[int, ...]
    opset: int = 17
    _nodes: list[Any] = field(factory=list)
    _constants: dict[str, Array] = field(factory=dict)
    _draw: np.random.Generator = field(factory=lambda: np.random.default_rng(0))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of what an operator gives."""
        name = f"{operator.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values: Array) -> str:
        """The name of a constant."""
        name = f"constant{len(self._constants)}"
        self._constants[name] = values
        return name

    def number(self, value: float) -> str:
        """A constant without dimensions."""
        return self.constant(np.array(value, np.float32))

    def weights(self, *shape: int) -> str:
        """Random ones, whose products keep the size of what they are multiplied with."""
        reach = max(1, prod(shape[1:])) ** -0.5
        return self.constant((self._draw.standard_normal(shape) * reach).astype(np.float32))

    def integers(self, *values: int) -> str:
        """A list of whole numbers."""
        return self.constant(np.array(values, np.int64))

    def conv(self, x: str, before: int, after: int, size: int, stride: int = 1, group: int = 1) -> str:
        """A convolution that keeps the image's size but for its stride."""
        w, b = self.weights(after, before // group, size, size), self.weights(after)
        pads = [size // 2] * 4
        return self.add("Conv", x, w, b, pads=pads, strides=[stride, stride], group=group)

    def dense(self, x: str, before: int, after: int) -> str:
        """Rows times weights, plus a bias."""
        product = self.add("MatMul", x, self.constant(self._columns(before, after)))
        return self.add("Add", product, self.weights(after))

    def _columns(self, before: int, after: int) -> Array:
        reach = before**-0.5
        columns: Array = (self._draw.standard_normal((before, after)) * reach).astype(np.float32)
        return columns

    def built(self, output: str) -> Any:
        """The model whose output is that value."""
        graph = helper.make_graph(
            self._nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(values, name) for name, values in self._constants.items()],
        )
        opset = helper.make_opsetid("", self.opset)
        return infer_shapes(helper.make_model(graph, opset_imports=[opset], ir_version=10))


def _classified(net: Net, x: str, channels: int) -> Any:
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    return net.built(net.add("Softmax", net.dense(x, channels, 10)))


def mobilenet_v2() -> Any:
    """Inverted residuals with ReLU6."""
    net = Net((1, 3, 32, 32))
    low, high = net.number(0), net.number(6)

    def clipped(x: str) -> str:
        return net.add("Clip", x, low, high)

    x = clipped(net.conv("x", 3, 8, 3, 2))
    for before, after, stride in ((8, 8, 1), (8, 12, 2), (12, 12, 1)):
        wide = clipped(net.conv(x, before, 4 * before, 1))
        wide = clipped(net.conv(wide, 4 * before, 4 * before, 3, stride, 4 * before))
        made = net.conv(wide, 4 * before, after, 1)
        x = net.add("Add", x, made) if stride == 1 and before == after else made
    return _classified(net, x, 12)


def mobilenet_v3() -> Any:
    """Hard swish, and channels weighed by squeeze and excitation."""
    net = Net((1, 3, 32, 32))
    x = net.add("HardSwish", net.conv("x", 3, 8, 3, 2))
    for kernel in (3, 5):
        wide = net.add("HardSwish", net.conv(x, 8, 24, 1))
        wide = net.add("HardSwish", net.conv(wide, 24, 24, kernel, 1, 24))
        share = net.add("Relu", net.conv(net.add("GlobalAveragePool", wide), 24, 8, 1))
        share = net.add("HardSigmoid", net.conv(share, 8, 24, 1), alpha=1 / 6)
        x = net.add("Add", x, net.conv(net.add("Mul", wide, share), 24, 8, 1))
    return _classified(net, x, 8)


def efficientnet_lite() -> Any:
    """Inverted residuals with SiLU, kernels of 3 and 5."""
    net = Net((1, 3, 32, 32))

    def silu(x: str) -> str:
        return net.add("Mul", x, net.add("Sigmoid", x))

    x = silu(net.conv("x", 3, 8, 3, 2))
    for kernel in (3, 5):
        wide = silu(net.conv(silu(net.conv(x, 8, 32, 1)), 32, 32, kernel, 1, 32))
        x = net.add("Add", x, net.conv(wide, 32, 8, 1))
    return _classified(net, x, 8)


def resnet() -> Any:
    """Basic blocks, one of them with a convolution beside."""
    net = Net((1, 3, 32, 32))
    x = net.add("Relu", net.conv("x", 3, 8, 7, 2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for before, after, stride in ((8, 8, 1), (8, 16, 2)):
        made = net.add("Relu", net.conv(x, before, after, 3, stride))
        made = net.conv(made, after, after, 3)
        beside = x if stride == 1 else net.conv(x, before, after, 1, stride)
        x = net.add("Relu", net.add("Add", made, beside))
    return _classified(net, x, 16)


def _unet(enlarge: Callable[[Net, str, int, int], str]) -> Any:
    net = Net((1, 3, 32, 32))
    fine = net.add("Relu", net.conv("x", 3, 8, 3))
    coarse = net.add("MaxPool", fine, kernel_shape=[2, 2], strides=[2, 2])
    coarse = net.add("Relu", net.conv(coarse, 8, 16, 3))
    joined = net.add("Concat", enlarge(net, coarse, 16, 8), fine, axis=1)
    return net.built(net.add("Sigmoid", net.conv(net.add("Relu", net.conv(joined, 16, 8, 3)), 8, 1, 1)))


def unet_resize() -> Any:
    """Enlarged by bilinear Resize and a convolution."""

    def enlarge(net: Net, x: str, before: int, after: int) -> str:
        scales = net.constant(np.array([1, 1, 2, 2], np.float32))
        return net.conv(net.add("Resize", x, "", scales, mode="linear"), before, after, 3)

    return _unet(enlarge)


def unet_transposed() -> Any:
    """Enlarged by ConvTranspose."""

    def enlarge(net: Net, x: str, before: int, after: int) -> str:
        return net.add("ConvTranspose", x, net.weights(before, after, 2, 2), strides=[2, 2])

    return _unet(enlarge)


def _feed_forward(net: Net, x: str, attended: str) -> Any:
    scale, bias = net.constant(np.ones(16, np.float32)), net.weights(16)
    x = net.add("LayerNormalization", net.add("Add", x, attended), scale, bias)
    wide = net.dense(x, 16, 32)
    half = net.number(0.5**0.5)
    erf = net.add("Add", net.add("Erf", net.add("Mul", wide, half)), net.number(1))
    gelu = net.add("Mul", net.add("Mul", wide, erf), net.number(0.5))
    return net.built(net.add("Add", x, net.dense(gelu, 32, 16)))


def transformer() -> Any:
    """A block whose attention is taken apart into products and a softmax."""
    net = Net((1, 6, 16))
    heads = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        split = net.add("Reshape", net.dense("x", 16, 16), net.integers(1, 6, 4, 4))
        heads.append(net.add("Transpose", split, perm=order))
    query, key, value = heads
    half = net.number(0.5)
    weights = net.add("Softmax", net.add("Mul", net.add("MatMul", query, key), half), axis=-1)
    mixed = net.add("Transpose", net.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    mixed = net.add("Reshape", mixed, net.integers(1, 6, 16))
    return _feed_forward(net, "x", net.dense(mixed, 16, 16))


def transformer_whole() -> Any:
    """A block with the operator Attention."""
    net = Net((1, 6, 16), opset=23)
    query, key, value = (net.dense("x", 16, 16) for _ in range(3))
    mixed = net.add("Attention", query, key, value, q_num_heads=4, kv_num_heads=4)
    return _feed_forward(net, "x", net.dense(mixed, 16, 16))


def tcn() -> Any:
    """Causal convolutions along time, each with twice the dilation of the one before."""
    net = Net((1, 8, 32))
    x = "x"
    for dilation in (1, 2, 4):
        w, b, pads = net.weights(8, 8, 3), net.weights(8), [2 * dilation, 0]
        x = net.add("Add", x, net.add("Relu", net.add("Conv", x, w, b, pads=pads, dilations=[dilation])))
    return net.built(net.dense(net.add("GlobalAveragePool", net.add("Relu", x)), 1, 4))


def yolo_head() -> Any:
    """Boxes of a grid: centres and sizes made of what a convolution gives."""
    net = Net((1, 8, 4, 4))
    cells = net.add("Reshape", net.conv("x", 8, 14, 1), net.integers(1, 2, 7, 16))
    cells = net.add("Transpose", cells, perm=[0, 1, 3, 2])
    parts = [
        net.add("Slice", cells, net.integers(first), net.integers(last), net.integers(-1))
        for first, last in ((0, 2), (2, 4), (4, 7))
    ]
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), -1).reshape(1, 1, 16, 2).astype(np.float32)
    centres = net.add("Add", net.add("Sigmoid", parts[0]), net.constant(grid))
    sizes = net.add("Exp", parts[1])
    found = net.add("Concat", centres, sizes, net.add("Sigmoid", parts[2]), axis=-1)
    return net.built(net.add("Reshape", found, net.integers(1, 32, 7)))


NETS: Mapping[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        mobilenet_v2,
        mobilenet_v3,
        efficientnet_lite,
        resnet,
        unet_resize,
        unet_transposed,
        transformer,
        transformer_whole,
        tcn,
        yolo_head,
    )
}


class Calibration:
    """Eight random inputs `x` of a shape, as onnxruntime's calibration wants them."""

    def __init__(self, shape: Sequence[int]) -> None:
        draw = np.random.default_rng(1)
        self._batches = iter([draw.standard_normal(shape).astype(np.float32) for _ in range(8)])

    def get_next(self) -> dict[str, Array] | None:
        batch = next(self._batches, None)
        return None if batch is None else {"x": batch}

    def set_range(self, start_index: int, end_index: int) -> None:
        """Called for calibration in strides, which eight inputs do not need."""


def written(model: Any, form: str, path: Path) -> None:
    """The model in that form, as a file."""
    if form in _EXTENDED:
        written(model, _EXTENDED[form], path)
        extended(path)
        return
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static

    source = path.with_suffix(".float.onnx")
    save_model(model, source)
    if form == "float":
        source.rename(path)
    elif form == "dynamic":
        attention = [node.name for node in model.graph.node if node.op_type == "Attention"]
        quantize_dynamic(source, path, nodes_to_exclude=attention)
    else:
        kinds = {"qoperator": QuantType.QUInt8, "int16": QuantType.QInt16}
        quantize_static(
            source,
            path,
            Calibration([each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]),
            quant_format=QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ,
            per_channel=form == "qdq_channels",
            activation_type=kinds.get(form, QuantType.QInt8),
            weight_type=QuantType.QInt8,
            extra_options={"UseQDQContribOps": form == "int16"},
        )


def extended(path: Path) -> None:
    """Write a model again as onnxruntime's optimizer leaves it at level extended."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def outcome(path: Path, make: Callable[[], None]) -> str:
    """What became of the net that is written there: a verdict, and what was said."""
    try:
        make()
    except Exception as error:  # quantizers raise whatever they stumble over
        return f"unmade: {str(error).strip().splitlines()[0][:100]}"
    command = ("-m", "target_arch", "verify", str(path), "--target", "c", "--count", "5", "--layers")
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    said = done.stdout if done.returncode in (0, 1) else done.stderr
    return f"{VERDICTS.get(done.returncode, 'fails')} {_summary(said, path.parent)}"


def _summary(said: str, folder: Path) -> str:
    lines = [line.strip().replace(f"{folder}/", "") for line in said.splitlines() if line.strip()]
    chosen = [line for line in lines if line.startswith("largest difference") or "note:" in line]
    return "; ".join(chosen or lines[:1])[:300]


def outcomes(
    arguments: argparse.Namespace, names: Sequence[str], suffix: str, write: Callable[[str, str, Path], None]
) -> int:
    """Print a line for each net and form, and how many had which verdict; 1 where a result differs."""
    end = time.monotonic() + 60 * arguments.minutes
    kept = Kept(arguments.results)
    wanted = [(name, form) for name in names if arguments.only in name for form in arguments.form]
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, form in wanted:
            label, path = f"{name}/{form}", Path(folder) / f"{name}_{form}{suffix}"
            if label not in kept.known:
                if time.monotonic() > end:
                    found["left"] += 1
                    continue
                kept.add(label, f"{label} {outcome(path, partial(write, name, form, path))}")
            line = kept.known[label]
            print(line, flush=True)
            found[line.split()[1].rstrip(":")] += 1
    print(dict(sorted(found.items())))
    return 1 if found["differs"] or found["fails"] else 0


def arguments_of(described: str | None, forms: Sequence[str]) -> argparse.Namespace:
    """The arguments of a run over nets in these forms."""
    parser = argparse.ArgumentParser(description=described, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="nets whose name contains this")
    parser.add_argument("--form", choices=forms, action="append", help="these forms")
    parser.add_argument("--results", type=Path, metavar="FILE", help="outcomes that a run goes on from")
    parser.add_argument("--minutes", type=float, default=inf, metavar="NUMBER", help="no net starts later")
    given = parser.parse_args()
    given.form = given.form or forms
    return given


def _written(name: str, form: str, path: Path) -> None:
    written(NETS[name](), form, path)


if __name__ == "__main__":
    sys.exit(outcomes(arguments_of(__doc__, FORMS), tuple(NETS), ".onnx", _written))
