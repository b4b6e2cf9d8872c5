"""Spectra of ONNX models whose signals have no dimension for their parts, as onnxruntime takes them."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")


@pytest.mark.parametrize("parts", [(), (1,)], ids=["a row for each signal", "with parts"])
@pytest.mark.parametrize("said", [{}, {"onesided": 1}], ids=["by default", "said"])
def test_the_spectrum_of_a_real_signal(parts: tuple[int, ...], said: dict[str, int], tmp_path: Path) -> None:
    """A product reads it, which ONNX refuses where it infers all frequencies."""
    nodes = [
        helper.make_node("STFT", ["x", "step", "window"], ["spectrum"], **said),
        helper.make_node("ReduceSumSquare", ["spectrum"], ["power"], axes=[-1], keepdims=0),
        helper.make_node("MatMul", ["power", "filters"], ["y"]),
    ]
    draw = np.random.default_rng(1)
    constants = {
        "step": np.array(4),
        "window": np.hanning(16).astype(np.float32),
        "filters": draw.random((9, 3), dtype=np.float32),
    }
    model = onnx_model(nodes, {"x": (2, 40, *parts)}, {"y": (2, 7, 3)}, constants)
    path = save(model, tmp_path / "m.onnx")
    inputs = {"x": draw.standard_normal((2, 40, *parts)).astype(np.float32)}
    network, program = import_model(path)
    (ours,), (theirs,) = evaluate(network, inputs, program), onnx_reference(path, inputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
