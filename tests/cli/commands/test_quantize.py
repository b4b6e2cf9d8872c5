"""The command that quantizes: a file that compiles, a table or JSON, and messages."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from target_arch import quantize_model
from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from tests.quantize.tiny import SOC, frames, net, written

pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[quantize]'")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(net("batch"), tmp_path / "tiny.onnx")
    written(tmp_path, x=frames())
    np.save(tmp_path / "labels.npy", np.arange(24) % 4)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_ARCH_QUIET", "")
    return tmp_path


ARGUMENTS = ("quantize", "tiny.onnx", "--data", "data.npz", "--soc", SOC, "-o", "out.onnx")


@pytest.mark.slow
def test_a_file_that_verifies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--labels", "labels.npy"]) == 0
    out, err = capsys.readouterr()
    assert out.split()[:3] == ["model", "accuracy", "distance"]
    assert f"`target-arch verify out.onnx --soc {SOC}` compiles it and compares its results" in err
    assert main(["verify", "out.onnx", "--soc", SOC, "--count", "3", "--quiet"]) == 0


@pytest.mark.long
def test_json_and_python_say_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--within", "flash=2600B", "--quiet", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = quantize_model("tiny.onnx", SOC, "data.npz", within=["flash=2600B"])
    assert result.to_json() == printed
    assert result.content == (folder / "out.onnx").read_bytes()
    again = quantize_model(net(), SOC, "data.npz", within=["flash=2600B"])
    assert again.to_json()["layers"] == printed["layers"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--within", "psram=1MiB"),
            "limits: error: `psram` is no memory of this chip, and nothing else that is limited "
            "[unknown-measure]\nhint: did you mean `sram`?\n",
        ),
        (
            ("-o", "out.tflite"),
            "out.tflite: error: the quantized model has the format of the model: its name must end with "
            "`.onnx` [model-type]\nhint: `out.onnx`\n",
        ),
    ],
)
def test_wrong_arguments(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert main([*ARGUMENTS, *arguments]) == 2
    assert capsys.readouterr().err == said


def test_without_the_solver(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    monkeypatch.delitem(sys.modules, "ortools.sat.python.cp_model", raising=False)
    assert main([*ARGUMENTS, "--quiet"]) == 3
    assert capsys.readouterr().err == (
        "reference: error: the package `ortools` is not installed [tool-missing]\n"
        "hint: pip install 'target-arch[quantize]'\n"
    )


def test_without_the_library(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime.quantization", None)
    assert main([*ARGUMENTS, "--quiet"]) == 3
    assert capsys.readouterr().err == (
        "reference: error: the package `onnxruntime` is not installed [tool-missing]\n"
        "hint: pip install 'target-arch[quantize]'\n"
    )


def test_an_option_that_there_is_not(folder: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        quantize_model("tiny.onnx", SOC, "data.npz", label="labels.npy")  # type: ignore[call-arg]
    assert str(caught.value) == (
        "options: error: there is no option `label` [unknown-keyword]\nhint: did you mean `labels`?"
    )
