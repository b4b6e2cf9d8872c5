"""What torchao's pt2e makes of a program, layer by layer."""

import io
from pathlib import Path

import numpy as np
import pytest

from target_arch.api.compilation import compile
from target_arch.api.quantizing import quantize_model
from target_arch.diagnostics import DiagnosticError
from target_arch.quantize.data import LabelledFrames, read_frames
from target_arch.quantize.formats import calibrated, require_float
from target_arch.quantize.library import QuantizedModel
from target_arch.quantize.precision import Precision
from target_arch.quantize.score import Judge
from target_arch.run.references.find import reference_for
from tests.quantize.tiny import SOC, written

torch = pytest.importorskip("torch", reason="needs torch: pip install 'target-arch[torch]'")
pytest.importorskip("torchao", reason="needs torchao: pip install 'target-arch[torch]'")
pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
INT8, FLOAT, INT4 = Precision.INT8, Precision.FLOAT, Precision.INT4


@pytest.fixture(scope="module")
def program() -> bytes:
    """Two convolutions, one of them with a normalization, and a dense layer."""
    nn = torch.nn
    torch.manual_seed(3)
    parts = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)]
    net = nn.Sequential(*parts, nn.ReLU(), nn.Flatten(), nn.Linear(512, 4)).eval()
    file = io.BytesIO()
    torch.export.save(torch.export.export(net, (torch.randn(1, 3, 8, 8),)), file)
    return file.getvalue()


@pytest.fixture
def file(program: bytes, tmp_path: Path) -> Path:
    (tmp_path / "net.pt2").write_bytes(program)
    return tmp_path / "net.pt2"


def images() -> np.ndarray:
    return np.random.default_rng(7).standard_normal((8, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def data(file: Path, tmp_path: Path) -> LabelledFrames:
    return read_frames(written(tmp_path, x=images()), None, reference_for(file).inputs)


@pytest.fixture
def model(file: Path, data: LabelledFrames, tmp_path: Path) -> QuantizedModel:
    return calibrated(file, data, tmp_path)


def test_layers(model: QuantizedModel) -> None:
    layers = [(layer.name, layer.kind, layer.weights) for layer in model.layers]
    assert layers == [("conv2d", "conv2d", 216), ("conv2d_1", "conv2d", 576), ("linear", "linear", 2048)]
    assert model.settings == ("histogram", "min and max")


@pytest.mark.parametrize("precision", [INT8, Precision.INT8_TENSOR, INT4])
def test_one_layer_in_each_precision(
    model: QuantizedModel, data: LabelledFrames, tmp_path: Path, precision: Precision
) -> None:
    answer = reference_for(model.float_model).answer
    judge = Judge(data=data, expected=tuple(answer(frame)[0] for frame in data.frames))
    content = model.quantized((FLOAT, precision, FLOAT), "min and max")
    assert 0 < judge.score(model.answer(content, tmp_path)).distance < 0.2
    (tmp_path / "one.pt2").write_bytes(content)
    tensors = compile(tmp_path / "one.pt2", SOC).models[0].stages.model.tensors.values()
    assert sum(tensor.dtype == "int8" and tensor.data is not None for tensor in tensors) == 1


def test_equal_arguments_give_equal_bytes(
    model: QuantizedModel, file: Path, data: LabelledFrames, tmp_path: Path
) -> None:
    """Those that were calibrated for another combination, too."""
    again = calibrated(file, data, tmp_path)
    for setting in model.settings:
        model.quantized((INT8, INT8, INT8), setting)
        assert model.quantized((INT8, FLOAT, INT4), setting) == again.quantized((INT8, FLOAT, INT4), setting)


@pytest.mark.long
def test_a_budget_is_held_and_the_bundle_verifies(file: Path, tmp_path: Path) -> None:
    result = quantize_model(file, SOC, written(tmp_path, x=images()), within=["flash=2500B"])
    assert result.library == "torchao"
    assert result.chosen.price.outcome.bytes["flash"] <= 2500
    assert INT4 in {each.precision for each in result.layers}
    chosen = tmp_path / "chosen.pt2"
    chosen.write_bytes(result.content)
    (verified,) = compile(chosen, SOC).write(tmp_path / "bundle").verify(chosen, count=2).values()
    assert verified.passed


def test_a_program_that_is_quantized_already(model: QuantizedModel, tmp_path: Path) -> None:
    file = tmp_path / "int8.pt2"
    file.write_bytes(model.quantized((INT8,) * 3, "histogram"))
    with pytest.raises(DiagnosticError) as caught:
        require_float(file)
    assert str(caught.value) == (
        f"{file}: error: the model is quantized already: it has "
        "`quantized_decomposed.dequantize_per_channel.default` [already-quantized]\n"
        "hint: give the float model that it was made from"
    )


def test_a_program_without_weights(tmp_path: Path, data: LabelledFrames) -> None:
    file = tmp_path / "relu.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.randn(1, 3, 8, 8),)), file)
    with pytest.raises(DiagnosticError) as caught:
        calibrated(file, data, tmp_path)
    said = "there is nothing to quantize: no conv1d, conv2d or linear with weights"
    assert str(caught.value) == f"{file}: error: {said} [nothing-to-quantize]"
