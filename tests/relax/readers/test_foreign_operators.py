"""Operators that a library of a stranger converts: the same kinds from every format, and refusals that name
the library.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.tflite_files import TfliteFile
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Model
from target_arch.registry import PlugIns
from target_arch.relax.importer import import_model
from target_arch.relax.inventory import inventory

FOLDER = Path(__file__).parents[2] / "plug_in_folder"
ORIGIN = FOLDER / "operators" / "acme.py"
SHAPE = (2, 3)


def imported(path: Path) -> Model:
    return import_model(path, foreign=PlugIns.discover([FOLDER]).operators.converter)[0]


def onnx_file(folder: Path, factor: float | None, code: str = "Gain") -> Path:
    """A gain in the middle, of whose result the file says nothing."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy")
    attributes = {} if factor is None else {"factor": float(factor)}
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node(code, ["a"], ["b"], domain="com.acme", **attributes),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    path = folder / "m.onnx"
    graph = helper.make_graph(nodes, "g", [x], [y])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=versions), path)
    return path


def tflite_file(folder: Path, factor: float | None, code: str = "AcmeGain") -> Path:
    file = TfliteFile()
    x = file.input(SHAPE, "float32")
    before, after = file.tensor(SHAPE, "float32"), file.tensor(SHAPE, "float32")
    file.operator("RELU", [x], [before])
    file.operator(code, [before], [after], custom=b"" if factor is None else {"factor": factor})
    file.operator("RELU", [after], [file.output(SHAPE, "float32")])
    path = folder / "m.tflite"
    path.write_bytes(file.content())
    return path


def torch_file(folder: Path, factor: float | None) -> Path:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'target-arch[torch]'")
    declare = PlugIns.discover([FOLDER]).operators["acme"].declare
    assert declare is not None
    declare()

    class Net(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.relu(torch.ops.acme.gain(torch.relu(x), 1.0 if factor is None else factor))

    path = folder / "m.pt2"
    torch.export.save(torch.export.export(Net(), (torch.zeros(SHAPE),)), path)
    return path


FORMATS = (onnx_file, tflite_file, torch_file)


@pytest.mark.parametrize("written", FORMATS)
def test_every_format_leads_to_the_same_kinds(tmp_path: Path, written: Any) -> None:
    model = imported(written(tmp_path, 3.0))
    assert [operator.kind for operator in model.operators] == ["relu", "mul"]
    (constant,) = (each for each in model.tensors.values() if each.data is not None)
    assert set(np.frombuffer(constant.data, np.float32)) == {3.0}


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (-1.0, "a negative factor"),
        (11.0, f"its converter fails: RuntimeError: louder ({ORIGIN})"),
        (12.0, f"its converter gives float32 [6] where the file has float32 [2, 3] ({ORIGIN})"),
        (13.0, f"its converter gives 2 results where the file has 1 ({ORIGIN})"),
    ],
)
def test_what_a_library_refuses(tmp_path: Path, factor: float, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        imported(tflite_file(tmp_path, factor))
    (diagnostic,) = caught.value.diagnostics
    assert [note.message for note in diagnostic.notes] == [f"`AcmeGain` once, at `t2`: {said}"]


def test_a_name_without_a_library(tmp_path: Path) -> None:
    with pytest.raises(
        DiagnosticError, match=r"`Gian` once, at `b`: no operator of `com.acme` is known here"
    ):
        imported(onnx_file(tmp_path, 1.0, "Gian"))
    with pytest.raises(DiagnosticError, match="`AcmeGian` once, at `t2`: a custom operator"):
        imported(tflite_file(tmp_path, 1.0, "AcmeGian"))


def test_an_archive_with_a_function_of_no_library(tmp_path: Path) -> None:
    path = torch_file(tmp_path, 1.0)
    with pytest.raises(DiagnosticError, match=r"it contains the function `torch.ops.acme.gain.default`"):
        import_model(path)


@pytest.mark.parametrize("written", FORMATS)
def test_they_are_listed(tmp_path: Path, written: Any) -> None:
    converter = PlugIns.discover([FOLDER]).operators.converter
    uses = inventory(written(tmp_path, 1.0), foreign=converter).uses
    assert sorted(use.count for use in uses) == [1, 2]
    assert [use.reason for use in uses] == [None, None]


def test_a_model_without_them_imports_no_library(tmp_path: Path) -> None:
    (tmp_path / "operators").mkdir()
    (tmp_path / "operators" / "broken.py").write_text("raise RuntimeError('imported')\n")
    file = TfliteFile()
    file.operator("RELU", [file.input(SHAPE, "float32")], [file.output(SHAPE, "float32")])
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    import_model(path, foreign=PlugIns.discover([tmp_path]).operators.converter)
    with pytest.raises(DiagnosticError, match="operator library `broken` cannot be imported"):
        import_model(tflite_file(tmp_path, 1.0), foreign=PlugIns.discover([tmp_path]).operators.converter)
