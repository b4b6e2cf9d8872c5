"""Whatever is wrong with a model file is one message."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes
from target_arch.relax.importer import import_model
from tests.relax.models import convnet, helper, onnx_model, save
from tests.slow import slow_except


def complaint(path: Path, shapes: InputShapes = AS_IN_FILE) -> str:
    """The whole text of the one diagnostic, with the folder left out."""
    with pytest.raises(DiagnosticError) as caught:
        import_model(path, shapes=shapes)
    assert len(caught.value.diagnostics) == 1
    return str(caught.value).replace(f"{path.parent}/", "")


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_missing_file(tmp_path: Path) -> None:
    assert complaint(tmp_path / "m.onnx") == "m.onnx: error: there is no such file [model-not-found]"


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").mkdir()
    assert complaint(tmp_path / "m.onnx") == (
        "m.onnx: error: this is a folder, not a model file [model-not-found]"
    )


def test_an_unknown_extension(tmp_path: Path) -> None:
    assert complaint(written(tmp_path / "m.h5", b"x")) == (
        "m.h5: error: extension `.h5` is not one of a model [model-type]\n"
        "hint: known are `.onnx`, `.pt2`, `.relax` and `.tflite`"
    )


@pytest.mark.parametrize("name", ["m.onnx", "m.tflite", "m.pt2"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    assert complaint(written(tmp_path / name, b"")) == (
        f"{name}: error: the file is empty [model-empty]\nhint: copy or export the model again"
    )


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.tflite", b"\x89PNG\r\n\x1a\n" + bytes(40), "this is a PNG image, not a TFLite model"),
        ("m.onnx", b"%PDF-1.7 etc", "this is a PDF document, not an ONNX model"),
        ("m.onnx", b"hello world, I am no model\n", "this is a text file, not an ONNX model"),
        ("m.pt2", b"\x7fELF" + bytes(40), "this is an ELF object file, not a saved torch.export program"),
    ],
)
def test_a_file_of_another_type(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    assert complaint(written(tmp_path / name, data)) == (
        f"{name}: error: {message} [model-type]\nhint: give the path of the model itself"
    )


def test_a_model_under_another_models_extension(tmp_path: Path, shared: Path) -> None:
    onnx = save(convnet(), tmp_path / "m.tflite")
    assert complaint(onnx) == (
        "m.tflite: error: this is an ONNX model, not a TFLite model [model-type]\nhint: name it `*.onnx`"
    )
    tflite = written(tmp_path / "m.onnx", (shared / "models" / "kws_int8.tflite").read_bytes())
    assert complaint(tflite) == (
        "m.onnx: error: this is a TFLite model, not an ONNX model [model-type]\nhint: name it `*.tflite`"
    )


def test_bytes_that_are_nothing_known(tmp_path: Path) -> None:
    assert complaint(written(tmp_path / "m.tflite", bytes(range(200, 256)))) == (
        "m.tflite: error: this is not a TFLite model (no `TFL3` at offset 4) [model-type]\n"
        "hint: copy or export the model again"
    )


def test_a_truncated_tflite_file(tmp_path: Path, shared: Path) -> None:
    data = (shared / "models" / "kws_int8.tflite").read_bytes()
    assert complaint(written(tmp_path / "m.tflite", data[:30000])) == (
        "m.tflite: error: the file is cut off or damaged: offset 53808 is outside the file of 30000 B "
        "[model-damaged]\nhint: copy or export the model again"
    )


def test_a_truncated_onnx_file(tmp_path: Path) -> None:
    data = convnet().SerializeToString()
    assert complaint(written(tmp_path / "m.onnx", data[:1000])) == (
        "m.onnx: error: the file is cut off or damaged [model-damaged]\nhint: copy or export the model again"
    )


def _flips(data: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(draw.choice([1, 2, 8])):
        near = draw.choice([len(data), min(4000, len(data))])
        damaged[draw.choice([draw.randrange(near), len(data) - 1 - draw.randrange(near)])] = draw.randrange(
            256
        )
    return bytes(damaged)


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.choice([draw.randrange(1, 64), draw.randrange(1, len(data))])]


@pytest.mark.parametrize("damage", [_cut, _flips])
@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_damage_anywhere_is_a_diagnostic_or_harmless(
    tmp_path: Path, shared: Path, kind: str, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    """Nothing else escapes, nothing hangs: lengths and offsets of a damaged file are not followed."""
    tflite = shared / "models" / "kws_int8.tflite"
    data = tflite.read_bytes() if kind == "tflite" else convnet().SerializeToString()
    draw = random.Random(0)
    for _ in range(60):
        path = written(tmp_path / f"m.{kind}", damage(data, draw))
        with suppress(DiagnosticError):
            import_model(path)


def test_nothing_of_the_frontend_reaches_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = onnx_model([helper.make_node("NonZero", ["x"], ["y"])], {"x": (2, 2)}, {"y": (2, 4)})
    complaint(save(model, tmp_path / "m.onnx"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("extents", "message", "flag"),
    [
        (("N", 4), "`x` (Nx4)", "`batch=1`"),
        ((1, 0), "`x` (1x?)", "`input_shapes={'x': (1, D1)}`, with a number for `D1`"),
        (("N", "height"), "`x` (Nxheight)", "`input_shapes={'x': (1, HEIGHT)}`, with a number for `HEIGHT`"),
    ],
)
def test_dynamic_onnx_inputs(tmp_path: Path, extents: tuple[int | str, ...], message: str, flag: str) -> None:
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": extents}, {"y": (1, 4)})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        f"m.onnx: error: an input has open dimensions: {message} [dynamic-shape]\nhint: add {flag}"
    )


def test_an_operator_onnx_does_not_have(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Blur", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: operator `Blur` is not supported [unsupported-operator]\n"
        "hint: replace it in the model, or split the model before it"
    )


@pytest.mark.parametrize("batch", [1, "N"])
def test_operators_of_another_domain(batch: int | str, tmp_path: Path) -> None:
    """They are refused before a dimension is asked for: no flag would help."""
    nodes = [
        helper.make_node("Wobble", ["x"], ["a"], domain="com.example"),
        helper.make_node("Blur", ["a"], ["y"], domain="com.example"),
    ]
    model = onnx_model(nodes, {"x": (batch, 4)}, {"y": (batch, 4)})
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: operators `Blur`, `Wobble` are not supported [unsupported-operator]\n"
        "m.onnx: note: `Blur` once, at `y`: no operator of `com.example` is known here\n"
        "m.onnx: note: `Wobble` once, at `a`: no operator of `com.example` is known here\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_a_loop_of_another_domain_is_none(tmp_path: Path) -> None:
    model = onnx_model(
        [helper.make_node("Loop", ["", "", "x"], ["y"], domain="com.example")], {"x": (1, 4)}, {"y": (1, 4)}
    )
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: operator `Loop` is not supported [unsupported-operator]\n"
        "m.onnx: note: `Loop` once, at `y`: no operator of `com.example` is known here\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_functions_of_the_model_are_no_unknown_domain(tmp_path: Path) -> None:
    model = onnx_model(
        [helper.make_node("Twice", ["x"], ["y"], domain="own")], {"x": ("N", 4)}, {"y": ("N", 4)}
    )
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    model.functions.append(
        helper.make_function("own", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert "[dynamic-shape]" in complaint(save(model, tmp_path / "m.onnx"))


def test_a_shape_that_an_operator_cannot_take(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = onnx_model(nodes, {"x": (1, "n")}, {"y": (1, 2)}, {"w": np.zeros((4, 2), np.float32)})
    assert complaint(save(model, tmp_path / "m.onnx"), InputShapes(shapes={"x": (1, 5)})) == (
        "m.onnx: error: the model cannot take inputs of 1x5: an operator inside wants another shape "
        "[input-shape]\nhint: give the inputs other extents"
    )


def test_shapes_that_a_branch_declares_are_not_believed(tmp_path: Path) -> None:
    """onnxruntime does not read them; exporters write wrong ones."""
    inside = [
        helper.make_graph(
            [helper.make_node(operator, ["x"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, 1, [])],
        )
        for operator, name in (("Relu", "a"), ("Neg", "b"))
    ]
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inside[0], else_branch=inside[1])]
    model = onnx_model(nodes, {"c": (), "x": (4,)}, {"y": (4,)})
    model.graph.input[0].type.tensor_type.elem_type = 9
    found, _ = import_model(save(model, tmp_path / "m.onnx"))
    assert found.tensors["y"].shape == (4,)


def test_a_model_that_contradicts_itself(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Relu", ["nowhere"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})
    text = complaint(save(model, tmp_path / "m.onnx"))
    assert text.startswith(
        "m.onnx: error: the model is not valid: Nodes in a graph must be topologically sorted"
    )
    assert text.endswith("[model-damaged]\nhint: copy or export the model again")


def test_one_tensor_with_two_scales(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "two", "zero"], ["y"]),
    ]
    constants = {"one": np.float32(1), "two": np.float32(2), "zero": np.int8(0)}
    model = onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, {k: np.asarray(v) for k, v in constants.items()})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: tensor `lv` is written with one scale or zero point and read with another "
        "[two-quantizations]\n"
        "hint: quantize the model again, with one pair of parameters for each tensor"
    )


def test_element_types_are_refused_by_name(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=11),
        helper.make_node("Cast", ["h"], ["b"], to=16),
        helper.make_node("Cast", ["b"], ["y"], to=1),
    ]
    model = onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: elements of a type that is not supported: `double` (tensor `h`), "
        "`bfloat16` (tensor `b`) [unsupported-type]\n"
        "hint: known are `bool`, `float16`, `float32`, `int16`, `int32`, `int64`, `int8`, `uint16`, "
        "`uint32`, `uint64`, `uint8`"
    )


def test_an_operand_without_a_name(tmp_path: Path) -> None:
    """ONNX's checker takes it; its shape inference then ends the process."""
    model = onnx_model([helper.make_node("Concat", ["x", ""], ["y"], axis=1)], {"x": (1, 4)}, {"y": (1, 8)})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: the model is not valid: input 1 of an operator `Concat` has no name [model-damaged]\n"
        "hint: copy or export the model again"
    )
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    most = {"most": np.asarray(6, np.float32)}
    import_model(save(onnx_model([clip], {"x": (1, 4)}, {"y": (1, 4)}, most), tmp_path / "m.onnx"))


def test_an_element_type_that_onnx_does_not_know(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})
    model.graph.input[0].type.tensor_type.elem_type = 99
    model.graph.output[0].type.tensor_type.elem_type = 99
    assert "`type 99` (tensor `x`)" in complaint(save(model, tmp_path / "m.onnx"))


def test_a_constant_of_no_type_that_changes_its_version(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "f", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "f", "z"], ["y"]),
    ]
    constants = {"f": np.asarray(0.5, np.float32), "z": np.asarray(0, np.int8)}
    model = onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, constants)
    model.graph.initializer[1].data_type = 99
    assert "[unsupported-type]" in complaint(save(model, tmp_path / "m.onnx"))


def test_a_model_without_outputs(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {})
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: the model has no output [model-damaged]\nhint: copy or export the model again"
    )


def _flow(operator: str, data: bytes) -> Any:
    """An `If` with a condition, or a `Loop` with a trip count, of these bytes."""
    given = TensorProto(name="given", data_type=TensorProto.BOOL if operator == "If" else TensorProto.INT64)
    given.raw_data = data
    kind = helper.make_tensor_value_info
    branches = [
        helper.make_graph([helper.make_node("Relu", ["x"], [name])], name, [], [kind(name, 1, (1, 4))])
        for name in ("a", "b")
    ]
    body = helper.make_graph(
        [helper.make_node("Relu", ["h"], ["g"]), helper.make_node("Identity", ["k"], ["m"])],
        "body",
        [kind("i", TensorProto.INT64, ()), kind("k", TensorProto.BOOL, ()), kind("h", 1, (1, 4))],
        [kind("m", TensorProto.BOOL, ()), kind("g", 1, (1, 4))],
    )
    nodes = {
        "If": helper.make_node("If", ["given"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        "Loop": helper.make_node("Loop", ["given", "", "x"], ["y"], body=body),
    }
    model = onnx_model([nodes[operator]], {"x": (1, 4)}, {"y": (1, 4)})
    model.graph.initializer.append(given)
    return model


@pytest.mark.parametrize(("operator", "data"), [("If", bytes(2)), ("If", bytes(3)), ("Loop", bytes(16))])
def test_a_scalar_with_data_of_another_length(operator: str, data: bytes, tmp_path: Path) -> None:
    """ONNX's checker refuses too little data only."""
    assert complaint(save(_flow(operator, data), tmp_path / "m.onnx")) == (
        "m.onnx: error: the data of tensor `given` does not have the length of its shape [model-damaged]\n"
        "hint: copy or export the model again"
    )


def test_a_trip_count_of_several_numbers(tmp_path: Path) -> None:
    model = _flow("Loop", bytes(16))
    model.graph.initializer[0].dims.append(2)
    assert "[unsupported-operator]" in complaint(save(model, tmp_path / "m.onnx"))


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((2, 2**30), "2,147,483,648 elements, more than 2,147,483,647"),
        ((2**25,), "33,554,432 elements, more than 16,777,216"),
    ],
)
def test_an_input_of_more_elements_than_are_counted(
    tmp_path: Path, shape: tuple[int, ...], said: str
) -> None:
    """ONNX's own inference of shapes took all memory for its values, and crashed without."""
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": shape}, {"y": shape})
    assert (
        complaint(save(model, tmp_path / "m.onnx"))
        == f"m.onnx: error: input `x` has {said} [unsupported-model]"
    )


@pytest.mark.parametrize("operator", ["Expand", "Reshape", "Tile"])
def test_a_shape_of_more_axes_than_any_tensor_has(tmp_path: Path, operator: str) -> None:
    """TVM's converter counted them one by one."""
    node = helper.make_node(operator, ["x", "s"], ["y"])
    model = onnx_model([node], {"x": (3, 1)}, {"y": (3, 2)})
    model.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, [2**20]))
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: input `s` is a shape of 1,048,576 axes, more than 64 [unsupported-model]"
    )


def test_an_unknown_operator_without_a_result(tmp_path: Path) -> None:
    consume = helper.make_node("Consume", ["x"], [], domain="ai.onnx.ml")
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"]), consume], {"x": (1, 2)}, {"y": (1, 2)})
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    assert "Consume" in complaint(save(model, tmp_path / "m.onnx"))


def constant_of_shape(extent: int, dtype: str) -> Any:
    """A tensor of zeros, whose shape is a constant."""
    node = helper.make_node("ConstantOfShape", ["s"], ["y"])
    return onnx_model([node], {}, {"y": (1,)}, {"s": np.array([extent], dtype)})


def test_a_constant_of_a_huge_shape(tmp_path: Path) -> None:
    """TVM made an array of 8 GiB."""
    assert complaint(save(constant_of_shape(2**31, "int64"), tmp_path / "m.onnx")) == (
        "m.onnx: error: a `ConstantOfShape` has more than 67,108,864 numbers [unsupported-model]"
    )
    for odd in (constant_of_shape(-1, "int64"), constant_of_shape(2**31, "float64")):
        assert "m.onnx: error: " in complaint(save(odd, tmp_path / "m.onnx"))


def test_the_default_of_an_input_is_of_no_type(tmp_path: Path) -> None:
    """Constants were folded with it, whose bytes nobody could count."""
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1,)}, {"y": (1,)}, {"x": np.ones(1)})
    model.graph.initializer[0].data_type = 99
    assert complaint(save(model, tmp_path / "m.onnx")).startswith(
        "m.onnx: error: elements of a type that is not supported: `type 99` (tensor `x`) [unsupported-type]"
    )


@pytest.mark.parametrize("mode", slow_except(["cubic"], ["nearest", "linear", "cubic"]))
def test_a_resize_of_a_huge_extent(mode: str, tmp_path: Path) -> None:
    """Its tables would take all memory."""
    node = helper.make_node("Resize", ["x", "", "f"], ["y"], mode=mode)
    factors = {"f": np.array([1, 1, 2.0**33, 1], np.float32)}
    model = onnx_model([node], {"x": (1, 1, 4, 4)}, {"y": (1, 1, 2**35, 4)}, factors)
    assert complaint(save(model, tmp_path / "m.onnx")) == (
        "m.onnx: error: operator `Resize` is not supported [unsupported-operator]\n"
        "m.onnx: note: `Resize` once, at `y`: its output has 34,359,738,368 places along a dimension, the "
        "most are 1,048,576\n"
        "hint: replace it in the model, or split the model before it"
    )
