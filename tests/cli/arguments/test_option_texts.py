"""Texts of options as values: `--input-shape` and `--input-value`."""

import pytest

from target_arch.cli.arguments.option_texts import numbers, shapes, with_negative_values
from target_arch.diagnostics import DiagnosticError


def test_shapes_by_name() -> None:
    """A name may have any character; the last `=` ends it."""
    given = ["x=1x3x224x224", "serving:0=7", "a=b=2x2", "scalar="]
    expected = {"x": (1, 3, 224, 224), "serving:0": (7,), "a=b": (2, 2), "scalar": ()}
    assert shapes(given) == expected


@pytest.mark.parametrize("text", ["x", "=1x2", "x=1x", "x=1,2", "x=0x2", "x=-1", "x=9999999999", "x=1X2"])
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        shapes([text])
    assert str(caught.value) == (
        f"command line: error: `{text}` is not NAME=EXTENTxEXTENT... [bad-shape]\n"
        "hint: as in `--input-shape x=1x3x224x224`; a scalar is `x=`"
    )


def test_two_shapes_for_one_input() -> None:
    with pytest.raises(DiagnosticError) as caught:
        shapes(["x=1x2", "x=1x2", "x=2x2"])
    assert str(caught.value) == (
        "command line: error: input `x` is to have two shapes: 1x2 and 2x2 [bad-shape]\n"
        "hint: name one of them"
    )


def test_values_by_name() -> None:
    given = ["sr=16000", "a=b=-1", "x=0.5", "y=1e-3"]
    assert numbers(given) == {"sr": 16000, "a=b": -1, "x": 0.5, "y": 0.001}


@pytest.mark.parametrize("text", ["x", "=1", "x=", "x=one", "x=1x2", "x=.", "x=nan", "x=1e999"])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        numbers([text])
    assert str(caught.value) == (
        f"command line: error: `{text}` is not NAME=NUMBER [bad-value]\n"
        "hint: as in `--input-value rate=16000`"
    )


def test_two_values_for_one_input() -> None:
    with pytest.raises(DiagnosticError) as caught:
        numbers(["x=1", "x=1.0", "x=2"])
    assert str(caught.value) == (
        "command line: error: input `x` is to have two values: 1 and 2 [bad-value]\nhint: name one of them"
    )


def test_a_range_may_begin_with_a_minus() -> None:
    words = ["compile", "m.onnx", "--input-range", "-1:1", "--input-range", "-.5:2", "--count", "-1"]
    joined = ["compile", "m.onnx", "--input-range=-1:1", "--input-range=-.5:2", "--count", "-1"]
    assert with_negative_values(words) == joined
    assert with_negative_values(["--input-range=a=0:1", "-1:1"]) == ["--input-range=a=0:1", "-1:1"]
