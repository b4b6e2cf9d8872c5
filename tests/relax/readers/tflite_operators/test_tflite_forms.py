"""What TFLite converters write and the reference models do not contain, as Relax written by hand."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op

from target_arch.plan.model import Model
from target_arch.relax.ir.graph import read_graph
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.operators.finder import find_operators
from target_arch.relax.operators.program import RelaxProgram
from tests.relax.emulate import evaluate

IMAGE = (1, 5, 5, 2)


def scaled(value: Any, scale: float, zero_point: int, axis: int = 0) -> Any:
    return op.dequantize(value, relax.const(scale, "float32"), relax.const(zero_point, "int32"), axis)


def stored(value: Any, scale: float, zero_point: int) -> Any:
    return op.quantize(value, relax.const(scale, "float32"), relax.const(zero_point, "int32"), 0, "int8")


def imported(build: Any) -> tuple[Model, RelaxProgram]:
    """The model of a function of one int8 image; `build` gets the builder and the image."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE, "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(build(builder, x)))
        builder.emit_func_output(result)
    module: Any = relax.transform.CanonicalizeBindings()(builder.get())
    program = RelaxProgram(module=module, graph=read_graph(module, "tflite"))
    return find_operators(program, standard_patterns(), "m", "m.tflite", ("y",))


def conv(x: Any, weight: np.ndarray[Any, Any]) -> Any:
    values = scaled(relax.const(weight), 0.02, 0, 3)
    return op.nn.conv2d(scaled(x, 0.5, -5), values, data_layout="NHWC", kernel_layout="HWIO")


WEIGHT = np.random.default_rng(0).integers(-127, 128, (3, 3, 2, 4)).astype(np.int8)


def padded(pad_value: float) -> tuple[Model, RelaxProgram]:
    def build(builder: Any, x: Any) -> Any:
        wide = builder.emit(op.nn.pad(x, [0, 0, 1, 2, 0, 1, 0, 0], pad_value=pad_value))
        return stored(conv(wide, WEIGHT), 0.25, 3)

    return imported(build)


def test_a_pad_with_the_zero_point_goes_into_the_convolution() -> None:
    model, _ = padded(-5.0)
    assert [operator.kind for operator in model.operators] == ["conv2d"]
    assert model.operators[0].attributes["padding"] == (1, 0, 2, 1)
    assert model.operators[0].relax_ops == ("nn.pad", "dequantize", "nn.conv2d", "quantize")


def test_a_pad_with_another_value_does_not() -> None:
    model, _ = padded(0.0)
    assert [operator.kind for operator in model.operators] == ["pad", "conv2d"]


def test_both_ways_of_padding_agree() -> None:
    def build(builder: Any, x: Any) -> Any:
        wide = builder.emit(op.nn.pad(x, [0, 0, 1, 2, 0, 1, 0, 0], pad_value=-5.0))
        again = builder.emit(
            op.reshape(wide, (1, 8, 6, 2))
        )  # now it is not the convolution that reads the pad
        return stored(conv(again, WEIGHT), 0.25, 3)

    outside, program = imported(build)
    inside, _ = padded(-5.0)
    assert [operator.kind for operator in outside.operators] == ["pad", "conv2d"]
    x = np.random.default_rng(1).integers(-128, 128, IMAGE).astype(np.int8)
    assert np.array_equal(evaluate(inside, {"x": x})[0], evaluate(outside, {"x": x}, program)[0])


def test_relu6_and_its_zero_point() -> None:
    model, _ = imported(lambda _, x: op.clip(stored(conv(x, WEIGHT), 0.05, -100), -100, 20))
    attributes = model.operators[0].attributes
    assert (attributes["activation_min"], attributes["activation_max"]) == (-100, 20)


def test_a_relu_before_the_quantization_clamps_at_the_zero_point() -> None:
    def build(_: Any, x: Any) -> Any:
        return stored(op.nn.relu(op.add(scaled(x, 0.5, 0), scaled(x, 0.5, 0))), 0.5, -3)

    model, _ = imported(build)
    assert [operator.kind for operator in model.operators] == ["add"]
    assert model.operators[0].inputs == ("x", "x")
    assert model.operators[0].attributes == {"activation_min": -3, "activation_max": 127}


def test_a_max_pool_of_stored_values_takes_its_scale_from_its_reader() -> None:
    def build(builder: Any, x: Any) -> Any:
        pooled = builder.emit(op.nn.max_pool2d(x, (2, 2), (2, 2), layout="NHWC"))
        return scaled(pooled, 0.5, -5)

    model, _ = imported(build)
    assert [operator.kind for operator in model.operators] == ["max_pool2d", "dequantize"]
    for name in ("x", "max_pool2d_0_out"):
        quantization = model.tensors[name].quantization
        assert quantization is not None
        assert (quantization.scale, quantization.zero_point) == ((0.5,), (-5,))


def test_a_change_of_scale_is_requantize_and_a_relu_is_relu() -> None:
    model, _ = imported(lambda _, x: stored(scaled(x, 0.5, -5), 0.25, 1))
    assert [operator.kind for operator in model.operators] == ["requantize"]
    model, _ = imported(lambda _, x: stored(op.nn.relu(scaled(x, 0.5, -5)), 0.25, 1))
    assert [operator.kind for operator in model.operators] == ["relu"]


def test_a_quantized_mean_is_an_average_pool_that_remembers_how_it_rounds() -> None:
    model, _ = imported(lambda _, x: stored(op.mean(scaled(x, 0.5, -5), [1, 2]), 0.5, -5))
    assert [operator.kind for operator in model.operators] == ["avg_pool2d", "reshape"]
    assert model.operators[0].arithmetic == "tflite"
    assert model.operators[0].attributes["count_in_multiplier"] is True
