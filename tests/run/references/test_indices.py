"""Random inputs that index are in the range of what they index."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.run import reference_for
from target_arch.run.references.indices.onnx_uses import uses
from target_arch.run.references.indices.uses import Use, highest_indices
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


@pytest.mark.parametrize(("offset", "highest"), [(9, 8.0), (2, 6.0)])
def test_an_index_that_may_count_from_the_end(offset: int, highest: float, tmp_path: Path) -> None:
    """Keras' embedding in ONNX: a negative index gets the whole extent on top, by products with conditions;
    an offset of a position is less than that.
    """
    nodes = [
        helper.make_node("Constant", [], ["all"], value=helper.make_tensor("", 6, [1], [offset])),
        helper.make_node("Less", ["i", "zero"], ["negative"]),
        helper.make_node("Not", ["negative"], ["other"]),
        helper.make_node("Cast", ["other"], ["kept"], to=6),
        helper.make_node("Cast", ["negative"], ["wrapped"], to=6),
        helper.make_node("Add", ["i", "all"], ["from_end"]),
        helper.make_node("Mul", ["i", "kept"], ["a"]),
        helper.make_node("Mul", ["wrapped", "from_end"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["index"]),
        helper.make_node("Gather", ["t", "index"], ["y"]),
    ]
    constants = {"t": np.zeros((9, 2), np.float32), "zero": np.array(0, np.int32)}
    model = onnx_model(nodes, {"i": (3,)}, {"y": (3, 2)}, constants)
    model.graph.input[0].type.tensor_type.elem_type = 6
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    (terminal,) = reference_for(path).inputs
    assert (terminal.low, terminal.high) == (0.0, highest)


def test_an_index_that_is_chosen() -> None:
    node = helper.make_node("Where", ["valid", "i", "j"], ["k"])
    model = helper.make_model(
        helper.make_graph([node, helper.make_node("Gather", ["t", "k"], ["y"])], "g", [], [])
    )
    found = highest_indices(uses(model, {"t": (5, 2)}))
    assert found == {"k": 4, "i": 4, "j": 4}


def test_lengths_of_sequences_in_onnx(tmp_path: Path) -> None:
    """Sorted first, as packed sequences of PyTorch are."""
    nodes = [
        helper.make_node("TopK", ["n", "one"], ["sorted", "places"]),
        helper.make_node("Cast", ["sorted"], ["lengths"], to=6),
        helper.make_node("GRU", ["x", "w", "r", "", "lengths"], ["y"], hidden_size=2),
    ]
    constants = {
        "one": np.array([1]),
        "w": np.zeros((1, 6, 3), np.float32),
        "r": np.zeros((1, 6, 2), np.float32),
    }
    model = onnx_model(nodes, {"x": (5, 1, 3), "n": (1,)}, {"y": (5, 1, 1, 2)}, constants)
    model.graph.input[1].type.tensor_type.elem_type = 7
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    _, lengths = reference_for(path).inputs
    assert (lengths.low, lengths.high) == (0.0, 5.0)
