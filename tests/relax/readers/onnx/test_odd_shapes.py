"""Shapes and types that no operator has: refused in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.cut import ModelCut
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.importer import import_model
from tests.relax.models import TensorProto, helper, onnx_model, save


def test_boxes_without_three_dimensions(tmp_path: Path) -> None:
    nodes = [helper.make_node("NonMaxSuppression", ["boxes", "scores"], ["y"])]
    model = onnx_model(nodes, {"boxes": (4, 4), "scores": (1, 4)}, {"y": ("n", 3)})
    with pytest.raises(DiagnosticError):
        import_model(save(model, tmp_path / "m.onnx"))


NARROWED = {
    "Expand": helper.make_node("Expand", ["x", "extents"], ["j"]),
    "LpPool": helper.make_node("LpPool", ["x"], ["j"], kernel_shape=[1, 7]),
    "Pad": helper.make_node("Pad", ["x", "pads"], ["j"]),
}
"""Operators of which ONNX infers an extent below zero."""


@pytest.mark.parametrize("read", [True, False], ids=["a GatherND reads it", "plain"])
@pytest.mark.parametrize("kind", NARROWED)
def test_extent_below_zero(kind: str, read: bool, tmp_path: Path) -> None:
    path = save(_narrowed(kind, read), tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as refused:
        import_model(path)
    tensor = {"LpPool": "extent of -2", "Pad": "extent of -1", "Expand": "extent of -3"}[kind]
    assert str(refused.value) == (
        f"{path}: error: its shapes do not fit together: tensor `j` has an {tensor} [model-damaged]\n"
        "hint: export the model again"
    )


def test_extent_below_zero_before_a_cut(tmp_path: Path) -> None:
    path = save(_narrowed("Pad", True), tmp_path / "m.onnx")
    wanted = InputShapes(cut=ModelCut(inputs=("i",), outputs=()))
    with pytest.raises(DiagnosticError, match="wrong-cut"):
        import_model(path, shapes=wanted)


def _narrowed(kind: str, read: bool) -> Any:
    """A model in which the extent is among the indices of a `GatherND`, on which ONNX crashes, or is not."""
    nodes = [NARROWED[kind]]
    if read:
        nodes += [
            helper.make_node("Cast", ["j"], ["i"], to=TensorProto.INT64),
            helper.make_node("GatherND", ["d", "i"], ["y"]),
        ]
    constants = {"extents": np.array([1, 1, 4, -3]), "pads": np.array([0, 0, 0, 0, 0, 0, 0, -5])}
    own = {name: values for name, values in constants.items() if name in NARROWED[kind].input}
    model = onnx_model(nodes, {"x": (1, 1, 4, 4 if kind != "Expand" else 1), "d": (2, 2)}, {}, own)
    model.graph.output.add(name="y" if read else "j").type.tensor_type.elem_type = TensorProto.FLOAT
    return model


def test_input_of_a_negative_extent_is_open(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("GatherND", ["d", "i"], ["y"])], {"d": (2, 2)}, {"y": (2,)})
    model.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, [2, -2]))
    path = save(model, tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as refused:
        import_model(path)
    assert "an input has open dimensions: `i` (2x?) [dynamic-shape]" in str(refused.value)


@pytest.mark.parametrize("domains", [["", ""], ["", "ai.onnx"], ["ai.onnx", ""], ["ai.onnx"]])
def test_versions_asked_for_twice(domains: list[str], tmp_path: Path) -> None:
    """An operator with a body of others is replaced: the newest version holds."""
    nodes = [helper.make_node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y"])]
    model = onnx_model(nodes, {"x": (3, 5)}, {"y": ()})
    model.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, [3]))
    del model.opset_import[:]
    for number, domain in enumerate(domains):
        model.opset_import.append(helper.make_opsetid(domain, 17 + number))
    imported, _ = import_model(save(model, tmp_path / "m.onnx"))
    assert "SoftmaxCrossEntropyLoss" not in str(imported)


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_operators_name_the_domain_either_way(domain: str, tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["h"], domain="ai.onnx"), helper.make_node("Neg", ["h"], ["y"])]
    model = onnx_model(nodes, {"x": (3, 5)}, {"y": (3, 5)})
    model.opset_import[0].domain = domain
    imported, _ = import_model(save(model, tmp_path / "m.onnx"))
    assert "relu" in str(imported)


@pytest.mark.parametrize("constant", [True, False])
def test_more_dimensions_than_a_tensor_has(constant: bool, tmp_path: Path) -> None:
    """TVM's own converter does not end, or ends the process."""
    nodes = [helper.make_node("Unsqueeze", ["x", "axes"], ["y"])]
    axes = {"axes": np.arange(40)} if constant else {}
    model = onnx_model(nodes, {"x": (3, 4)}, {"y": ()}, axes)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    if not constant:
        model.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, (40,)))
    with pytest.raises(DiagnosticError, match="it adds 40 dimensions, and a tensor has at most 32"):
        import_model(save(model, tmp_path / "m.onnx"))


def test_a_tensor_of_many_dimensions(tmp_path: Path) -> None:
    nodes, shape = [helper.make_node("Relu", ["x"], ["y"])], (1,) * 33
    path = save(onnx_model(nodes, {"x": shape}, {"y": shape}), tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as refused:
        import_model(path)
    assert str(refused.value) == (
        f"{path}: error: tensor `x` has 33 dimensions, more than 32 [unsupported-model]\n"
        "hint: reshape it in the model: dimensions of extent 1 say nothing"
    )


@pytest.mark.parametrize("kind", ["Range", "HannWindow"])
def test_ranges_that_are_too_long(kind: str, tmp_path: Path) -> None:
    """A window is made of a range."""
    numbers = {"start": np.array(0), "limit": np.array(2**40), "step": np.array(3)}
    own = numbers if kind == "Range" else {"limit": numbers["limit"]}
    content = onnx_model([helper.make_node(kind, [*own], ["y"])], {}, {"y": ("n",)}, own)
    path = save(content, tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as refused:
        import_model(path)
    assert str(refused.value).startswith(f"{path}: error: a `Range` has more than 16,777,216 numbers")
