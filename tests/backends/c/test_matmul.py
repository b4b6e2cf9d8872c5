"""matmul: products of two activations, of stored values by the oracle and of floats as numpy has them."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.plan.model import Model
from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact
from tests.backends.c.one import Array, Compile, one_operator, quantized, real, run
from tests.relax.models import helper, onnx_model, save

Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

SHAPES: tuple[Shapes, ...] = (
    ((5, 7), (7, 3), (5, 3)),
    ((2, 4, 9), (2, 9, 6), (2, 4, 6)),
    ((1, 3, 4, 8), (2, 1, 8, 5), (2, 3, 4, 5)),
    ((3, 4, 8), (8, 5), (3, 4, 5)),
)


def file_of(folder: Path, shapes: Shapes, dtype: str = "") -> Path:
    """A product of two inputs, of stored values with a type."""
    a, b, y = shapes
    product = helper.make_node("MatMul", ["ad", "bd"] if dtype else ["a", "b"], ["m" if dtype else "y"])
    nodes, constants = [product], {}
    if dtype:
        nodes = [
            *quantized_input("a"), *quantized_input("b"), product,
            helper.make_node("QuantizeLinear", ["m", "ys", "yz"], ["yq"]),
            helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
        ]  # fmt: skip
        grids = {"a": (0.05, 3), "b": (0.02, 101), "y": (0.11, 17)}
        constants = {f"{name}s": np.array(scale, np.float32) for name, (scale, _) in grids.items()} | {
            f"{name}z": np.array(zero, dtype) for name, (_, zero) in grids.items()
        }
    return save(onnx_model(nodes, {"a": a, "b": b}, {"y": y}, constants), folder / "m.onnx")


def quantized_input(name: str) -> list[object]:
    grid = [f"{name}s", f"{name}z"]
    return [
        helper.make_node("QuantizeLinear", [name, *grid], [f"{name}q"]),
        helper.make_node("DequantizeLinear", [f"{name}q", *grid], [f"{name}d"]),
    ]


def drawn(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_floats(shapes: Shapes, tmp_path: Path, build: Compile) -> None:
    model, _ = import_model(file_of(tmp_path, shapes))
    assert [operator.kind for operator in model.operators] == ["matmul"]
    assert model.macs(model.operators[0]) == np.prod(shapes[2]) * shapes[0][-1]
    a, b = drawn(shapes[0], 0), drawn(shapes[1], 1)
    np.testing.assert_allclose(run(model, build, a, b), a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_stored_values_stay_integers_and_are_near_onnxruntime(
    shapes: Shapes, dtype: str, tmp_path: Path, build: Compile
) -> None:
    runtime = pytest.importorskip(
        "onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'"
    )
    path = file_of(tmp_path, shapes, dtype)
    model, _ = import_model(path)
    kinds = [operator.kind for operator in model.operators]
    assert kinds == ["quantize", "quantize", "matmul", "dequantize"]
    a, b = drawn(shapes[0], 0), drawn(shapes[1], 1)
    (expected,) = runtime.InferenceSession(str(path)).run(None, {"a": a, "b": b})
    np.testing.assert_allclose(run(model, build, a, b), expected, atol=0.111)


def of_stored(dtype: str, shapes: Shapes) -> Model:
    a, b = quantized("a", shapes[0], 0.05, 3, dtype), quantized("b", shapes[1], 0.02, 101, dtype)
    out = quantized("out", shapes[2], 0.11, 17, dtype)
    return one_operator("matmul", "onnx", [a, b], out, macs_per_output=shapes[0][-1])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_the_c_is_the_oracle(shapes: Shapes, dtype: str, build: Compile) -> None:
    model = of_stored(dtype, shapes)
    info, rng = np.iinfo(dtype), np.random.default_rng(3)
    a, b = (rng.integers(info.min, info.max, shape, dtype, endpoint=True) for shape in shapes[:2])
    must = exact(model.operators[0], model, {"a": a, "b": b})
    assert must is not None
    np.testing.assert_array_equal(run(model, build, a, b), must)


def test_a_matrix_times_itself(build: Compile) -> None:
    tensors = [real("x", (6, 6))]
    model = one_operator("matmul", "float", [*tensors, *tensors], real("out", (6, 6)), macs_per_output=6)
    x = drawn((6, 6), 4)
    np.testing.assert_allclose(run(model, build, x, x), x @ x, rtol=1e-5)
