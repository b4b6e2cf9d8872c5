"""What onnxruntime's quantizer makes of a net, layer by layer."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.quantize import onnx_file
from target_arch.quantize.data import LabelledFrames, read_frames
from target_arch.quantize.formats import calibrated, require_float
from target_arch.quantize.library import QuantizedModel
from target_arch.quantize.precision import Precision
from target_arch.run.references.find import reference_for
from tests.quantize.tiny import frames, net, written

quantization = pytest.importorskip(
    "onnxruntime.quantization", reason="needs onnxruntime: pip install 'target-arch[quantize]'"
)
INT8, FLOAT, TENSOR = Precision.INT8, Precision.FLOAT, Precision.INT8_TENSOR
INT4 = Precision.INT4


@pytest.fixture
def data(tmp_path: Path) -> LabelledFrames:
    onnx.save(net(), tmp_path / "tiny.onnx")
    return read_frames(written(tmp_path), None, reference_for(tmp_path / "tiny.onnx").inputs)


@pytest.fixture
def model(tmp_path: Path, data: LabelledFrames) -> QuantizedModel:
    return calibrated(tmp_path / "tiny.onnx", data, tmp_path)


def answers(content: bytes, folder: Path) -> np.ndarray:
    (folder / "answering.onnx").write_bytes(content)
    answer = reference_for(folder / "answering.onnx").answer
    return np.array([answer((frame[np.newaxis],))[0][0] for frame in frames()])


def test_layers_and_what_is_behind_them(model: QuantizedModel) -> None:
    layers = [(layer.name, layer.kind, layer.weights) for layer in model.layers]
    assert layers == [("first", "Conv", 216), ("second", "Conv", 576), ("dense", "Gemm", 32)]
    assert model.settings == ("min and max", "percentile", "entropy")


def test_all_of_it_in_int8_is_the_library_s_own_result(model: QuantizedModel, tmp_path: Path) -> None:
    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.left = [{"x": frame[np.newaxis]} for frame in frames()]

        def get_next(self) -> Any:
            return self.left.pop(0) if self.left else None

    own = tmp_path / "own.onnx"
    quantization.quantize_static(
        model.float_model, own, Reader(), per_channel=True, weight_type=quantization.QuantType.QInt8
    )
    ours = model.quantized((INT8, INT8, INT8), "min and max")
    assert np.array_equal(answers(ours, tmp_path), answers(own.read_bytes(), tmp_path))


def test_a_layer_in_float_has_its_weights_as_they_were(model: QuantizedModel) -> None:
    content = model.quantized((INT8, FLOAT, INT8), "min and max")
    tensors = {each.name: each for each in onnx.load_from_string(content).graph.initializer}
    assert tensors["second.w"].data_type == onnx.TensorProto.FLOAT
    assert "first.w" not in tensors
    assert tensors["first.w_quantized"].data_type == onnx.TensorProto.INT8


def test_one_scale_for_all_weights(model: QuantizedModel) -> None:
    content = model.quantized((TENSOR, INT8, TENSOR), "min and max")
    scales = {each.name: list(each.dims) for each in onnx.load_from_string(content).graph.initializer}
    assert scales["first.w_scale"] == []
    assert scales["second.w_scale"] == [8]


def test_weights_of_4_bits_have_a_scale_for_each_channel(model: QuantizedModel, tmp_path: Path) -> None:
    content = model.quantized((INT4, INT8, INT4), "min and max")
    tensors = {each.name: each for each in onnx.load_from_string(content).graph.initializer}
    kinds = {name: each.data_type for name, each in tensors.items() if name.endswith("w_quantized")}
    int4, int8 = onnx.TensorProto.INT4, onnx.TensorProto.INT8
    assert kinds == {"first.w_quantized": int4, "second.w_quantized": int8, "dense.w_quantized": int4}
    assert [list(tensors[f"{name}.w_scale"].dims) for name in ("first", "dense")] == [[8], [4]]
    assert np.abs(answers(content, tmp_path) - answers(model.float_model.read_bytes(), tmp_path)).max() < 1


def test_every_frame_is_in_a_histogram_however_many_fit_at_once(
    data: LabelledFrames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ranges(setting: str) -> list[tuple[float, float]]:
        found = calibrated(tmp_path / "tiny.onnx", data, tmp_path)
        assert isinstance(found, onnx_file.OnnxQuantizer)
        return [each.range_value for each in found.ranges[setting].values()]

    whole = ranges("percentile")
    monkeypatch.setattr(onnx_file, "_VALUES", 1)
    parts = ranges("percentile")
    assert np.allclose(whole, parts, rtol=0.05, atol=0.05)


def test_nothing_quantized_is_the_float_model(model: QuantizedModel, tmp_path: Path) -> None:
    content = model.quantized((FLOAT, FLOAT, FLOAT), "entropy")
    assert np.array_equal(answers(content, tmp_path), answers(model.float_model.read_bytes(), tmp_path))


def test_equal_arguments_give_equal_bytes(
    model: QuantizedModel, data: LabelledFrames, tmp_path: Path
) -> None:
    (tmp_path / "again").mkdir()
    again = calibrated(tmp_path / "tiny.onnx", data, tmp_path / "again")
    for setting in model.settings:
        precisions = (INT8, FLOAT, TENSOR)
        assert model.quantized(precisions, setting) == again.quantized(precisions, setting)


def refusal_of(model: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        require_float(model)
    return str(caught.value)


def test_a_model_that_is_quantized_already(model: QuantizedModel, tmp_path: Path) -> None:
    file = tmp_path / "int8.onnx"
    file.write_bytes(model.quantized((INT8, INT8, INT8), "min and max"))
    assert refusal_of(file) == (
        f"{file}: error: the model is quantized already: it has `DequantizeLinear` [already-quantized]\n"
        "hint: give the float model that it was made from"
    )


def test_files_that_no_library_quantizes(tmp_path: Path) -> None:
    assert refusal_of(tmp_path / "none.onnx") == (
        f"{tmp_path}/none.onnx: error: there is no such file [model-not-found]"
    )
    other = tmp_path / "net.h5"
    other.touch()
    assert refusal_of(other).startswith(
        f"{other}: error: no library quantizes files that end with `.h5` [model-type]\nhint: models that are "
    )
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff")
    assert refusal_of(broken).startswith(f"{broken}: error: onnx cannot read the model: Error parsing ")


def test_a_model_without_weights(tmp_path: Path, data: LabelledFrames) -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    values = [onnx.helper.make_tensor_value_info(name, 1, [1, 3, 8, 8]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "relu", values[:1], values[1:])
    file = tmp_path / "relu.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), file)
    with pytest.raises(DiagnosticError) as caught:
        calibrated(file, data, tmp_path)
    said = "there is nothing to quantize: no Conv, ConvTranspose, Gemm or MatMul with weights"
    assert str(caught.value) == f"{file}: error: {said} [nothing-to-quantize]"
