"""Parts of models from every format, compared with their interpreters' answers to the same parts."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from target_arch.diagnostics import DiagnosticError

FLOAT = TensorProto.FLOAT


def two_heads(place: Path) -> Path:
    """An ONNX model with a shared trunk and two outputs, one of which reads a second input."""
    nodes = [
        helper.make_node("Relu", ["x"], ["trunk"]),
        helper.make_node("MatMul", ["trunk", "w"], ["boxes"]),
        helper.make_node("Mul", ["trunk", "mask"], ["scores"]),
    ]
    inputs = [helper.make_tensor_value_info(name, FLOAT, [1, 6]) for name in ("x", "mask")]
    outputs = [helper.make_tensor_value_info(name, FLOAT, None) for name in ("boxes", "scores")]
    weight = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    graph = helper.make_graph(nodes, "heads", inputs, outputs, [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), place / "heads.onnx")
    return place / "heads.onnx"


def verified(model: Path, place: Path, **options: Any) -> tuple[list[str], list[str]]:
    """The names of inputs and outputs of a part that was compiled, built and compared."""
    bundle = target_arch.compile(model, "mcu_m55", **options).write(place / "bundle")
    (result,) = bundle.verify(model, count=5).values()
    assert result.passed
    (entry,) = bundle.manifest.models
    return [each.name for each in entry.inputs], [each.name for each in entry.outputs]


def test_the_second_output_of_an_onnx_model_alone(tmp_path: Path) -> None:
    assert verified(two_heads(tmp_path), tmp_path, end="scores") == (["x", "mask"], ["scores"])


def test_an_onnx_model_from_a_tensor_whose_shape_onnx_infers(tmp_path: Path) -> None:
    assert verified(two_heads(tmp_path), tmp_path, begin="trunk", end="boxes") == (["trunk"], ["boxes"])


def test_the_manifest_says_what_was_asked_for(tmp_path: Path) -> None:
    made = target_arch.compile(two_heads(tmp_path), "mcu_m55", begin="trunk", end=["boxes"])
    asked = made.manifest.models[0].input_shapes
    assert asked is not None
    assert (asked.inputs, asked.outputs) == (("trunk",), ("boxes",))


def test_the_operators_are_those_of_the_part(tmp_path: Path) -> None:
    uses = target_arch.operators(two_heads(tmp_path), end="boxes").uses
    assert [use.name for use in uses] == ["MatMul", "Relu"]


def test_a_tensor_of_which_no_type_follows_is_no_input(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Foreign", ["x"], ["y"], domain="other"),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    inputs = [helper.make_tensor_value_info("x", FLOAT, [1, 6])]
    outputs = [helper.make_tensor_value_info("z", FLOAT, None)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("other", 1)],
    )
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(DiagnosticError) as caught:
        target_arch.compile(tmp_path / "model.onnx", "mcu_m55", begin="y")
    assert str(caught.value).replace(str(tmp_path), "") == (
        "/model.onnx: error: `y` cannot be an input: no tensor type of it follows from the file [wrong-cut]\n"
        "hint: declare it among the file's `value_info`"
    )


@pytest.mark.slow
def test_a_tflite_model_from_a_layer_to_a_layer(shared: Path, tmp_path: Path) -> None:
    names = verified(
        shared / "models" / "kws_int8.tflite",
        tmp_path,
        begin="functional_1/activation_3/Relu",
        end="functional_1/average_pooling2d/AvgPool",
    )
    assert len(names[0]) == 1
    assert names[1] == ["functional_1_average_pooling2d_AvgPool"]


def exported(place: Path) -> Path:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc]  # PyTorch has no types here
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x: Any) -> Any:
            inner = torch.relu(self.first(x))
            self.mean += inner.mean(0)
            return self.second(inner + self.mean), inner.sum()

    torch.export.save(torch.export.export(Net(), (torch.ones(3, 4),)), place / "net.pt2")
    return place / "net.pt2"


def test_a_pytorch_program_keeps_the_states_that_its_part_reads(tmp_path: Path) -> None:
    assert verified(exported(tmp_path), tmp_path, begin="relu", end="addmm_1") == (["relu"], ["addmm_1"])


def test_a_pytorch_program_without_the_states_that_nothing_reads(tmp_path: Path) -> None:
    model = exported(tmp_path)
    assert verified(model, tmp_path, end="relu") == (["x"], ["relu"])
    assert not target_arch.compile(model, "mcu_m55", end="relu").manifest.models[0].states


def test_a_pytorch_program_with_open_dimensions_is_not_cut(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dynamic = ({0: torch.export.Dim("rows", min=2, max=8)},)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    program = torch.export.export(net, (torch.ones(3, 4),), dynamic_shapes=({0: dynamic[0][0]},))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(DiagnosticError) as caught:
        target_arch.operators(tmp_path / "net.pt2", end="addmm")
    assert str(caught.value).replace(str(tmp_path), "") == (
        "/net.pt2: error: a program with open dimensions cannot be cut [wrong-cut]\n"
        "hint: export it with fixed shapes"
    )


def test_a_relax_module_is_not_cut(tmp_path: Path) -> None:
    from tvm.script import ir as I
    from tvm.script import relax as R

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((1, 4), "float32")) -> R.Tensor((1, 4), "float32"):
            y = R.nn.relu(x)
            return y

    with pytest.raises(DiagnosticError) as caught:
        target_arch.compile(Module, "mcu_m55", end="y")
    assert "a Relax module cannot be cut [wrong-cut]" in str(caught.value)
