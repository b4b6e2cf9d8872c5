"""A model in exact arithmetic from its inputs to its outputs."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.emit import SelfTest
from target_arch.plan.operators.kinds import IncompleteTableError, OperatorKind
from target_arch.relax.importer import import_model
from target_arch.run import self_test
from target_arch.run.exact.oracle import DEFINITIONS, checked, exact_outputs
from tests.relax.models import Array, helper, onnx_model, onnx_reference, quantized


def test_a_forgotten_oracle_and_one_too_many_are_errors() -> None:
    known = {kind: DEFINITIONS[kind] for kind in OperatorKind if kind in DEFINITIONS}
    assert checked(known) == DEFINITIONS
    wrong = {**known, OperatorKind.NORMALIZE: known.pop(OperatorKind.ADD)}
    del wrong[OperatorKind.ADD]
    with pytest.raises(IncompleteTableError, match=r"^`add` has no oracle; `normalize` has an oracle$"):
        checked(wrong)


def small(folder: Path) -> Path:
    """A convolution, a sum, a mean and a dense layer."""
    draw = np.random.default_rng(5)

    def values(*shape: int) -> Array:
        return draw.standard_normal(shape).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Add", ["r", "x"], ["s"]),
        helper.make_node("GlobalAveragePool", ["s"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "b"], ["y"], transB=1),
    ]
    constants = {"w": values(4, 4, 3, 3), "b": values(4), "v": values(4, 4)}
    model = onnx_model(nodes, {"x": (1, 4, 6, 6)}, {"y": (1, 4)}, constants)
    return quantized(model, folder, activations="QInt8", per_channel=True)


def test_outputs_and_the_vector_of_a_bundle(tmp_path: Path) -> None:
    path = small(tmp_path)
    model, _ = import_model(path)
    frame = np.random.default_rng(0).uniform(-2, 2, (1, 4, 6, 6)).astype(np.float32)
    found = exact_outputs(model, (frame,))
    assert found is not None
    (expected,) = onnx_reference(path, {"x": frame})
    step = float(np.min(np.diff(np.unique(np.concatenate([found[0].ravel(), expected.ravel()])))))
    np.testing.assert_allclose(found[0], expected, atol=2 * step)
    vector = self_test(path, imported=model)
    assert isinstance(vector, SelfTest)
    assert vector.reference == "exact integer arithmetic"
    assert [each.absolute for each in vector.tolerances] == [0.0]


def test_nothing_where_an_operator_has_no_definition(tmp_path: Path) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"])
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_model([node], {"x": (1, 4)}, {"y": (1, 4)}).SerializeToString())
    model, _ = import_model(path)
    assert exact_outputs(model, (np.zeros((1, 4), np.float32),)) is None
