"""TFLite models with one thing changed in place: each is refused with its own message."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from conformance.tflite_files import TfliteFile
from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model

AGAIN = "hint: copy or export the model again"


class Patched:
    """The bytes of kws_int8 and ways to change a field of it."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.model: Any = tflite.Model.GetRootAsModel(self.data, 0)
        self.graph: Any = self.model.Subgraphs(0)

    def scalar(self, table: Any, field: int, value: int, size: int) -> None:
        """Set a scalar field (numbered as in the schema) of `size` bytes."""
        at = table._tab.Offset(4 + 2 * field)
        assert at, "the field has its default and takes no space"
        start = table._tab.Pos + at
        self.data[start : start + size] = value.to_bytes(size, "little", signed=True)

    def element(self, table: Any, field: int, index: int, value: int) -> None:
        """Set an element of a field that is a vector of int32."""
        start = table._tab.Vector(table._tab.Offset(4 + 2 * field)) + 4 * index
        self.data[start : start + 4] = value.to_bytes(4, "little", signed=True)

    def complaint(self, path: Path) -> str:
        path.write_bytes(self.data)
        with pytest.raises(DiagnosticError) as caught:
            import_model(path)
        assert len(caught.value.diagnostics) == 1
        return str(caught.value).replace(f"{path.parent}/", "")


@pytest.fixture
def kws(shared: Path) -> Patched:
    return Patched((shared / "models" / "kws_int8.tflite").read_bytes())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.tflite"


def test_an_open_dimension_other_than_the_batch(kws: Patched, path: Path) -> None:
    kws.element(kws.graph.Tensors(kws.graph.Inputs(0)), 7, 1, -1)
    assert kws.complaint(path) == (
        "m.tflite: error: an input has open dimensions: `input_1` (1x?x10x1) [dynamic-shape]\n"
        "hint: add `input_shapes={'input_1': (1, D1, 10, 1)}`, with a number for `D1`"
    )


def test_a_custom_operator(kws: Patched, path: Path) -> None:
    kws.scalar(kws.model.OperatorCodes(5), 0, tflite.BuiltinOperator.CUSTOM, 1)
    assert kws.complaint(path) == (
        "m.tflite: error: operator `?` is not supported [unsupported-operator]\n"
        "m.tflite: note: `?` once, at `Identity`: a custom operator\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_an_operator_the_frontend_does_not_know(
    kws: Patched, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kws.scalar(kws.model.OperatorCodes(5), 0, tflite.BuiltinOperator.LSH_PROJECTION, 1)
    assert kws.complaint(path) == (
        "m.tflite: error: operator `LSH_PROJECTION` is not supported [unsupported-operator]\n"
        "m.tflite: note: `LSH_PROJECTION` once, at `Identity`: not known here\n"
        "hint: replace it in the model, or split the model before it"
    )
    assert capfd.readouterr() == ("", "")


def test_an_operator_that_cannot_be_quantized(kws: Patched, path: Path) -> None:
    kws.scalar(kws.model.OperatorCodes(5), 0, tflite.BuiltinOperator.LOCAL_RESPONSE_NORMALIZATION, 1)
    assert kws.complaint(path) == (
        "m.tflite: error: operator `LOCAL_RESPONSE_NORMALIZATION` is not supported [unsupported-operator]\n"
        "m.tflite: note: `LOCAL_RESPONSE_NORMALIZATION` once, at `Identity`: not known here\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_a_tensor_that_does_not_exist(kws: Patched, path: Path) -> None:
    kws.element(kws.graph.Operators(0), 1, 0, 1000)
    assert kws.complaint(path) == (
        "m.tflite: error: the file is cut off or damaged: a tensor is named that the model does not have "
        f"[model-damaged]\n{AGAIN}"
    )


def test_a_constant_of_the_wrong_size(kws: Patched, path: Path) -> None:
    kws.element(kws.graph.Tensors(1), 0, 0, 13)
    assert kws.complaint(path) == (
        "m.tflite: error: the file is cut off or damaged: "
        "constant `functional_1/dense/BiasAdd/ReadVariableOp/resource` has 48 B, its shape asks for 52 B "
        f"[model-damaged]\n{AGAIN}"
    )


def test_a_vector_longer_than_the_file(kws: Patched, path: Path) -> None:
    operators = kws.graph._tab.Vector(kws.graph._tab.Offset(10)) - 4
    kws.data[operators : operators + 4] = (2**31 - 1).to_bytes(4, "little")
    text = kws.complaint(path)
    assert text.startswith("m.tflite: error: the file is cut off or damaged: a vector of 2147483647 elements")
    assert text.endswith(f"[model-damaged]\n{AGAIN}")


def test_a_model_without_outputs(kws: Patched, path: Path) -> None:
    outputs = kws.graph._tab.Vector(kws.graph._tab.Offset(8)) - 4
    kws.data[outputs : outputs + 4] = bytes(4)
    assert kws.complaint(path) == (
        f"m.tflite: error: the file is cut off or damaged: the model has no output [model-damaged]\n{AGAIN}"
    )


@pytest.mark.parametrize("guessed", [True, False])
def test_shapes_behind_a_refused_operator_are_not_held_against_others(guessed: bool, path: Path) -> None:
    """Something stands in for its result, and where the file leaves dimensions open, extents are guesses."""
    file = TfliteFile()
    x, y = file.input((1, 2, 2, 6), "float32"), file.output((1, 4), "float32")
    inside = file.tensor((1, 1), "float32")
    weight = file.tensor((4, 6), "float32", data=np.ones((4, 6)))
    file.operator("LOCAL_RESPONSE_NORMALIZATION", [x], [inside], ("LocalResponseNormalizationOptions", {}))
    file.operator("FULLY_CONNECTED", [inside, weight], [y], ("FullyConnectedOptions", {}))
    if guessed:
        file.open_batch()
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert "LOCAL_RESPONSE_NORMALIZATION" in str(caught.value)
    assert "FULLY_CONNECTED" not in str(caught.value)


def test_a_signature_of_other_dimensions(kws: Patched, path: Path) -> None:
    kws.element(kws.graph.Tensors(kws.graph.Inputs(0)), 7, -1, 3)
    assert kws.complaint(path) == (
        "m.tflite: error: the file is cut off or damaged: the signature of tensor `input_1` has other "
        f"dimensions than its shape [model-damaged]\n{AGAIN}"
    )
