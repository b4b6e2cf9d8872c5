"""Loops of ONNX models whose condition counts become their iterations."""

from pathlib import Path

import numpy as np
import pytest
from onnx.numpy_helper import from_array

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")


def counting(path: Path, last: int, *, trips: int, given: bool = False) -> Path:
    """x = 2 * x + 1 while a counter, which goes up by two, is less than `last`, `trips` times at most; each
    trip's value is kept, too.
    """
    body = [
        helper.make_node("Add", ["count", "two"], ["counted"]),
        helper.make_node("Cast", ["counted"], ["real"], to=1),
        helper.make_node("Less", ["real", "last"], ["less"]),
        helper.make_node("And", ["more", "less"] if given else ["less", "less"], ["goes"]),
        helper.make_node("Mul", ["value", "factor"], ["twice"]),
        helper.make_node("Add", ["twice", "one"], ["left"]),
        helper.make_node("Identity", ["left"], ["kept"]),
    ]
    carried = [("number", 7, []), ("more", 9, []), ("count", 7, []), ("value", 1, [3])]
    results = [("goes", 9, []), ("counted", 7, []), ("left", 1, [3]), ("kept", 1, [3])]
    inner = helper.make_graph(
        body,
        "body",
        [helper.make_tensor_value_info(*each) for each in carried],
        [helper.make_tensor_value_info(*each) for each in results],
        [from_array(np.array(2), "two"), from_array(np.array(1, np.float32), "one")],
    )
    node = helper.make_node("Loop", ["trips", "", "zero", "x"], ["end", "y", "all"], body=inner)
    constants = {
        "trips": np.array(trips),
        "zero": np.array(0),
        "last": np.array(last, np.float32),
        "factor": np.array(2, np.float32),
    }
    return save(onnx_model([node], {"x": (3,)}, {"y": (3,), "all": ("n", 3)}, constants), path)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(("last", "trips"), [(9, 2**63 - 1), (9, 3), (9, 100), (1, 7)])
def test_trips_that_a_condition_counts(last: int, trips: int, given: bool, tmp_path: Path) -> None:
    path = counting(tmp_path / "loop.onnx", last, trips=trips, given=given)
    model, program = import_model(path)
    inputs = {"x": np.array([0.5, -1, 3], np.float32)}
    for ours, theirs in zip(evaluate(model, inputs, program), onnx_reference(path, inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_loop_of_very_many_trips_stays_one(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="their number is known only at run time"):
        import_model(counting(tmp_path / "loop.onnx", 10**6, trips=2**63 - 1))
