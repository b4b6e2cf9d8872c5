"""Weights of 8 and of 4 bits beside activations in floats, as ai-edge-quantizer's recipes write them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import TfliteFile
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc

DRAW = np.random.default_rng(7)
NEAR = 2e-6
"""Of the largest magnitude: sums are added in another order."""


class Layers:
    """A file with layers of one input, all of them with weights from integers."""

    def __init__(self) -> None:
        self.file = TfliteFile()

    def weights(self, shape: tuple[int, ...], bits: int, *, several: bool) -> int:
        """Stored values, one scale for all or one for each of the first dimension."""
        most = 2 ** (bits - 1) - 1
        scales = DRAW.uniform(0.01, 0.05, shape[0] if several else 1).tolist()
        stored = self.file.tensor(shape, "int8", scales, data=DRAW.integers(-most, most + 1, shape))
        if bits == 4:
            self.file.pack(stored)
        return stored

    def wide(self, stored: int, shape: tuple[int, ...]) -> int:
        """Such weights behind a DEQUANTIZE."""
        made = self.file.tensor(shape, "float32")
        self.file.operator("DEQUANTIZE", [stored], [made], ("DequantizeOptions", {}), 6)
        return made

    def dense(self, weights: int, outputs: int) -> None:
        """FULLY_CONNECTED on an input of its own."""
        x, y = self.file.input((2, 24), "float32"), self.file.output((2, outputs), "float32")
        options = ("FullyConnectedOptions", {"asymmetricQuantizeInputs": True})
        self.file.operator("FULLY_CONNECTED", [x, weights], [y], options, 12)

    def convolution(self, weights: int) -> None:
        """CONV_2D of 3x3 on an image of its own."""
        steps = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1, "padding": 0}
        x, y = self.file.input((1, 6, 6, 8), "float32"), self.file.output((1, 6, 6, 5), "float32")
        bias = self.file.tensor((5,), "float32", data=np.arange(5))
        self.file.operator("CONV_2D", [x, weights, bias], [y], ("Conv2DOptions", steps), 8)


def test_narrow_weights_beside_floats(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    layers, dense, image = Layers(), (7, 24), (5, 3, 3, 8)
    for bits in (8, 4):
        layers.dense(layers.wide(layers.weights(dense, bits, several=True), dense), 7)
        layers.convolution(layers.wide(layers.weights(image, bits, several=True), image))
        layers.dense(layers.weights(dense, bits, several=False), 7)
        layers.convolution(layers.weights(image, bits, several=True))
    path = tmp_path / "m.tflite"
    path.write_bytes(layers.file.content())
    reference = litert(path)
    (frame,) = reference.frames(1, 0)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    given = (b"".join(value.tobytes() for value in frame),)
    (found,) = run_frames(build(tmp_path / "bundle"), given)
    expected = np.concatenate([value.ravel() for value in reference.answer(frame)[0]])
    assert np.abs(np.frombuffer(found, "<f4") - expected).max() < NEAR * np.abs(expected).max()
