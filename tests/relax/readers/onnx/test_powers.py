"""Powers of whole numbers in ONNX models, also where they overflow, as onnxruntime computes them."""

from pathlib import Path

import numpy as np
import pytest
from onnx.numpy_helper import from_array

from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import Array, helper, onnx_reference, save
from tests.slow import slow_except

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

EXPONENTS = {
    "one for each row": np.array([[2], [3], [4], [0], [2], [5]]),
    "square": np.array(2),
    "cube": np.array([3]),
    "fifth": np.array(5),
    "inverse": np.array(-1),
    "one for each column": np.array([0, 1, 2, 3, 4, 7, 40, -2]),
}


def power(path: Path, base: str, exponent: Array, *, computed: bool) -> Path:
    types = {name: helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in (base, str(exponent.dtype))}
    inputs = [helper.make_tensor_value_info("x", types[base], [6, 8])]
    other = helper.make_tensor_value_info("e", types[str(exponent.dtype)], exponent.shape)
    graph = helper.make_graph(
        [helper.make_node("Pow", ["x", "e"], ["y"])],
        "powers",
        [*inputs, other] if computed else inputs,
        [helper.make_tensor_value_info("y", types[base], [6, 8])],
        [] if computed else [from_array(exponent, "e")],
    )
    return save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize(
    "types", slow_except(["int64 int32"], ["int32 int32", "int64 int64", "int32 float32", "int64 int32"])
)
def test_powers_that_overflow(types: str, exponent: str, computed: bool, tmp_path: Path) -> None:
    base, kind = types.split()
    raised = EXPONENTS[exponent].astype(kind)
    path = power(tmp_path / "power.onnx", base, raised, computed=computed)
    draw = np.random.default_rng(len(types) + len(exponent))
    large = np.iinfo(base).max
    x = draw.integers(-large, large, (6, 8)) >> draw.integers(0, np.iinfo(base).bits, (6, 8))
    inputs = {"x": x.astype(base), **({"e": raised} if computed else {})}
    model, program = import_model(path)
    (ours,), (theirs,) = evaluate(model, inputs, program), onnx_reference(path, inputs)
    np.testing.assert_array_equal(ours, theirs)
