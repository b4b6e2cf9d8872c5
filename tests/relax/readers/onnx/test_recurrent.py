"""Recurrent layers of ONNX: named operators where a kernel can compute them, loops where not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.plan.model import Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, INPUTS, HIDDEN = 3, 4, 5
FORMS: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("LSTM", {}, "lstm"),
    ("LSTM", {"direction": "bidirectional"}, "lstm"),
    ("GRU", {"direction": "reverse"}, "gru"),
    ("GRU", {"linear_before_reset": 1}, "gru"),
    ("RNN", {}, "rnn"),
    ("RNN", {"activations": ["Relu"]}, None),
    ("LSTM", {"clip": 0.5}, None),
    ("LSTM", {"input_forget": 1}, None),
)


def layer(kind: str, start: str, attributes: dict[str, Any]) -> Any:
    """A layer of random weights that begins with an input, or a constant, or nothing."""
    draw = np.random.default_rng(3)
    directions, rows = 1 + (attributes.get("direction") == "bidirectional"), GATES[kind] * HIDDEN
    shapes = {"w": (directions, rows, INPUTS), "r": (directions, rows, HIDDEN), "b": (directions, 2 * rows)}
    held = (directions, 1, HIDDEN)
    constants = {name: draw.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    constants |= {"zeros": np.zeros(held, np.float32), "ones": np.ones(held, np.float32)}
    states = ["", start, start][: 2 + (kind == "LSTM")] if start else []
    node = helper.make_node(kind, ["x", *shapes, *states], ["y", "h"], hidden_size=HIDDEN, **attributes)
    entering = {"x": (STEPS, 1, INPUTS), **({"held": held} if start == "held" else {})}
    results = {"y": (STEPS, directions, 1, HIDDEN), "h": held}
    return onnx_model([node], entering, results, constants)


@pytest.mark.parametrize(("kind", "attributes", "definition"), FORMS)
def test_the_usual_form_is_a_named_operator(
    kind: str, attributes: dict[str, Any], definition: str | None, tmp_path: Path
) -> None:
    path = save(layer(kind, "held", attributes), tmp_path / "m.onnx")
    model, program = import_model(path)
    frame = {
        name: np.random.default_rng(4).normal(0, 1, model.tensors[name].shape).astype(np.float32)
        for name in model.inputs
    }
    assert recurrent(path).attributes.get("operator") == definition
    for found, wanted in zip(evaluate(model, frame, program), onnx_reference(path, frame), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("start", "constants"), [("", 3), ("zeros", 3), ("ones", 5)])
def test_constant_states_are_none_or_constants(start: str, constants: int, tmp_path: Path) -> None:
    """States of zeros are what an operator begins with; others are constants before its weights."""
    path = save(layer("LSTM", start, {}), tmp_path / "m.onnx")
    found = recurrent(path)
    assert (found.attributes["operator"], found.inputs, len(found.constants)) == ("lstm", ("x",), constants)
    model, program = import_model(path)
    frame = {"x": np.random.default_rng(4).normal(0, 1, (STEPS, 1, INPUTS)).astype(np.float32)}
    for each, wanted in zip(evaluate(model, frame, program), onnx_reference(path, frame), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


def recurrent(path: Path) -> Operator:
    (found,) = (each for each in import_model(path)[0].operators if each.kind is OperatorKind.RECURRENT)
    return found
