"""Float layers with int8 weights, beside LiteRT's reference kernels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import Array, TfliteFile
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.run.references.reference import FLOAT_RULE
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons

NEAR = 2e-6
"""Of the largest magnitude: sums are of integers and equal; scales may be multiplied in another order."""
IMAGE = (2, 7, 6, 3)
STEPS = {"padding": 0, "dilationWFactor": 1, "dilationHFactor": 1}


class Layers:
    """A file with a branch for every layer, all of them on random weights."""

    def __init__(self) -> None:
        self.file, self._random = TfliteFile(), np.random.default_rng(5)

    def dense(self, shape: tuple[int, ...], outputs: int, *, several: bool, asymmetric: bool) -> None:
        """FULLY_CONNECTED with a fused rectifier."""
        options = {"asymmetricQuantizeInputs": asymmetric, "fusedActivationFunction": 1}
        layer = ("FULLY_CONNECTED", ("FullyConnectedOptions", options), 12)
        self.add(layer, shape, (outputs, shape[-1]), (*shape[:-1], outputs), 0 if several else None)

    def dense_of_constant(self, shape: tuple[int, int], outputs: int, *, asymmetric: bool) -> None:
        """FULLY_CONNECTED of a constant, as the first state of a loop is, added to an input."""
        draw, file, out = self._random, self.file, (shape[0], outputs)
        x = file.tensor(shape, "float32", data=draw.normal(0, 1, shape))
        operands = [x, self._stored((outputs, shape[1])), self._bias(outputs)]
        product = file.tensor(out, "float32")
        options = {"asymmetricQuantizeInputs": asymmetric, "fusedActivationFunction": 1}
        file.operator("FULLY_CONNECTED", operands, [product], ("FullyConnectedOptions", options), 12)
        table = ("AddOptions", {"fusedActivationFunction": 0})
        file.operator("ADD", [product, file.input(out, "float32")], [file.output(out, "float32")], table)

    def conv(self, *, several: bool, stride: int) -> None:
        """CONV_2D with 3x2 kernels."""
        layer = ("CONV_2D", ("Conv2DOptions", {**STEPS, "strideW": 1, "strideH": stride}), 5)
        out = (2, -(-7 // stride), 6, 4)
        self.add(layer, IMAGE, (4, 3, 2, 3), out, 0 if several else None)

    def depthwise(self, multiplier: int, channels: int = 3) -> None:
        """DEPTHWISE_CONV_2D, whose weights have a scale for each channel."""
        options = {**STEPS, "strideW": 1, "strideH": 1, "depthMultiplier": multiplier}
        layer = ("DEPTHWISE_CONV_2D", ("DepthwiseConv2DOptions", options), 6)
        outputs = channels * multiplier
        self.add(layer, (*IMAGE[:3], channels), (1, 3, 3, outputs), (*IMAGE[:3], outputs), 3)

    def transposed(
        self, shape: tuple[int, ...], weights: tuple[int, ...], out: tuple[int, ...], *,
        stride: int, several: bool, same: bool,
    ) -> None:  # fmt: skip
        """TRANSPOSE_CONV with a bias and a fused rectifier."""
        draw, file = self._random, self.file
        scales = draw.uniform(0.005, 0.02, weights[0] if several else 1).tolist()
        w = file.tensor(weights, "int8", scales, data=draw.integers(-127, 128, weights))
        operands = [file.numbers(*out), w, file.input(shape, "float32"), self._bias(out[-1])]
        options = {
            "padding": int(not same), "strideW": stride, "strideH": stride, "fusedActivationFunction": 1
        }  # fmt: skip
        table = ("TransposeConvOptions", options)
        file.operator("TRANSPOSE_CONV", operands, [file.output(out, "float32")], table, 4)

    def matrices(
        self, shape: tuple[int, ...], weights: tuple[int, ...], out: tuple[int, ...], **options: bool
    ) -> None:
        """BATCH_MATMUL by constant matrices."""
        x, y = self.file.input(shape, "float32"), self.file.output(out, "float32")
        table = ("BatchMatMulOptions", options)
        self.file.operator("BATCH_MATMUL", [x, self._stored(weights)], [y], table, 4)

    def svdf(self, inputs: int, memory: int, rank: int, units: int, *, asymmetric: bool) -> None:
        """SVDF of two sequences with a fused rectifier."""
        filters = rank * units
        tensors = [
            self.file.input((2, inputs), "float32"),
            self._stored((filters, inputs)),
            self._stored((filters, memory)),
            self._bias(units),
            self.file.variable((2, filters * memory), "float32"),
        ]
        options = {"rank": rank, "fusedActivationFunction": 1, "asymmetricQuantizeInputs": asymmetric}
        y = self.file.output((2, units), "float32")
        self.file.operator("SVDF", tensors, [y], ("SVDFOptions", options), 3)

    def lstm(self, *, steps: int, inputs: int, hidden: int, coupled: bool, **options: bool) -> None:
        """UNIDIRECTIONAL_SEQUENCE_LSTM of two sequences, `coupled` without an input gate."""
        first = range(1 if coupled else 0, 4)
        absent = [-1] * (4 - len(first))
        weights = [self._stored((hidden, columns)) for columns in (inputs, hidden) for _ in first]
        rows, columns = weights[: len(first)], weights[len(first) :]
        biases = [self._bias(hidden) for _ in first]
        order = [*absent, *rows, *absent, *columns, -1, -1, -1, *absent, *biases, -1, -1]
        states = [self.file.variable((2, hidden), "float32") for _ in range(2)]
        x, y = self._sequences(steps, inputs, hidden, **options)
        table = {"fusedActivationFunction": 4, "cellClip": 0.9, **options}
        code = "UNIDIRECTIONAL_SEQUENCE_LSTM", ("UnidirectionalSequenceLSTMOptions", table), 3
        self.file.operator(code[0], [x, *order, *states, -1, -1, -1, -1], [y], *code[1:])

    def rnn(self, *, steps: int, inputs: int, hidden: int, activation: int, **options: bool) -> None:
        """UNIDIRECTIONAL_SEQUENCE_RNN of two sequences."""
        x, y = self._sequences(steps, inputs, hidden, **options)
        table = ("SequenceRNNOptions", {"fusedActivationFunction": activation, **options})
        self.file.operator("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *self._layer(inputs, hidden)], [y], table, 3)

    def rnn_step(self, inputs: int, hidden: int, **options: bool) -> None:
        """RNN with hyperbolic tangents."""
        x, y = self.file.input((2, inputs), "float32"), self.file.output((2, hidden), "float32")
        table = ("RNNOptions", {"fusedActivationFunction": 4, **options})
        self.file.operator("RNN", [x, *self._layer(inputs, hidden)], [y], table, 3)

    def _layer(self, inputs: int, hidden: int) -> list[int]:
        weights = [self._stored((hidden, columns)) for columns in (inputs, hidden)]
        return [*weights, self._bias(hidden), self.file.variable((2, hidden), "float32")]

    def _sequences(
        self, steps: int, inputs: int, hidden: int, *, timeMajor: bool = False, **_others: bool
    ) -> tuple[int, int]:
        first = (steps, 2) if timeMajor else (2, steps)
        return self.file.input((*first, inputs), "float32"), self.file.output((*first, hidden), "float32")

    def _bias(self, extent: int) -> int:
        return self.file.tensor((extent,), "float32", data=self._random.normal(0, 1, extent))

    def _stored(self, shape: tuple[int, ...]) -> int:
        """Constant weights in int8 on a random scale."""
        draw = self._random
        return self.file.tensor(
            shape, "int8", draw.uniform(0.005, 0.02), data=draw.integers(-127, 128, shape)
        )

    def add(
        self, layer: tuple[str, Any, int], shape: tuple[int, ...], weights: tuple[int, ...],
        out: tuple[int, ...], axis: int | None,
    ) -> None:  # fmt: skip
        """A layer with int8 weights on random scales, and a bias."""
        draw, (code, options, version) = self._random, layer
        stored = draw.integers(-127, 128, weights)
        scales = draw.uniform(0.005, 0.02, 1 if axis is None else weights[axis]).tolist()
        x = self.file.input(shape, "float32")
        w = self.file.tensor(weights, "int8", scales, data=stored, axis=axis or 0)
        bias = self.file.tensor(out[-1:], "float32", data=draw.normal(0, 1, out[-1]))
        y = self.file.output(out, "float32")
        self.file.operator(code, [x, w, bias], [y], options, version)


def frames(shapes: list[tuple[int, ...]]) -> list[list[Array]]:
    """Random values, values above zero alone, large ones, and nothing but zeros."""
    draw = np.random.default_rng(9)
    random = [[draw.normal(0.3, 1, shape).astype(np.float32) for shape in shapes] for _ in range(3)]
    first, second, _ = random
    return [
        *random,
        [np.abs(value) for value in first],
        [value * np.float32(1e6) for value in second],
        [np.zeros(shape, np.float32) for shape in shapes],
    ]


def equals_litert(layers: Layers, tmp_path: Path, near: float = NEAR) -> None:
    """Frame after frame, with what variables keep of earlier ones."""
    path = tmp_path / "m.tflite"
    path.write_bytes(layers.file.content())
    reference = litert(path)
    assert reference.rule == FLOAT_RULE
    given = frames([each.shape for each in reference.inputs])
    write_bundle(
        compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7"))).bundle, tmp_path / "b"
    )
    packed = [b"".join(value.tobytes() for value in frame) for frame in given]
    for frame, answer in zip(given, run_frames(build(tmp_path / "b"), packed), strict=True):
        place = 0
        for theirs in reference.answer(tuple(frame))[0]:
            ours = np.frombuffer(answer, np.float32, theirs.size, place).reshape(theirs.shape)
            place += theirs.nbytes
            assert np.abs(ours - theirs).max() <= near * np.abs(theirs).max()


def test_layers_are_as_litert_computes_them(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    layers = Layers()
    layers.dense((3, 37), 11, several=False, asymmetric=False)
    layers.dense((2, 2, 9), 5, several=False, asymmetric=True)
    layers.dense((3, 20), 4, several=True, asymmetric=True)
    layers.dense_of_constant((2, 13), 5, asymmetric=False)
    layers.dense_of_constant((3, 8), 4, asymmetric=True)
    layers.conv(several=False, stride=1)
    layers.conv(several=True, stride=2)
    layers.depthwise(1)
    layers.depthwise(2)
    layers.depthwise(4, channels=1)
    equals_litert(layers, tmp_path)


@pytest.mark.slow
def test_products_of_matrices_are_as_litert_computes_them(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    layers = Layers()
    layers.matrices((3, 20), (20, 5), (3, 5))
    layers.matrices((2, 20, 3), (2, 20, 5), (2, 3, 5), adjX=True)
    layers.matrices((2, 3, 20), (5, 20), (2, 3, 5), adjY=True, asymmetricQuantizeInputs=True)
    layers.matrices((3, 8), (4, 8, 5), (4, 3, 5), asymmetricQuantizeInputs=True)
    layers.matrices((2, 1, 3, 8), (1, 4, 5, 8), (2, 4, 3, 5), adjY=True)
    equals_litert(layers, tmp_path, near=0.0)


def test_svdf_is_as_litert_computes_it(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    layers = Layers()
    layers.svdf(9, 4, 2, 3, asymmetric=False)
    layers.svdf(12, 3, 1, 5, asymmetric=True)
    equals_litert(layers, tmp_path)


def test_lstms_are_as_litert_computes_them(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    layers = Layers()
    layers.lstm(steps=4, inputs=7, hidden=5, coupled=False)
    layers.lstm(steps=3, inputs=2, hidden=6, coupled=True, timeMajor=True, asymmetricQuantizeInputs=True)
    equals_litert(layers, tmp_path)


@pytest.mark.slow
def test_rnns_are_equal_to_litert(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Every bit: also where hidden values reach both ends, and a zero point is halfway of two integers."""
    needs_tool("gcc")
    layers = Layers()
    layers.rnn(steps=5, inputs=7, hidden=8, activation=4)
    layers.rnn(steps=30, inputs=20, hidden=40, activation=4, timeMajor=True, asymmetricQuantizeInputs=True)
    layers.rnn(steps=2, inputs=4, hidden=3, activation=3, asymmetricQuantizeInputs=True)
    layers.rnn_step(6, 8, asymmetricQuantizeInputs=True)
    equals_litert(layers, tmp_path, near=0.0)


def test_transposed_convolutions_are_as_litert_computes_them(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    layers = Layers()
    layers.transposed((1, 4, 5, 3), (4, 3, 2, 3), (1, 8, 10, 4), stride=2, several=False, same=True)
    layers.transposed((2, 3, 4, 2), (3, 3, 3, 2), (2, 7, 9, 3), stride=2, several=True, same=False)
    layers.transposed((2, 3, 4, 2), (5, 2, 3, 2), (2, 3, 4, 5), stride=1, several=False, same=True)
    layers.transposed((1, 3, 2, 2), (5, 1, 2, 2), (1, 9, 6, 5), stride=3, several=True, same=True)
    equals_litert(layers, tmp_path)


def test_weights_keep_their_bytes(tmp_path: Path) -> None:
    layers = Layers()
    layers.dense((1, 64), 32, several=True, asymmetric=False)
    path = tmp_path / "m.tflite"
    path.write_bytes(layers.file.content())
    pools = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7"))).manifest.pools
    assert isinstance(pools, dict)
    constants = sum(pool.peak for name, pool in pools.items() if name.endswith(".constants"))
    assert 64 * 32 <= constants < 64 * 32 + 1024


def test_groups_are_refused(tmp_path: Path) -> None:
    layers = Layers()
    layer = ("CONV_2D", ("Conv2DOptions", {**STEPS, "strideW": 1, "strideH": 1}), 5)
    layers.add(layer, (1, 4, 4, 4), (4, 1, 1, 2), (1, 4, 4, 4), 0)
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`CONV_2D` once, at `t3`: groups of channels, with activations in floats and weights in int8"
    )


def test_transposed_convolutions_by_uint8_are_refused(tmp_path: Path) -> None:
    layers = Layers()
    file = layers.file
    x, shape = file.input((1, 4, 4, 2), "float32"), file.numbers(1, 4, 4, 3)
    w = file.tensor((3, 1, 1, 2), "uint8", 0.01, data=np.ones((3, 1, 1, 2)))
    y = file.output((1, 4, 4, 3), "float32")
    options = ("TransposeConvOptions", {"padding": 0, "strideW": 1, "strideH": 1})
    file.operator("TRANSPOSE_CONV", [shape, w, x], [y], options, 3)
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`TRANSPOSE_CONV` once, at `t3`: activations in floats and weights in uint8"
    )


def test_matrices_in_several_dimensions_are_refused(tmp_path: Path) -> None:
    layers = Layers()
    layers.matrices((2, 2, 3, 8), (8, 5), (2, 2, 3, 5))
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`BATCH_MATMUL` once, at `t1`: matrices in several dimensions, with weights `t2` in int8: LiteRT "
        "scales their rows by the grids of other rows"
    )


def test_products_of_activations_are_refused(tmp_path: Path) -> None:
    layers = Layers()
    file = layers.file
    x, w = file.input((2, 4), "float32"), file.input((4, 3), "int8", 0.01)
    y = file.output((2, 3), "float32")
    file.operator("BATCH_MATMUL", [x, w], [y], ("BatchMatMulOptions", {}), 4)
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`BATCH_MATMUL` once, at `t2`: tensor `t1` is computed, only a constant is supported here"
    )


def test_svdf_with_weights_of_two_types_is_refused(tmp_path: Path) -> None:
    layers = Layers()
    file = layers.file
    w = file.tensor((2, 4), "int8", 0.01, data=np.ones((2, 4)))
    times = file.tensor((2, 3), "float32", data=np.ones((2, 3)))
    x, held, y = (
        file.input((1, 4), "float32"),
        file.variable((1, 6), "float32"),
        file.output((1, 2), "float32"),
    )
    file.operator("SVDF", [x, w, times, -1, held], [y], ("SVDFOptions", {"rank": 1}), 3)
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`SVDF` once, at `t4`: weights are int8 and float32, its elements float32"
    )


def test_rnns_of_floats_are_refused(tmp_path: Path) -> None:
    layers = Layers()
    file = layers.file
    x, y = file.input((1, 2), "float32"), file.output((1, 2), "float32")
    w = file.tensor((2, 2), "float32", data=np.ones((2, 2)))
    bias, held = file.tensor((2,), "float32", data=np.ones(2)), file.variable((1, 2), "float32")
    file.operator("RNN", [x, w, w, bias, held], [y], ("RNNOptions", {"fusedActivationFunction": 4}), 1)
    assert reasons(layers.file.content(), tmp_path)[0] == (
        "`RNN` once, at `t1`: its elements are float32, its weights `t2` float32"
    )
