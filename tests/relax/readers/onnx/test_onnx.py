"""ONNX models: QDQ composites, NCHW turned into NHWC, values as onnxruntime computes them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import target_arch
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.importer import import_model
from target_arch.run import reference_for
from tests.relax.emulate import evaluate
from tests.relax.models import Array, convnet, helper, onnx_model, onnx_reference, quantized, save

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

QUANTIZED = """\
model quantized (quantized.onnx)
  input  x: float32[1,3,8,8]
  quantize_0 quantize[onnx](x) -> quantize_0_out: int8[1,3,8,8]
  transpose_1 transpose[onnx](quantize_0_out) -> transpose_1_out: int8[1,8,8,3]
  conv2d_2 conv2d[onnx](transpose_1_out, conv2d_2_weight, conv2d_2_bias) -> conv2d_2_out: int8[1,8,8,8]
  max_pool2d_3 max_pool2d[onnx](conv2d_2_out) -> max_pool2d_3_out: int8[1,4,4,8]
  depthwise_conv2d_4 depthwise_conv2d[onnx](max_pool2d_3_out, depthwise_conv2d_4_weight, \
depthwise_conv2d_4_bias) -> depthwise_conv2d_4_out: int8[1,4,4,8]
  conv2d_5 conv2d[onnx](depthwise_conv2d_4_out, conv2d_5_weight, conv2d_5_bias) -> conv2d_5_out: int8[1,4,4,8]
  add_6 add[onnx](conv2d_5_out, max_pool2d_3_out) -> add_6_out: int8[1,4,4,8]
  avg_pool2d_7 avg_pool2d[onnx](add_6_out) -> avg_pool2d_7_out: int8[1,2,2,8]
  avg_pool2d_8 avg_pool2d[onnx](avg_pool2d_7_out) -> avg_pool2d_8_out: int8[1,1,1,8]
  dense_9 dense[onnx](avg_pool2d_7_out, dense_9_weight, dense_9_bias) -> dense_9_out: int8[1,10]
  dense_10 dense[onnx](avg_pool2d_8_out, dense_10_weight, dense_10_bias) -> dense_10_out: int8[1,10]
  add_11 add[onnx](dense_9_out, add_11_constant0) -> add_11_out: int8[1,10]
  add_12 add[onnx](dense_10_out, add_11_out) -> add_12_out: int8[1,10]
  softmax_13 softmax[onnx](add_12_out) -> softmax_13_out: int8[1,10]
  dequantize_14 dequantize[onnx](softmax_13_out) -> y: float32[1,10]
  output y: float32[1,10]
"""


def drawn(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def assert_agrees(path: Path, inputs: dict[str, Array], tolerance: float) -> None:
    model, program = import_model(path)
    for ours, theirs in zip(evaluate(model, inputs, program), onnx_reference(path, inputs), strict=True):
        assert ours.shape == theirs.shape
        assert np.abs(ours.astype(np.float64) - theirs).max() <= tolerance


@pytest.mark.parametrize("inputs", [("x",), ("x", "bias")])
def test_files_of_version_3(inputs: tuple[str, ...], tmp_path: Path) -> None:
    """Their constants are inputs, too, or by mistake are not; shapes are inferred through either."""
    bias = drawn(3)
    nodes = [
        helper.make_node("Unsqueeze", ["bias"], ["rows"], axes=[1, 2]),
        helper.make_node("Add", ["x", "rows"], ["y"]),
    ]
    shapes = {"x": [1, 3, 4, 4], "bias": [3]}
    graph = helper.make_graph(
        nodes,
        "old",
        [helper.make_tensor_value_info(name, 1, shapes[name]) for name in inputs],
        [helper.make_tensor_value_info("y", 1, shapes["x"])],
        [helper.make_tensor("bias", 1, [3], bias.tobytes(), raw=True)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)
    path = save(made, tmp_path / "old.onnx")
    model, _ = import_model(path)
    assert model.inputs == ("x",)
    assert_agrees(path, {"x": drawn(1, 3, 4, 4)}, 0)


def test_a_quantized_model_is_integer_operators_in_nhwc(tmp_path: Path) -> None:
    path = quantized(convnet(), tmp_path, activations="QInt8", per_channel=True)
    model, program = import_model(path)
    assert str(model) == QUANTIZED
    assert not program.functions
    weight = model.tensors["conv2d_2_weight"].quantization
    assert weight is not None
    assert (len(weight.scale), weight.axis) == (8, 0)
    assert model.operators[2].location == "r1"


@pytest.mark.parametrize("activations", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_values_agree(tmp_path: Path, activations: str, per_channel: bool) -> None:
    """To a few steps of the output: each operator may be one step off."""
    path = quantized(convnet(), tmp_path, activations=activations, per_channel=per_channel)
    assert_agrees(path, {"x": drawn(1, 3, 8, 8)}, 4 / 255)


def test_float_values_agree(tmp_path: Path) -> None:
    assert_agrees(save(convnet(), tmp_path / "m.onnx"), {"x": drawn(1, 3, 8, 8)}, 1e-5)


def test_one_channel_needs_no_transpose(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Conv", ["r", "w"], ["c"]),
        helper.make_node("Flatten", ["c"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (1, 1, 4, 4)}, {"y": (1, 8)}, {"w": drawn(2, 1, 3, 3)})
    path = save(model, tmp_path / "m.onnx")
    assert str(import_model(path)[0]) == (
        "model m (m.onnx)\n"
        "  input  x: float32[1,1,4,4]\n"
        "  relu_0 relu[float](x) -> relu_0_out: float32[1,4,4,1]\n"
        "  conv2d_1 conv2d[float](relu_0_out, conv2d_1_weight, conv2d_1_bias) -> "
        "conv2d_1_out: float32[1,2,2,2]\n"
        "  transpose_2 transpose[float](conv2d_1_out) -> transpose_2_out: float32[1,2,2,2]\n"
        "  reshape_3 reshape[float](transpose_2_out) -> y: float32[1,8]\n"
        "  output y: float32[1,8]\n"
    )
    assert_agrees(path, {"x": drawn(1, 1, 4, 4)}, 1e-5)


def test_transposes_of_the_author_cancel(tmp_path: Path) -> None:
    """A model that was NHWC and is wrapped in transposes comes out without any."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1]),
    ]
    model = onnx_model(nodes, {"x": (1, 4, 4, 2)}, {"y": (1, 4, 4, 3)}, {"w": drawn(3, 2, 3, 3)})
    path = save(model, tmp_path / "m.onnx")
    assert [operator.kind for operator in import_model(path)[0].operators] == ["conv2d"]
    assert_agrees(path, {"x": drawn(1, 4, 4, 2)}, 1e-5)


def test_images_resized_between_convolutions_need_no_transpose(tmp_path: Path) -> None:
    """The definition reads and writes NHWC. A cube that it reads in that order is no tensor of the file."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Resize", ["s", "", "scales"], ["r"], mode="cubic"),
        helper.make_node("Conv", ["r", "w"], ["y"]),
    ]
    constants = {"scales": np.array([1, 1, 1, 2], np.float32), "w": drawn(2, 4, 1, 1)}
    path = save(onnx_model(nodes, {"x": (1, 4, 4, 4)}, {"y": (1, 2, 4, 8)}, constants), tmp_path / "m.onnx")
    model = import_model(path)[0]
    _, before, resize, *_ = model.operators
    assert [each.kind for each in model.operators[-3:]] == ["resize", "conv2d", "transpose"]
    assert (before.kind, model.tensors[resize.inputs[0]].origin) == ("transpose", None)
    assert_agrees(path, {"x": drawn(1, 4, 4, 4)}, 1e-5)


def test_what_no_pattern_knows_is_a_call_of_a_relax_operator(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Reciprocal", ["c"], ["s"]),
        helper.make_node("Concat", ["c", "s"], ["y"], axis=1),
    ]
    model = onnx_model(nodes, {"x": (1, 2, 3, 3)}, {"y": (1, 6, 2, 2)}, {"w": drawn(3, 2, 2, 2)})
    path = save(model, tmp_path / "m.onnx")
    found, program = import_model(path)
    fallbacks = [operator for operator in found.operators if "relax_op" in operator.attributes]
    assert [operator.attributes["relax_op"] for operator in fallbacks] == ["divide"]
    assert sorted(program.functions) == sorted(operator.id for operator in fallbacks)
    assert_agrees(path, {"x": drawn(1, 2, 3, 3)}, 1e-5)


def test_a_split_is_one_operator_per_part(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=1),
        helper.make_node("Mul", ["a", "b"], ["y"]),
    ]
    path = save(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 2)}), tmp_path / "m.onnx")
    kinds = [operator.kind for operator in import_model(path)[0].operators]
    assert kinds == ["rearrange", "rearrange", "mul"]
    assert_agrees(path, {"x": drawn(1, 4)}, 1e-6)


def test_grouped_convolutions_do_not_change_values(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], group=2)]
    model = onnx_model(nodes, {"x": (1, 4, 3, 3)}, {"y": (1, 4, 3, 3)}, {"w": drawn(4, 2, 1, 1)})
    path = save(model, tmp_path / "m.onnx")
    convolution = import_model(path)[0].operators[1]
    assert (convolution.kind, convolution.attributes["groups"]) == ("conv2d", 2)
    assert_agrees(path, {"x": drawn(1, 4, 3, 3)}, 1e-5)


def test_constants_of_elementwise_operators_follow_the_layout(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Mul", ["c", "scale"], ["m"]),
        helper.make_node("Add", ["m", "map"], ["y"]),
    ]
    constants = {"w": drawn(3, 2, 1, 1), "scale": drawn(1, 3, 1, 1), "map": drawn(1, 3, 4, 5)}
    path = save(onnx_model(nodes, {"x": (1, 2, 4, 5)}, {"y": (1, 3, 4, 5)}, constants), tmp_path / "m.onnx")
    model, _ = import_model(path)
    assert str(model.tensors["mul_2_constant0"]) == "mul_2_constant0: float32[3]"
    assert str(model.tensors["add_3_constant0"]) == "add_3_constant0: float32[1,4,5,3]"
    assert_agrees(path, {"x": drawn(1, 2, 4, 5)}, 1e-5)


def test_channel_weights_computed_from_the_image_are_broadcast(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["g"]),
        helper.make_node("Mul", ["c", "g"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (1, 2, 4, 4)}, {"y": (1, 3, 4, 4)}, {"w": drawn(3, 2, 1, 1)})
    path = save(model, tmp_path / "m.onnx")
    kinds = [operator.kind for operator in import_model(path)[0].operators]
    assert kinds == ["transpose", "conv2d", "avg_pool2d", "mul", "transpose"]
    assert_agrees(path, {"x": drawn(1, 2, 4, 4)}, 1e-5)


def test_pools_that_reach_beyond_their_padding_are_covered(tmp_path: Path) -> None:
    nodes = [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)]
    path = save(onnx_model(nodes, {"x": (1, 2, 5, 5)}, {"y": (1, 2, 3, 3)}), tmp_path / "m.onnx")
    pool = next(operator for operator in import_model(path)[0].operators if operator.kind == "max_pool2d")
    assert pool.attributes["padding"] == (0, 0, 1, 1)
    assert_agrees(path, {"x": drawn(1, 2, 5, 5)}, 0.0)


def test_several_inputs_and_outputs_keep_their_order_and_names(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["first", "second.x"], ["sum"]),
        helper.make_node("Sub", ["first", "second.x"], ["difference"]),
    ]
    shapes = {"first": (1, 3), "second.x": (1, 3)}
    model = onnx_model(nodes, shapes, {"difference": (1, 3), "sum": (1, 3)})
    path = save(model, tmp_path / "m.onnx")
    found, _ = import_model(path)
    assert (found.inputs, found.outputs) == (("first", "second_x"), ("difference", "sum"))


def test_a_value_read_twice_stays_an_operator_of_its_own(tmp_path: Path) -> None:
    """A relu that somebody else's sum also reads cannot be swallowed by either of its readers' composites."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Add", ["r", "c"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (1, 2, 3, 3)}, {"y": (1, 2, 3, 3)}, {"w": drawn(2, 2, 1, 1)})
    path = save(model, tmp_path / "m.onnx")
    found, _ = import_model(path)
    kinds = [operator.kind for operator in found.operators]
    assert kinds == ["transpose", "conv2d", "relu", "add", "transpose"]
    assert_agrees(path, {"x": drawn(1, 2, 3, 3)}, 1e-5)


def test_branches_and_loops_of_known_course_become_operators(tmp_path: Path) -> None:
    """Two rounds of `v = 2 v`, whose values are stacked, in the branch that a constant chooses."""
    graph, value = helper.make_graph, helper.make_tensor_value_info
    twice = graph(
        [
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("Identity", ["w"], ["each"]),
            helper.make_node("Identity", ["goes"], ["on"]),
        ],
        "twice",
        [value("i", 7, ()), value("goes", 9, ()), value("v", 1, (1, 4))],
        [value("on", 9, ()), value("w", 1, (1, 4)), value("each", 1, (1, 4))],
    )
    taken = graph(
        [helper.make_node("Loop", ["trips", "", "x"], ["last", "all"], body=twice)],
        "taken",
        [],
        [value("last", 1, (1, 4)), value("all", 1, (2, 1, 4))],
    )
    other = graph(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("RandomUniformLike", ["x"], ["n"])],
        "other",
        [],
        [value("r", 1, (1, 4)), value("n", 1, (1, 4))],
    )
    nodes = [helper.make_node("If", ["yes"], ["y", "z"], then_branch=taken, else_branch=other)]
    constants = {"yes": np.array(True), "trips": np.array(2)}
    model = onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4), "z": (2, 1, 4)}, constants)
    found, program = import_model(save(model, tmp_path / "m.onnx"))
    x = drawn(1, 4)
    last, every = evaluate(found, {"x": x}, program)
    np.testing.assert_array_equal(last, 4 * x)
    np.testing.assert_array_equal(every, np.stack([2 * x, 4 * x]))


def test_of_two_branches_one_is_selected(tmp_path: Path) -> None:
    """The condition is computed, and has a dimension; the results have one shape."""
    value = helper.make_tensor_value_info
    twice = helper.make_graph(
        [helper.make_node("Div", ["x", "half"], ["twice"])], "then", [], [value("twice", 1, (1, 4))]
    )
    same = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["same"])], "else", [], [value("same", 1, (1, 4))]
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=1),
        helper.make_node("Reshape", ["most", "one"], ["first"]),
        helper.make_node("Greater", ["first", "half"], ["much"]),
        helper.make_node("If", ["much"], ["y"], then_branch=twice, else_branch=same),
    ]
    constants = {"half": np.array([0.5], np.float32), "one": np.array([1])}
    path = save(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, constants), tmp_path / "m.onnx")
    for most in (-1, 1):
        assert_agrees(path, {"x": np.array([[-2, most, -3, -4]], np.float32)}, 0)


def test_a_branch_that_may_fail_is_not_computed_in_vain(tmp_path: Path) -> None:
    """It reads where the condition says that there is something to read."""
    value = helper.make_tensor_value_info
    read = helper.make_graph(
        [helper.make_node("Gather", ["table", "place"], ["read"])], "then", [], [value("read", 1, (1,))]
    )
    none = helper.make_graph(
        [helper.make_node("Identity", ["zero"], ["none"])], "else", [], [value("none", 1, (1,))]
    )
    nodes = [
        helper.make_node("Cast", ["x"], ["place"], to=6),
        helper.make_node("Less", ["place", "count"], ["inside"]),
        helper.make_node("If", ["inside"], ["y"], then_branch=read, else_branch=none),
    ]
    constants = {"table": drawn(4), "count": np.array([4], np.int32), "zero": np.zeros(1, np.float32)}
    path = save(onnx_model(nodes, {"x": (1,)}, {"y": (1,)}, constants), tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert caught.value.diagnostics[0].message == "operator `If` is not supported"


def branching(path: Path) -> Path:
    """One operator for a rate, another one for others; as a voice detector has its two nets."""
    value = helper.make_tensor_value_info
    one = helper.make_graph([helper.make_node("Sign", ["x"], ["sign"])], "then", [], [value("sign", 1, None)])
    first = [helper.make_node("Gather", ["x", "places"], ["some"], axis=1)]
    other = helper.make_graph(first, "else", [], [value("some", 1, None)])
    nodes = [
        helper.make_node("Equal", ["rate", "high"], ["is_high"]),
        helper.make_node("If", ["is_high"], ["y"], then_branch=one, else_branch=other),
    ]
    constants = {"high": np.array(16000), "places": np.array([0, 0, 1, 1])}
    model = onnx_model(nodes, {"x": (1, 4), "rate": ()}, {"y": (1, 4)}, constants)
    model.graph.input[1].type.tensor_type.elem_type = 7
    return save(model, path)


def test_an_input_with_a_value_is_a_constant(tmp_path: Path) -> None:
    path = branching(tmp_path / "m.onnx")
    found, program = import_model(path, shapes=InputShapes(values={"rate": 16000}))
    assert found.inputs == ("x",)
    x = drawn(1, 4)
    np.testing.assert_array_equal(evaluate(found, {"x": x}, program)[0], np.sign(x))
    reference = reference_for(path, values={"rate": 16000})
    assert [each.name for each in reference.inputs] == ["x"]
    np.testing.assert_array_equal(reference.answer((x,))[0][0], np.sign(x))


def test_the_refusal_of_a_branch_has_the_option_to_add(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        import_model(branching(tmp_path / "m.onnx"))
    (found,) = caught.value.diagnostics
    assert found.notes[0].message == "`If` once, at `y`: its course follows from `rate`"
    assert str(found.hint) == (
        "replace it in the model, or split the model before it, or make inputs constant: "
        "`input_values={'rate': NUMBER}`"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rate": 0.5}, "input `rate` is int64[], which cannot be 0.5 [input-value]"),
        ({"rate": 2.0**70}, "input `rate` is int64[], which cannot be 1.18059e+21 [input-value]"),
        ({"rat": 1}, "the model has no input `rat` [input-shape]\nhint: did you mean `rate`?"),
    ],
)
def test_values_that_an_input_cannot_have(values: Mapping[str, float], said: str, tmp_path: Path) -> None:
    path = branching(tmp_path / "m.onnx")
    with pytest.raises(DiagnosticError) as caught:
        import_model(path, shapes=InputShapes(values=values))
    assert str(caught.value) == f"{path}: error: {said}"


def test_tensors_without_elements_add_nothing(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["x", "none"], ["one"], axis=0),
        helper.make_node("Concat", ["none", "x", "one"], ["y"], axis=0),
    ]
    model = onnx_model(nodes, {"x": (2, 3)}, {"y": (4, 3)}, {"none": np.zeros((0, 3), np.float32)})
    found, program = import_model(save(model, tmp_path / "m.onnx"))
    x = drawn(2, 3)
    np.testing.assert_array_equal(evaluate(found, {"x": x}, program)[0], np.concatenate([x, x]))
    assert [str(each.kind) for each in found.operators] == ["concat"]


def test_dimensions_called_by_a_question_mark_are_not_one(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 2, 3)}, {"y": (1, 2, 3)}, {})
    for extent in model.graph.input[0].type.tensor_type.shape.dim:
        extent.dim_param = "?"
    shapes = InputShapes(shapes={"x": (1, 2, 3)})
    found, _ = import_model(save(model, tmp_path / "m.onnx"), shapes=shapes)
    assert found.tensors[found.inputs[0]].shape == (1, 2, 3)


def test_quantized_operators_of_onnxruntime_are_onnx_ones(tmp_path: Path) -> None:
    """As its quantizer writes them: a sum, a function and a concatenation of stored values."""
    contributed = {"domain": "com.microsoft"}
    grid, wide = ["scale", "zero"], ["wide", "middle"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *grid], ["q"]),
        helper.make_node("QLinearAdd", ["q", *grid, "q", *grid, *wide], ["sum"], **contributed),
        helper.make_node("QLinearSigmoid", ["q", *grid, *grid], ["sigmoid"], **contributed),
        helper.make_node(
            "QLinearConcat", [*wide, "sum", *wide, "sigmoid", *grid], ["joined"], axis=1, **contributed
        ),
        helper.make_node("DequantizeLinear", ["joined", *wide], ["y"]),
    ]
    constants = {"scale": np.float32(0.02), "zero": np.uint8(100), "wide": np.float32(0.05)}
    model = onnx_model(nodes, {"x": (1, 8)}, {"y": (1, 16)}, {**constants, "middle": np.uint8(128)})
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert_agrees(save(model, tmp_path / "m.onnx"), {"x": drawn(1, 8)}, 0.0501)


def test_activations_of_16_bits_are_computed_as_floats(tmp_path: Path) -> None:
    """Between the conversions of the file, which `com.microsoft` has below opset 21."""
    contributed = {"domain": "com.microsoft"}
    grid, fine = ["scale", "zero"], ["step", "none"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *grid], ["stored"], **contributed),
        helper.make_node("DequantizeLinear", ["stored", *grid], ["real"], **contributed),
        helper.make_node("DequantizeLinear", ["w", *fine], ["weights"], axis=0),
        helper.make_node("Conv", ["real", "weights"], ["sums"]),
        helper.make_node("QuantizeLinear", ["sums", *grid], ["sums_stored"], **contributed),
        helper.make_node("DequantizeLinear", ["sums_stored", *grid], ["sums_real"], **contributed),
        helper.make_node("GlobalAveragePool", ["sums_real"], ["mean"]),
        helper.make_node("QuantizeLinear", ["mean", *grid], ["mean_stored"], **contributed),
        helper.make_node("DequantizeLinear", ["mean_stored", *grid], ["y"], **contributed),
    ]
    weights = np.random.default_rng(3).integers(-127, 128, (2, 3, 1, 1)).astype(np.int8)
    constants = {"scale": np.float32(1e-3), "zero": np.int16(0), "w": weights}
    constants |= {"step": np.float32(0.01), "none": np.int8(0)}
    model = onnx_model(nodes, {"x": (1, 3, 4, 4)}, {"y": (1, 2, 1, 1)}, constants)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    path = save(model, tmp_path / "m.onnx")
    assert_agrees(path, {"x": drawn(1, 3, 4, 4)}, 1.001e-3)
    found, _ = import_model(path)
    assert [str(each.kind) for each in found.operators if each.arithmetic == "float"][-1] == "avg_pool2d"


def test_a_scan_becomes_its_iterations(tmp_path: Path) -> None:
    """Running sums of the columns of x and of the rows of y taken backwards, stacked backwards as columns."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "column"], ["more"]),
            helper.make_node("Add", ["more", "row"], ["next"]),
            helper.make_node("Mul", ["next", "row"], ["each"]),
        ],
        "body",
        [value("sum", 1, (3,)), value("column", 1, (3,)), value("row", 1, (3,))],
        [value("next", 1, (3,)), value("each", 1, (3,))],
    )
    scan = helper.make_node(
        "Scan",
        ["start", "x", "y"],
        ["last", "all"],
        body=body,
        num_scan_inputs=2,
        scan_input_axes=[1, 0],
        scan_input_directions=[0, 1],
        scan_output_axes=[1],
        scan_output_directions=[1],
    )
    shapes: dict[str, tuple[int | str, ...]] = {"start": (3,), "x": (3, 4), "y": (4, 3)}
    model = onnx_model([scan], shapes, {"last": (3,), "all": (3, 4)})
    inputs = {"start": drawn(3), "x": drawn(3, 4), "y": drawn(4, 3)}
    assert_agrees(save(model, tmp_path / "m.onnx"), inputs, 1e-5)


def test_float16_is_stored_and_float32_computed(tmp_path: Path) -> None:
    """A convolution keeps its kind; only what enters and leaves is float16, and what a `Cast` rounds."""
    half = np.float16
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Cast", ["r"], ["wide"], to=1),
        helper.make_node("Cast", ["wide"], ["y"], to=10),
    ]
    model = onnx_model(nodes, {"x": (1, 2, 5, 5)}, {"y": (1, 3, 4, 4)}, {"w": drawn(3, 2, 2, 2).astype(half)})
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = 10
    path = save(model, tmp_path / "m.onnx")
    found, program = import_model(path)
    kept = {name for name, tensor in found.tensors.items() if tensor.dtype == "float16"}
    assert kept == {"x", "y"}
    assert "conv2d" in {operator.kind for operator in found.operators}
    x = drawn(1, 2, 5, 5).astype(half)
    (ours,), (theirs,) = evaluate(found, {"x": x}, program), onnx_reference(path, {"x": x})
    assert ours.dtype == half
    np.testing.assert_allclose(ours.astype(np.float32), theirs.astype(np.float32), rtol=2e-3, atol=1e-4)


def test_outputs_without_a_shape(tmp_path: Path) -> None:
    model = onnx_model([helper.make_node("Transpose", ["x"], ["y"])], {"x": (2, 3)}, {"y": (3, 2)})
    model.graph.output[0].type.tensor_type.ClearField("shape")
    found, _ = import_model(save(model, tmp_path / "open.onnx"))
    assert found.tensors[found.outputs[0]].shape == (3, 2)


def test_a_number_for_more_elements_than_memory_holds(tmp_path: Path) -> None:
    """It is along the last axis, and no array of all elements is made to find that out."""
    shape = (2**26, 4, 5)
    product = onnx_model(
        [helper.make_node("Mul", ["x", "two"], ["y"])],
        {"x": shape},
        {"y": shape},
        {"two": np.array(2, np.float32)},
    )
    model = import_model(save(product, tmp_path / "m.onnx"))[0]
    assert [model.tensors[name].shape for name in model.operators[0].constants] == [(5,)]


@pytest.mark.long
def test_many_tensors_are_joined_in_parts(tmp_path: Path) -> None:
    """A kernel of a concatenation of 60 tensors would have 61 operands."""
    names = [f"s{number}" for number in range(60)]
    nodes = [helper.make_node("Split", ["x"], names, axis=1, num_outputs=60)]
    nodes.append(helper.make_node("Concat", names[::-1], ["y"], axis=1))
    model = onnx_model(nodes, {"x": (2, 60)}, {"y": (2, 60)})
    model.opset_import[0].version = 18
    path = save(model, tmp_path / "m.onnx")
    found, _ = import_model(path)
    assert max(len(operator.inputs) for operator in found.operators) == 24
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    x = np.arange(120, dtype=np.float32).reshape(2, 60)
    np.testing.assert_array_equal(bundle.run({"x": x})["y"], x[:, ::-1])
