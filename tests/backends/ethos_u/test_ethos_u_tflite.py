"""The TFLite that chains are written out as: LiteRT computes of it what it computes of the original."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.ethos_u.graph import graph_of, refusal
from target_arch.backends.ethos_u.tflite_file import tflite_bytes
from target_arch.backends.ethos_u.writers import SAME, VALID, padding
from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from target_arch.relax.kinds.catalogue import standard_patterns
from tests.backends.c.litert import Reference
from tests.backends.ethos_u.chains import residual


def written(model: Model, first: int = 0, last: int | None = None) -> bytes:
    return tflite_bytes(graph_of(model.operators[first:last], model))


def imported(path: Path) -> Model:
    return import_model(path, None, standard_patterns())[0]


@pytest.mark.parametrize("name", ["kws_int8", "ad01_int8", "ic_resnet_int8"])
def test_litert_computes_the_same_of_the_written_model(shared: Path, name: str) -> None:
    path = shared / "models" / f"{name}.tflite"
    model = imported(path)
    original, ours = Reference(path.read_bytes()), Reference(written(model))
    chance = np.random.default_rng(1)
    for _ in range(3):
        frame = chance.integers(-128, 128, model.tensors[model.inputs[0]].shape, np.int8)
        np.testing.assert_array_equal(ours(frame).ravel(), original(frame).ravel())


def test_halves_of_a_model_compute_what_the_whole_does(shared: Path) -> None:
    path = shared / "models" / "kws_int8.tflite"
    model = imported(path)
    first, last = Reference(written(model, 0, 5)), Reference(written(model, 5))
    frame = np.random.default_rng(2).integers(-128, 128, (1, 49, 10, 1), np.int8)
    np.testing.assert_array_equal(last(first(frame)), Reference(path.read_bytes())(frame))


def test_the_written_chain_is_imported_as_it_was(tmp_path: Path) -> None:
    model = residual()
    path = tmp_path / "residual.tflite"
    path.write_bytes(written(model))
    again = imported(path)
    assert [operator.kind for operator in again.operators] == [operator.kind for operator in model.operators]
    for one, other in zip(model.operators, again.operators, strict=True):
        assert dict(one.attributes).items() <= {**other.attributes, "in_features": 288}.items(), one.id
        for mine, theirs in zip(one.constants, other.constants, strict=True):
            assert again.tensors[theirs].data == model.tensors[mine].data, mine
            if again.tensors[theirs].dtype == "int8":  # the importer computes the grid of a bias
                assert grid(again, theirs) == grid(model, mine), mine
        assert grid(again, other.output) == grid(model, one.output), one.output


def test_the_same_graph_is_the_same_file() -> None:
    assert written(residual()) == written(residual())


def grid(model: Model, name: str) -> Sequence[object]:
    quantization = model.tensors[name].quantization
    assert quantization is not None
    return quantization.scale, quantization.zero_point


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"kind": "tile"},
            "the unit computes add, avg_pool2d, concat, conv2d, conv2d_transpose, dense, depthwise_conv2d, "
            "lookup, max_pool2d, mul, relu, requantize, reshape, slice, softmax, sub, transpose; this is "
            "tile",
        ),
        ({"arithmetic": "onnx"}, "arithmetic is onnx, Vela compiles TFLite's"),
        ({"activation_max": 100}, "results from -128 to 100 are no activation of TFLite"),
    ],
)
def test_what_has_no_form_in_tflite(change: dict[str, object], reason: str) -> None:
    model = residual()
    fields = {key: value for key, value in change.items() if key in ("kind", "arithmetic")}
    attributes = {key: value for key, value in change.items() if key not in fields}
    conv = model.operators[0]
    conv = evolve(conv, attributes={**conv.attributes, **attributes}, **fields)  # type: ignore[arg-type]
    assert refusal(conv, model) == reason


def test_tensors_that_the_unit_does_not_take() -> None:
    model = residual()
    conv = model.operators[0]
    for name, change, reason in (
        ("x", {"dtype": "int32"}, "`x` is int32, the unit takes int8, uint8, int16 there"),
        ("a.w", {"dtype": "uint8"}, "`a.w` is uint8, the unit takes int8 there"),
        ("a.y", {"dtype": "int16"}, "`a.y` is int16, the unit takes int8 there"),
        ("x", {"quantization": None}, "`x` has no quantization"),
        ("a.w", {"data": None}, "`a.w` is computed at run time, the unit takes a constant"),
    ):
        other = {**model.tensors, name: evolve(model.tensors[name], **change)}  # type: ignore[arg-type]
        assert refusal(conv, evolve(model, tensors=other)) == reason


def test_padding_by_name() -> None:
    conv = residual().operators[0]
    assert padding(conv, (1, 12, 12, 8), (3, 3)) == SAME
    assert (
        padding(evolve(conv, attributes={**conv.attributes, "padding": (0,) * 4}), (1, 12, 12, 8), (3, 3))
        == VALID
    )
    half = {**conv.attributes, "strides": (2, 2), "padding": (0, 0, 1, 1)}
    assert padding(evolve(conv, attributes=half), (1, 12, 12, 8), (3, 3)) == SAME
