"""Weights of 4 bits, and of blocks with a scale each, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from tests.slow import slow_except

pytest.importorskip("onnxruntime", minversion="1.20", reason="needs onnxruntime 1.20, for weights of 4 bits")
RANDOM = np.random.default_rng(11)
INPUTS, OUTPUTS, BLOCK = 40, 24, 16
BLOCKS = -(-INPUTS // BLOCK)


def model(nodes: list[Any], constants: dict[str, Any]) -> onnx.ModelProto:
    """From `x` [3, 40] to `y` [3, 24]."""
    tensors = [
        value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(
        nodes,
        "narrow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, OUTPUTS])],
        tensors,
    )
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def nibbles(name: str, kind: int, shape: tuple[int, ...]) -> Any:
    low = -8 if kind == TensorProto.INT4 else 0
    values = RANDOM.integers(low, low + 16, shape)
    return helper.make_tensor(name, kind, shape, values.reshape(-1).tolist())


def verified(made: onnx.ModelProto, tmp_path: Path) -> Any:
    bundle = target_arch.compile(made, "mcu_m7").write(tmp_path / "bundle")
    (found,) = bundle.verify(made, count=5).values()
    return found


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4], ids=["int4", "uint4"])
@pytest.mark.parametrize("blocks", [False, True], ids=["channels", "blocks"])
def test_dequantized_weights(kind: int, blocks: bool, tmp_path: Path) -> None:
    shape = (BLOCKS, OUTPUTS) if blocks else (OUTPUTS,)
    constants = {
        "w": nibbles("w", kind, (INPUTS, OUTPUTS)),
        "scales": RANDOM.uniform(0.1, 0.2, shape).astype(np.float32),
        "zeros": nibbles("zeros", kind, shape),
    }
    own = {"axis": 0, "block_size": BLOCK} if blocks else {"axis": 1}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scales", "zeros"], ["real"], **own),
        helper.make_node("MatMul", ["x", "real"], ["y"]),
    ]
    found = verified(model(nodes, constants), tmp_path)
    assert found.passed, found


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", slow_except([True], [False, True]), ids=["", "zero points"])
@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
def test_products_of_n_bits(bits: int, zeros: bool, bias: bool, tmp_path: Path) -> None:
    packed = BLOCK * bits // 8
    row = (BLOCKS * bits + 7) // 8
    constants = {
        "w": RANDOM.integers(0, 256, (OUTPUTS, BLOCKS, packed)).astype(np.uint8),
        "scales": RANDOM.uniform(0.01, 0.02, OUTPUTS * BLOCKS).astype(np.float32),
        **({"zeros": RANDOM.integers(0, 256, OUTPUTS * row).astype(np.uint8)} if zeros else {}),
        **({"bias": RANDOM.standard_normal(OUTPUTS).astype(np.float32)} if bias else {}),
    }
    names = ["x", "w", "scales", "zeros" if zeros else "", "", "bias" if bias else ""]
    node = helper.make_node(
        "MatMulNBits",
        names if bias else names[: 4 if zeros else 3],
        ["y"],
        domain="com.microsoft",
        K=INPUTS,
        N=OUTPUTS,
        bits=bits,
        block_size=BLOCK,
    )
    found = verified(model([node], constants), tmp_path)
    assert found.passed, found


def test_weights_that_are_computed_are_refused_by_name() -> None:
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=INPUTS, N=OUTPUTS, block_size=BLOCK
    )
    computed = helper.make_node("Abs", ["raw"], ["s"])
    made = model([computed, node], {"w": np.zeros((OUTPUTS, BLOCKS, 8), np.uint8)})
    made.graph.input.append(helper.make_tensor_value_info("raw", TensorProto.FLOAT, [OUTPUTS * BLOCKS]))
    with pytest.raises(target_arch.DiagnosticError, match="operator `MatMulNBits` is not supported"):
        target_arch.compile(made, "mcu_m7")
