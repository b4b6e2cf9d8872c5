"""`operators`: every operator of a model at once, with and without a form."""

import json
from pathlib import Path

import numpy as np
import pytest

from target_arch.cli import main
from tests.relax.models import helper, onnx_model, save


def test_operators_with_and_without_a_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("RandomUniformLike", ["b"], ["c"]),
        helper.make_node("NonZero", ["c"], ["d"]),
        helper.make_node("Cast", ["d"], ["y"], to=1),
    ]
    path = save(onnx_model(nodes, {"x": ("N", 4)}, {"y": (2, 4)}), tmp_path / "m.onnx")
    assert main(["operators", str(path), "--batch", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.out == (
        "     1  Cast               y\n"
        "     1  NonZero            d\n"
        "     1  RandomUniformLike  c      no form: not known here\n"
        "     2  Relu               first\n"
    )
    assert "operator `RandomUniformLike` is not supported" in printed.err


def test_a_model_whose_operators_all_have_forms(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", str(shared / "models" / "kws_int8.tflite"), "--format=json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {use["name"]: use["count"] for use in found} == {
        "AVERAGE_POOL_2D": 1,
        "CONV_2D": 5,
        "DEPTHWISE_CONV_2D": 4,
        "FULLY_CONNECTED": 1,
        "RESHAPE": 1,
        "SOFTMAX": 1,
    }
    assert {use["reason"] for use in found} == {None}


def test_what_is_in_operators_without_a_row_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("MatMul", ["s", "s"], ["m"]),
        helper.make_node("CumSum", ["m", "axis"], ["y"]),
    ]
    constants = {"axis": np.array(3)}
    model = onnx_model(nodes, {"x": (1, 4, 5, 5)}, {"y": (1, 4, 5, 5)}, constants)
    assert main(["operators", str(save(model, tmp_path / "m.onnx"))]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "opaque: 0.0 % of the multiply-accumulates, 33.3 % of the elements: CumSum"


def test_a_model_of_rows_has_nothing_opaque(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", str(shared / "models" / "kws_int8.tflite")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "opaque: nothing"
