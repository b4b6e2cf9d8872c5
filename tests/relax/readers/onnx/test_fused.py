"""Operators that onnxruntime joins: what they become computes the same, by onnxruntime itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from conformance.topologies import Net, written
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import AS_IN_FILE
from target_arch.relax.readers.onnx.conversion import is_known
from target_arch.relax.readers.onnx.file import loaded
from target_arch.relax.readers.onnx.rewriting.normal_form import normal_form

Array = np.ndarray[Any, np.dtype[Any]]
MICROSOFT = "com.microsoft"
ROWS = (2, 3, 8)
DRAW = np.random.default_rng(0)


def drawn(*shape: int) -> Array:
    return DRAW.standard_normal(shape).astype(np.float32)


def stored(*shape: int, dtype: type = np.int8) -> Array:
    return DRAW.integers(0, 100, shape).astype(dtype)


CONV = {"x": drawn(1, 3, 8, 8), "w": drawn(4, 3, 3, 3), "b": drawn(4), "z": drawn(1, 4, 8, 8)}
NORM = {"x": drawn(*ROWS), "skip": drawn(*ROWS), "scale": drawn(8), "beta": drawn(8), "bias": drawn(8)}
PADDED = {"pads": [1, 1, 1, 1]}
ONE = np.array(0.02, np.float32)
ZERO = np.array(3, np.int8)

CASES: Mapping[str, tuple[str, Mapping[str, Array], Mapping[str, Any]]] = {
    "Gelu": ("Gelu", {"x": drawn(*ROWS)}, {}),
    "BiasGelu": ("BiasGelu", {"x": drawn(*ROWS), "b": drawn(8)}, {}),
    "QuickGelu": ("QuickGelu", {"x": drawn(*ROWS)}, {"alpha": 1.702}),
    "SiLU": ("QuickGelu", {"x": drawn(*ROWS)}, {"alpha": 1.0}),
    "FastGelu": ("FastGelu", {"x": drawn(*ROWS)}, {}),
    "FastGelu with a bias": ("FastGelu", {"x": drawn(*ROWS), "b": drawn(8)}, {}),
    "FusedConv": ("FusedConv", {n: CONV[n] for n in "xw"}, {**PADDED, "activation": "Relu"}),
    "FusedConv LeakyRelu": (
        "FusedConv",
        {n: CONV[n] for n in "xwb"},
        {**PADDED, "activation": "LeakyRelu", "activation_params": [0.1]},
    ),
    "FusedConv Clip": (
        "FusedConv",
        {n: CONV[n] for n in "xwb"},
        {**PADDED, "activation": "Clip", "activation_params": [-0.5, 1.5]},
    ),
    "FusedConv HardSigmoid": (
        "FusedConv",
        {n: CONV[n] for n in "xwb"},
        {**PADDED, "activation": "HardSigmoid", "activation_params": [0.2, 0.5]},
    ),
    "FusedConv with a sum": ("FusedConv", CONV, {**PADDED, "activation": "Relu"}),
    "FusedGemm": (
        "FusedGemm",
        {"a": drawn(4, 8), "b": drawn(8, 5), "c": drawn(5)},
        {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5},
    ),
    "FusedMatMul": (
        "FusedMatMul",
        {"a": drawn(2, 8, 3), "b": drawn(2, 5, 8)},
        {"transA": 1, "transB": 1, "alpha": 0.25},
    ),
    "SkipLayerNormalization": ("SkipLayerNormalization", NORM, {"epsilon": 1e-3}),
    "SkipSimplifiedLayerNormalization": (
        "SkipSimplifiedLayerNormalization",
        {n: NORM[n] for n in ("x", "skip", "scale", "bias")},
        {"epsilon": 1e-3},
    ),
    "DynamicQuantizeMatMul": (
        "DynamicQuantizeMatMul",
        {"a": drawn(4, 8), "b": stored(8, 5), "s": ONE, "z": ZERO, "bias": drawn(5)},
        {},
    ),
    "MatMulIntegerToFloat": (
        "MatMulIntegerToFloat",
        {
            "a": stored(4, 8, dtype=np.uint8),
            "b": stored(8, 5),
            "as": ONE,
            "bs": ONE,
            "az": np.array(7, np.uint8),
            "bz": ZERO,
            "bias": drawn(5),
        },
        {},
    ),
    "QGemm": (
        "QGemm",
        {
            "a": stored(4, 8),
            "as": ONE,
            "az": ZERO,
            "b": stored(5, 8),
            "bs": ONE,
            "bz": np.array(0, np.int8),
            "c": stored(5, dtype=np.int32),
            "ys": np.array(0.5, np.float32),
            "yz": ZERO,
        },
        {"transB": 1, "alpha": 0.5},
    ),
    "QGemm of channels to reals": (
        "QGemm",
        {
            "a": stored(4, 8),
            "as": ONE,
            "az": ZERO,
            "b": stored(8, 5),
            "bs": np.linspace(0.01, 0.03, 5, dtype=np.float32),
            "bz": np.zeros(5, np.int8),
        },
        {},
    ),
    "QLinearWhere": (
        "QLinearWhere",
        {
            "which": np.array([True, False, True]),
            "a": stored(3),
            "as": ONE,
            "az": ZERO,
            "b": stored(3),
            "bs": np.array(0.04, np.float32),
            "bz": ZERO,
            "ys": np.array(0.03, np.float32),
            "yz": ZERO,
        },
        {},
    ),
}


def model(
    operator: str,
    values: Mapping[str, Array],
    attributes: Mapping[str, Any],
    *,
    domain: str = MICROSOFT,
    opset: int = 17,
    results: int = 1,
) -> Any:
    """A model of one operator: the first value is its input, others are constants."""
    first, *others = values
    outputs = ["y", *[""] * (results - 2), *(["sum"] if results > 1 else [])]
    node = helper.make_node(operator, list(values), outputs, domain=domain, name="it", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(values[first].dtype)
    real = TensorProto.INT8 if operator in ("QGemm", "QLinearWhere") and "ys" in values else TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "fused",
        [helper.make_tensor_value_info(first, kind, values[first].shape)],
        [helper.make_tensor_value_info(name, real, None) for name in outputs if name],
        [numpy_helper.from_array(values[name], name) for name in others],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def answers(content: Any, values: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(content.SerializeToString(), options)
    name = session.get_inputs()[0].name
    return list(session.run(None, {name: values[name]}))


def normal(content: Any) -> Any:
    place = Path("model.onnx")
    return normal_form(place, loaded(place, content.SerializeToString()), AS_IN_FILE, is_known).whole()


@pytest.mark.parametrize("name", CASES)
def test_an_operator_becomes_others_with_its_results(name: str) -> None:
    if name == "SkipSimplifiedLayerNormalization" and onnxruntime.__version__.startswith("1.19."):
        pytest.skip("onnxruntime 1.19 leaves the bias out")
    operator, values, attributes = CASES[name]
    content = model(operator, values, attributes)
    made = normal(content)
    assert MICROSOFT not in {node.domain for node in made.graph.node}
    (theirs,), (ours,) = answers(content, values), answers(made, values)
    if theirs.dtype == np.int8:
        assert np.abs(theirs.astype(int) - ours.astype(int)).max() <= 1
    else:
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_the_sum_before_a_normalization_is_a_result_too() -> None:
    content = model("SkipLayerNormalization", NORM, {}, results=4)
    ours, theirs = answers(normal(content), NORM), answers(content, NORM)
    assert len(ours) == 2
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("operator", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_normalizations_of_files_from_before_onnx_had_them(operator: str) -> None:
    names = ("x", "scale", "beta") if operator == "LayerNormalization" else ("x", "scale")
    values = {name: NORM[name] for name in names}
    content = model(operator, values, {"epsilon": 1e-3}, domain="", opset=13)
    np.testing.assert_allclose(
        answers(normal(content), values), answers(content, values), rtol=2e-5, atol=2e-5
    )


@pytest.mark.parametrize(
    ("operator", "values", "attributes"),
    [
        ("FusedConv", {n: CONV[n] for n in "xw"}, {"activation": "Softplus"}),
        ("FusedMatMul", {"a": drawn(2, 3, 8), "b": drawn(2, 8, 3)}, {"transBatchA": 1}),
    ],
)
def test_forms_that_nothing_says_are_refused_by_name(
    operator: str, values: Mapping[str, Array], attributes: Mapping[str, Any], tmp_path: Path
) -> None:
    onnx.save(model(operator, values, attributes), tmp_path / "model.onnx")
    with pytest.raises(DiagnosticError) as caught:
        target_arch.compile(tmp_path / "model.onnx", "mcu_m55")
    assert f"note: `{operator}` once, at `it`: not known here" in str(caught.value)


@pytest.mark.parametrize("form", ["extended", "qoperator"])
def test_files_of_onnxruntime_are_the_operators_of_the_plain_file(form: str, tmp_path: Path) -> None:
    net = Net((2, 8))
    w, b = net.constant(drawn(8, 6)), net.weights(6)
    hidden = net.add("Relu", net.add("Gemm", "x", w, b))
    y = net.add("Gemm", hidden, net.constant(drawn(6, 4)), net.weights(4))
    path = tmp_path / "net.onnx"
    written(net.built(y), form, path)
    joined = {"extended": "FusedGemm", "qoperator": "QGemm"}[form]
    assert joined in {node.op_type for node in onnx.load(path).graph.node}
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    (result,) = bundle.verify(path, count=5).values()
    assert result.passed
    kinds = [operator.kind for operator in bundle.manifest.models[0].operators]
    assert kinds.count("dense") == 2
