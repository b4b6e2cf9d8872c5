"""Weights in a file beside an ONNX model: found from any folder, and from no folder but the model's."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from tests.relax.models import onnx_model


def model_with(folder: Path, location: str) -> Path:
    """A model whose weight is in the file `location`, as the model says."""
    weight = np.arange(16, dtype=np.float32).reshape(4, 4)
    made = onnx_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)}, {"w": weight}
    )
    (tensor,) = made.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    (folder / "w.bin").write_bytes(weight.tobytes())
    return path


@pytest.mark.parametrize("here", ["/", "."])
def test_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    path = model_with(tmp_path, "w.bin")
    monkeypatch.chdir(here if here == "/" else tmp_path)
    given = path if here == "/" else Path(path.name)
    model, _ = import_model(given)
    assert [operator.kind for operator in model.operators] == ["dense"]
    reference = pytest.importorskip("target_arch.run.references.onnxruntime").ort(given)
    (frame,) = reference.frames(1, 0)
    ((answer,),) = reference.answer(frame)
    assert np.allclose(answer, frame[0] @ np.arange(16, dtype=np.float32).reshape(4, 4))


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "link", "a/../../w.bin", "a\0b"])
def test_not_from_outside(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(64))
    (folder / "link").symlink_to(tmp_path / "w.bin")
    with pytest.raises(DiagnosticError) as caught:
        import_model(model_with(folder, location))
    shown = location.replace("\0", r"\x00")
    message = f"the data of tensor `w` is outside of the model's folder: `{shown}`"
    hint = "put the file with the weights beside the model"
    assert str(caught.value) == f"{folder}/m.onnx: error: {message} [model-damaged]\nhint: {hint}"
