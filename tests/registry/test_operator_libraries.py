"""Operator libraries: checked when they are registered, clashes that name both parties."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from target_arch.backend.operators import ModelFormat, OperatorLibrary
from target_arch.registry import PlugInError, PlugIns
from target_arch.registry.operators import TFLITE_BUILT_IN
from target_arch.relax.readers.tflite_operators.custom.table import CUSTOM

FOLDER = Path(__file__).parents[1] / "plug_in_folder"


def nothing(site: Any) -> None: ...


LIBRARY = OperatorLibrary(name="x", description="an x", converters={("tflite", "X"): nothing})


def refusal(library: Any) -> str:
    with pytest.raises(PlugInError) as caught:
        PlugIns.discover().operators.add(library)
    return str(caught.value)


def test_a_library_in_a_folder() -> None:
    libraries = PlugIns.discover([FOLDER]).load_folders().operators
    assert str(libraries["acme"]) == (
        "acme: a gain (onnx com.acme.Gain, pytorch acme::gain, tflite AcmeGain)\n"
    )
    found = libraries.converter(ModelFormat.ONNX, "com.acme.Gain")
    assert found is not None
    assert (found.library.name, found.origin) == ("acme", str(FOLDER / "operators" / "acme.py"))
    assert libraries.converter(ModelFormat.TFLITE, "com.acme.Gain") is None


def test_two_libraries_of_one_operator(tmp_path: Path) -> None:
    (tmp_path / "operators").mkdir()
    text = (FOLDER / "operators" / "acme.py").read_text()
    (tmp_path / "operators" / "zeta.py").write_text(text.replace('name="acme"', 'name="zeta"'))
    with pytest.raises(PlugInError) as caught:
        PlugIns.discover([FOLDER, tmp_path]).load_folders()
    assert str(caught.value) == (
        f"{tmp_path}/operators/zeta.py: error: operator `com.acme.Gain` of onnx has two converters "
        "[operator-duplicate]\n"
        f"{FOLDER}/operators/acme.py: note: it is converted here, too\n"
        "hint: take one of the libraries away"
    )


def test_one_that_is_added_beside_another() -> None:
    libraries = PlugIns.discover([FOLDER]).operators
    with pytest.raises(PlugInError) as caught:
        libraries.add(evolve(LIBRARY, converters={("tflite", "AcmeGain"): nothing}))
    assert caught.value.origins == (str(FOLDER / "operators" / "acme.py"), "added in Python")
    assert "x" not in libraries
    libraries.add(LIBRARY)
    found = libraries.converter(ModelFormat.TFLITE, "X")
    assert found is not None
    assert found.convert is nothing


def test_two_libraries_of_one_name(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "operators", tmp_path / "operators")
    with pytest.raises(PlugInError, match="operator library `acme` is registered twice"):
        PlugIns.discover([FOLDER, tmp_path])


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (
            42,
            "operator library `` is a int, not a OperatorLibrary [operator-library-type]\n"
            "hint: export a `target_arch.backend.operators.OperatorLibrary`",
        ),
        (evolve(LIBRARY, description=""), "operator library `x`: `description` is empty"),
        (evolve(LIBRARY, name="X"), "operator library name `X` is not a lower-case identifier"),
        (evolve(LIBRARY, declare=1), "operator library `x`: `declare` is not callable"),
        (evolve(LIBRARY, converters={}), "operator library `x`: `converters` is no table, or an empty one"),
        (evolve(LIBRARY, converters={"X": nothing}), "the key 'X' is not a pair of format and name"),
        (
            evolve(LIBRARY, converters={("caffe", "X"): nothing}),
            "`caffe` is no format of models; there are `onnx`, `pytorch`, `tflite`",
        ),
        (
            evolve(LIBRARY, converters={("pytorch", "x.y"): nothing}),
            "`x.y` is no name of an operator of pytorch, as `acme::gain` is",
        ),
        (
            evolve(LIBRARY, converters={("onnx", "Gain"): nothing}),
            "`Gain` is no name of an operator of onnx, as `com.acme.Gain` is",
        ),
        (
            evolve(LIBRARY, converters={("onnx", "ai.onnx.ml.Scaler"): nothing}),
            "operator `ai.onnx.ml.Scaler` of onnx is this program's own",
        ),
        (
            evolve(LIBRARY, converters={("tflite", "TFLite_Detection_PostProcess"): nothing}),
            "operator `TFLite_Detection_PostProcess` of tflite is this program's own",
        ),
        (
            evolve(LIBRARY, converters={("tflite", "X"): 1}),
            "the converter of ('tflite', 'X') is not",
        ),
    ],
)
def test_libraries_that_are_refused(library: Any, said: str) -> None:
    assert said in refusal(library)


def test_the_custom_operators_that_are_known_here() -> None:
    assert frozenset(CUSTOM) == TFLITE_BUILT_IN
