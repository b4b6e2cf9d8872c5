"""DynamicQuantizeLSTM of onnxruntime, beside onnxruntime."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.soc.files.soc_file import read_soc
from tests.relax.models import Array, helper, onnx_model, onnx_reference, save

STEPS, INPUTS, HIDDEN = 5, 7, 6
ROWS = 4 * HIDDEN
NEAR = 2e-7
"""With weights of the memory in the gates, which onnxruntime adds in another order; else every bit."""


def layer(seed: int, *, batch: int = 1, **attributes: Any) -> Any:
    """A random layer behind another one; its form follows from the seed."""
    draw = np.random.default_rng(seed)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    kind = np.dtype((np.int8, np.uint8)[seed % 2])
    scales = (directions, ROWS) if seed % 3 else (directions,)
    low, high = (0, 255) if kind == np.uint8 else (-64, 64)  # others saturate where a processor has no VNNI

    def weights(inputs: int) -> Array:
        return draw.integers(low, high, (directions, inputs, ROWS), endpoint=True).astype(kind)

    def zeros() -> Array:
        """onnxruntime takes only one for all rows."""
        return np.full(scales, draw.integers(120, 130) if kind == np.uint8 else 0, kind)

    def numbers(low: float, high: float, *shape: int) -> Array:
        return draw.uniform(low, high, shape).astype(np.float32)

    constants = {
        "W": weights(INPUTS),
        "R": weights(HIDDEN),
        "B": numbers(-0.4, 0.4, directions, 2 * ROWS),
        "P": numbers(-0.4, 0.4, directions, 3 * HIDDEN),
        "Ws": numbers(0.001, 0.01, *scales),
        "Wz": zeros(),
        "Rs": numbers(0.001, 0.01, *scales),
        "Rz": zeros(),
    }
    starts = ["h", "c"] if seed % 5 else ["", ""]
    grids = ["Ws", "Wz", "Rs", "Rz"]
    inputs = ["x", "W", "R", "B" if seed % 7 else "", "", *starts, "P" if seed % 3 == 1 else "", *grids]
    results = ["states", "last", "memory"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", inputs, results, domain="com.microsoft", hidden_size=HIDDEN, **attributes
    )
    end = (directions, batch, HIDDEN)
    given: dict[str, tuple[int | str, ...]] = {"x": (STEPS, batch, INPUTS)}
    if seed % 5:
        given |= {"h": end, "c": end}
    shapes = {"states": (STEPS, directions, batch, HIDDEN), "last": end, "memory": end}
    constants = {name: value for name, value in constants.items() if name in inputs}
    model = onnx_model([node], given, shapes, constants)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize(
    ("seed", "attributes"),
    [
        (1, {}),
        (2, {"direction": "reverse"}),
        (3, {"direction": "bidirectional"}),
        (4, {"direction": "bidirectional", "clip": 0.5}),
        (7, {}),
        (10, {"input_forget": 1}),
        (15, {"direction": "bidirectional", "activations": ["Sigmoid", "Tanh", "Relu"] * 2}),
    ],
)
def test_layers_agree(
    seed: int, attributes: dict[str, Any], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    model = layer(seed, **attributes)
    path = save(model, tmp_path / "m.onnx")
    draw, near = np.random.default_rng(seed), NEAR if "P" in model.graph.node[0].input else 0.0
    shapes = {each.name: [d.dim_value for d in each.type.tensor_type.shape.dim] for each in model.graph.input}
    frames = [
        {name: (draw.standard_normal(shape) * 2).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(4)
    ]
    given = [b"".join(value.tobytes() for value in frame.values()) for frame in frames]
    for frame, ours in zip(frames, answers(path, given, tmp_path), strict=True):
        theirs = np.concatenate([np.ravel(each) for each in onnx_reference(path, frame)])
        np.testing.assert_allclose(np.frombuffer(ours, np.float32), theirs, rtol=0, atol=near)


def answers(path: Path, frames: list[bytes], folder: Path) -> tuple[bytes, ...]:
    write_bundle(
        compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7"))).bundle, folder / "out"
    )
    return run_frames(build(folder / "out"), frames)


def test_shapes_behind_a_layer_are_known(tmp_path: Path) -> None:
    """onnxruntime's operator has no schema in ONNX, which infers nothing behind it."""
    model = layer(5)
    nodes = [
        helper.make_node("Shape", ["states"], ["shape"]),
        helper.make_node("Reshape", ["flat", "shape"], ["y"]),
        helper.make_node("Flatten", ["states"], ["flat"]),
    ]
    model.graph.node.extend([nodes[0], nodes[2], nodes[1]])
    model.graph.output[0].name = "y"
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model, _ = import_model(save(model, tmp_path / "m.onnx"))
    assert model.tensors[model.outputs[0]].shape == (STEPS, 1, 1, HIDDEN)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as refusal:
        import_model(save(layer(1, batch=2), tmp_path / "m.onnx"))
    assert "a batch of 2, whose grids depend on onnxruntime's threads" in str(refusal.value.diagnostics)


def test_shapes_are_folded_in_the_version_of_the_file(tmp_path: Path) -> None:
    """That of a model with operators of onnxruntime, which stays: `Unsqueeze` had an attribute there."""
    model = layer(5)
    nodes = [
        helper.make_node("Shape", ["states"], ["shape"]),
        helper.make_node("Gather", ["shape", "number"], ["steps"], axis=0),
        helper.make_node("Unsqueeze", ["steps"], ["one"], axes=[0]),
        helper.make_node("Concat", ["one", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["states", "wanted"], ["y"]),
    ]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(numpy_helper.from_array(np.array(0), "number"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "rest"))
    model.graph.output[0].name = "y"
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    next(each for each in model.opset_import if not each.domain).version = 12
    found, _ = import_model(save(model, tmp_path / "m.onnx"))
    assert found.tensors[found.outputs[0]].shape == (STEPS, HIDDEN)
