"""Random inputs that index are in the range of what they index."""

from pathlib import Path

import numpy as np

from target_arch.run import reference_for
from target_arch.run.references.indices import Use, highest_indices
from tests.relax.models import helper, onnx_model


def test_through_operators_that_pass_values_on() -> None:
    uses = (
        Use(reads=("x",), writes=("y",), passes=True),
        Use(reads=("y", "table"), writes=("z",), extents={"y": 7}),
        Use(reads=("x", "other"), writes=("w",), extents={"x": 5}),
    )
    assert highest_indices(uses) == {"x": 4, "y": 6}


def test_onnx_gather(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["i"], ["n"], to=7),
        helper.make_node("Gather", ["n", "order"], ["m"]),
        helper.make_node("Gather", ["t", "m"], ["y"], axis=1),
    ]
    constants = {"t": np.zeros((2, 9), np.float32), "order": np.array([2, 0, 1])}
    model = onnx_model(nodes, {"i": (3,)}, {"y": (2, 3)}, constants)
    model.graph.input[0].type.tensor_type.elem_type = 6
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    (terminal,) = reference_for(path).inputs
    assert (terminal.low, terminal.high) == (0.0, 8.0)
