"""What ai-edge-quantizer makes of a net, layer by layer."""

import lzma
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.api.bundle import Bundle
from target_arch.api.compilation import compile
from target_arch.diagnostics import DiagnosticError
from target_arch.quantize.data import LabelledFrames, read_frames
from target_arch.quantize.formats import calibrated, require_float
from target_arch.quantize.library import QuantizedModel
from target_arch.quantize.precision import Precision
from target_arch.quantize.score import Judge
from target_arch.quantize.search import quantize_to_fit
from target_arch.quantize.tflite_file import TfliteQuantizer
from target_arch.run.references.find import reference_for
from tests.quantize.tiny import SOC, request, written

pytest.importorskip(
    "ai_edge_quantizer", reason="needs ai-edge-quantizer: pip install 'target-arch[quantize]'"
)
pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
NET = Path(__file__).parents[2] / "conformance" / "exported" / "gated_float.tflite.xz"
INT8, FLOAT = Precision.INT8, Precision.FLOAT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    unpacked = tmp_path / "gated.tflite"
    unpacked.write_bytes(lzma.decompress(NET.read_bytes()))
    return unpacked


def images(count: int = 6) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((count, 3, 32, 32)).astype(np.float32)


@pytest.fixture
def data(file: Path, tmp_path: Path) -> LabelledFrames:
    return read_frames(written(tmp_path, x=images()), None, reference_for(file).inputs)


@pytest.fixture
def model(file: Path, data: LabelledFrames, tmp_path: Path) -> QuantizedModel:
    return calibrated(file, data, tmp_path)


def test_layers(model: QuantizedModel) -> None:
    assert [layer.kind for layer in model.layers] == ["CONV_2D"] * 9 + ["FULLY_CONNECTED"]
    assert len({layer.name for layer in model.layers}) == 10


def test_recipes_are_the_library_s_own_results(model: QuantizedModel, data: LabelledFrames) -> None:
    from ai_edge_quantizer import quantizer, recipe

    (name,) = (one.name for one in reference_for(model.float_model).inputs)
    for setting, precisions in model.recipes.items():
        own = quantizer.Quantizer(model.float_model.read_bytes(), getattr(recipe, setting)())
        frames = {"serving_default": [{name: frame[0]} for frame in data.frames]}
        ranges = own.calibrate(frames) if own.need_calibration else None
        content = bytes(own.quantize(ranges).quantized_model)
        assert content == model.quantized(precisions, setting)
        assert setting != "static_wi8_ai8" or content == model.quantized((INT8,) * 10, "moving averages")
    assert {Precision.FLOAT, Precision.INT8_WEIGHTS} == set(model.recipes["dynamic_legacy_wi8_afp32"])


def test_the_extremes_of_all_frames_are_no_narrower_than_moving_averages(model: QuantizedModel) -> None:
    assert isinstance(model, TfliteQuantizer)
    smoothed, extremes = (model.ranges[setting] for setting in ("moving averages", "min and max"))
    assert smoothed.keys() == extremes.keys()
    for name, range_ in extremes.items():
        if range_ and smoothed[name]:
            assert np.all(range_["min"] <= smoothed[name]["min"])
            assert np.all(range_["max"] >= smoothed[name]["max"])


@pytest.mark.parametrize("precision", [each for each in Precision if each is not FLOAT])
def test_one_layer_in_each_precision(
    model: QuantizedModel, data: LabelledFrames, tmp_path: Path, precision: Precision
) -> None:
    """The operators that are added, QUANTIZE and DEQUANTIZE, have their numbers in the newer field alone."""
    answer = reference_for(model.float_model).answer
    judge = Judge(data=data, expected=tuple(answer(frame)[0] for frame in data.frames))
    content = model.quantized((FLOAT, precision, *(FLOAT,) * 8), "min and max")
    assert 0 < judge.score(model.answer(content, tmp_path)).distance < 0.1
    kinds = [operator.kind for operator in compile(content, SOC).models[0].stages.model.operators]
    floats = {str(each) for each in Precision if str(each).endswith(("weights", "stored"))}
    assert ("quantize" in kinds) == (precision not in floats)


@pytest.mark.long
def test_a_budget_is_held_and_the_bundle_verifies(file: Path, tmp_path: Path) -> None:
    asked = request(tmp_path, "flash=12000B,latency=20ms")
    result = quantize_to_fit(evolve(asked, model=file, data=written(tmp_path, x=images())))
    assert result.library == "ai-edge-quantizer"
    assert result.chosen.price.outcome.bytes["flash"] <= 12000
    assert result.chosen.price.of("latency") <= 0.02
    assert result.chosen.score.distance <= min(row.score.distance for row in result.rows[1:])
    chosen = tmp_path / "chosen.tflite"
    chosen.write_bytes(result.content)
    compile(chosen, SOC).write(tmp_path / "bundle")
    verified = Bundle(directory=tmp_path / "bundle").verify(chosen, count=2)
    assert [each.passed for each in verified.values()] == [True]


def test_equal_arguments_give_equal_bytes(
    model: QuantizedModel, file: Path, data: LabelledFrames, tmp_path: Path
) -> None:
    (tmp_path / "again").mkdir()
    again = calibrated(file, data, tmp_path / "again")
    precisions = (INT8, FLOAT, Precision.INT16, Precision.INT8_WEIGHTS, Precision.INT8_TENSOR, *(INT8,) * 5)
    assert model.quantized(precisions, "min and max") == again.quantized(precisions, "min and max")


def test_a_model_that_is_quantized_already(model: QuantizedModel, tmp_path: Path) -> None:
    file = tmp_path / "int8.tflite"
    file.write_bytes(model.quantized((INT8,) * 10, "min and max"))
    with pytest.raises(DiagnosticError) as caught:
        require_float(file)
    assert str(caught.value) == (
        f"{file}: error: the model is quantized already: it has tensors of int8 with scales "
        "[already-quantized]\nhint: give the float model that it was made from"
    )
    file.write_bytes(b"no model at all")
    with pytest.raises(DiagnosticError, match=r"int8\.tflite: error: tflite cannot read the model: "):
        require_float(file)
