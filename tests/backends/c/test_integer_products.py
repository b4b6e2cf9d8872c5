"""Products that stay integers, MatMulInteger and ConvInteger of ONNX, with definition and with the kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.backends.plain_c.kernels.pick import Driver, predicted
from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from target_arch.soc.words import InstructionSet
from tests.backends.c.integer_cases import convolution_model, convolved, integer_model
from tests.backends.c.kernel_cases import stored, weights_of
from tests.backends.c.one import Compile, run
from tests.relax.models import TensorProto, helper, onnx_model, save


def imported(folder: Path, dtype: str, w: Any, zeros: dict[str, Any], known: bool) -> Model:
    """MatMulInteger of an input [3,5,8]; its zero point is a constant where it is `known`."""
    kind = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}[dtype]
    constants = {"w": w, "wz": zeros["w"], **({"xz": zeros["x"]} if known else {})}
    shapes = {"x": (3, 5, 8)} if known else {"x": (3, 5, 8), "xz": ()}
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])]
    model = onnx_model(nodes, shapes, {"y": (3, 5, w.shape[1])}, constants)
    for each in model.graph.input:
        each.type.tensor_type.elem_type = kind
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    return import_model(save(model, folder / "m.onnx"))[0]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_an_onnx_product_is_one_operator(dtype: str, known: bool, tmp_path: Path, build: Compile) -> None:
    rng = np.random.default_rng(2)
    x, w = stored(rng, (3, 5, 8), dtype), rng.integers(60, 200, (8, 6)).astype(np.uint8)
    zeros = {"x": np.array(7, dtype), "w": np.array(128, np.uint8)}
    model = imported(tmp_path, dtype, w, zeros, known)
    (operator,) = model.operators
    assert operator.attributes["operator"] == "integer_product"
    assert model.macs(operator) == 3 * 5 * 6 * 8
    assert predicted(operator, model, InstructionSet.GENERIC).kernel is Driver.INTEGERS
    given = (x,) if known else (x, zeros["x"])
    np.testing.assert_array_equal(
        run(model, build, *given), (x.astype(np.int64) - 7) @ (w.astype(np.int64) - 128)
    )


def test_weights_of_more_than_eight_bits_are_no_such_operator(tmp_path: Path) -> None:
    zeros = {"x": np.array(3, np.uint8), "w": np.array(10, np.uint8)}
    model = imported(tmp_path, "uint8", np.full((8, 6), 250, np.uint8), zeros, True)
    assert all(operator.attributes.get("operator") != "integer_product" for operator in model.operators)


@pytest.mark.parametrize("zero", [None, -5])
def test_the_definition_is_that_of_plain_integers(zero: int | None, build: Compile) -> None:
    rng = np.random.default_rng(6)
    x, w = stored(rng, (4, 9), "int8"), weights_of(rng, (7, 9))
    given = (x,) if zero is not None else (x, np.array(-5, np.int8))
    expected = (x.astype(np.int64) + 5) @ w.astype(np.int64).T
    np.testing.assert_array_equal(run(integer_model(x, w, zero), build, *given), expected)


def test_an_onnx_convolution_is_one_operator_between_two_moves(tmp_path: Path, build: Compile) -> None:
    rng = np.random.default_rng(3)
    x, w = stored(rng, (1, 4, 6, 5), "uint8"), rng.integers(60, 200, (7, 4, 3, 3)).astype(np.uint8)
    nodes = [
        helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 1, 1], strides=[2, 1])
    ]
    model = onnx_model(
        nodes, {"x": x.shape, "xz": ()}, {"y": (1, 7, 3, 5)}, {"w": w, "wz": np.array(128, np.uint8)}
    )
    for each in model.graph.input:
        each.type.tensor_type.elem_type = TensorProto.UINT8
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    found = import_model(save(model, tmp_path / "m.onnx"))[0]
    (operator,) = (each for each in found.operators if each.kind == "products")
    assert operator.attributes["operator"] == "integer_convolution"
    assert found.macs(operator) == 3 * 5 * 7 * 3 * 3 * 4
    assert predicted(operator, found, InstructionSet.GENERIC).kernel is Driver.INTEGERS
    last, rows = x.transpose(0, 2, 3, 1), w.transpose(0, 2, 3, 1).astype(np.int64) - 128
    wanted = convolved(last, rows, 9, (1, 1), 1)[:, ::2].transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(run(found, build, x, np.array(9, np.uint8)), wanted)


def test_groups_of_channels_are_no_such_operator(tmp_path: Path) -> None:
    w = np.ones((4, 2, 3, 3), np.uint8)
    node = helper.make_node("ConvInteger", ["x", "w"], ["y"], group=2)
    model = onnx_model([node], {"x": (1, 4, 5, 5)}, {"y": (1, 4, 3, 3)}, {"w": w})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    found = import_model(save(model, tmp_path / "m.onnx"))[0]
    assert all(operator.attributes.get("operator") != "integer_convolution" for operator in found.operators)


@pytest.mark.parametrize("zero", [None, -5])
def test_the_definition_of_a_convolution_is_that_of_plain_integers(zero: int | None, build: Compile) -> None:
    rng = np.random.default_rng(7)
    x, w = stored(rng, (1, 5, 4, 3), "int8"), weights_of(rng, (6, 3, 2, 3))
    given = (x,) if zero is not None else (x, np.array(-5, np.int8))
    model = convolution_model(x, w, zero, (2, 1), 1)
    np.testing.assert_array_equal(run(model, build, *given), convolved(x, w, -5, (2, 1), 1))
