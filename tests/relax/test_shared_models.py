"""The reference models become integer operators, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate

KINDS = {
    "kws_int8": "conv2d dw conv2d dw conv2d dw conv2d dw conv2d avg_pool2d dense softmax",
    "vww_96_int8": "conv2d" + " dw conv2d" * 13 + " avg_pool2d dense softmax",
    "ad01_int8": "dense" + " dense" * 9,
    "ic_resnet_int8": "conv2d conv2d conv2d add"
    + " conv2d conv2d conv2d add" * 2
    + " avg_pool2d dense softmax",
}


def kinds(model: Model) -> str:
    return " ".join(operator.kind.replace("depthwise_conv2d", "dw") for operator in model.operators)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_int8_models_are_integer_composites_throughout(shared: Path, name: str) -> None:
    model, program = import_model(shared / "models" / f"{name}.tflite")
    assert kinds(model) == KINDS[name]
    assert {operator.arithmetic for operator in model.operators} == {"tflite"}
    assert not program.functions
    for tensor in model.tensors.values():
        assert tensor.dtype in ("int8", "int32")
        assert tensor.quantization is not None, tensor.name


def test_the_float_model_has_the_same_operators(shared: Path) -> None:
    model, program = import_model(shared / "models" / "ic_resnet_fp32.tflite")
    assert kinds(model) == KINDS["ic_resnet_int8"]
    assert {operator.arithmetic for operator in model.operators} == {"float"}
    assert not program.functions


def test_kws_reads(shared: Path) -> None:
    model, _ = import_model(shared / "models" / "kws_int8.tflite")
    assert str(model).splitlines()[:4] == [
        "model kws_int8 (kws_int8.tflite)",
        "  input  input_1: int8[1,49,10,1]",
        "  conv2d_0 conv2d[tflite](input_1, conv2d_0_weight, conv2d_0_bias) -> conv2d_0_out: int8[1,25,5,64]",
        "  depthwise_conv2d_1 depthwise_conv2d[tflite](conv2d_0_out, depthwise_conv2d_1_weight, "
        "depthwise_conv2d_1_bias) -> depthwise_conv2d_1_out: int8[1,25,5,64]",
    ]
    conv, depthwise, pool, dense = (model.operators[index] for index in (0, 1, 9, 10))
    assert conv.attributes == {
        "strides": (2, 2),
        "padding": (4, 1, 5, 1),
        "dilation": (1, 1),
        "activation_min": -128,
        "activation_max": 127,
    }
    assert str(model.tensors[conv.constants[0]]) == "conv2d_0_weight: int8[64,10,4,1]"
    assert str(model.tensors[conv.constants[1]]) == "conv2d_0_bias: int32[64]"
    assert conv.relax_ops == ("call_dps_packed",)  # stated as its kind, no pattern of float operators
    assert str(model.tensors[depthwise.constants[0]]) == "depthwise_conv2d_1_weight: int8[3,3,64]"
    assert depthwise.attributes["depth_multiplier"] == 1
    assert (pool.attributes["kernel"], pool.attributes["count_include_pad"]) == ((25, 5), False)
    assert dense.inputs == (pool.output,)  # the reshape between them moves no byte
    assert dense.location == "functional_1/dense"


def test_scales_are_the_files_float32_values(shared: Path) -> None:
    model, _ = import_model(shared / "models" / "kws_int8.tflite")
    found = model.tensors["input_1"].quantization
    assert found is not None
    assert found.scale == (float(np.float32(0.58470290899276733)),)
    assert found.zero_point == (83,)
    weight = model.tensors["conv2d_0_weight"].quantization
    assert weight is not None
    assert (len(weight.scale), weight.axis) == (64, 0)


def test_values_agree_with_the_reference_kernels(shared: Path) -> None:
    """ad01 has no operator whose real-number emulation could differ: every one of its bytes must be equal."""
    interpreter_module = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="pip install target-arch[verify]"
    )
    path = shared / "models" / "ad01_int8.tflite"
    interpreter = interpreter_module.Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=interpreter_module.OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    model, _ = import_model(path)
    stored = np.random.default_rng(0).integers(-128, 128, (1, 640)).astype(np.int8)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], stored)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert np.array_equal(evaluate(model, {"input_1": stored})[0], expected)


def test_two_imports_are_equal(shared: Path) -> None:
    path = shared / "models" / "ic_resnet_int8.tflite"
    assert import_model(path)[0] == import_model(path)[0]
