"""Tests: `target_arch/relax/patterns/group_norm.py` and `target_arch/relax/readers/batch_norm.py`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.model import Operator
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.soc.files.soc_file import read_soc
from tests.relax.models import helper, onnx_model, save

Array = np.ndarray[Any, Any]
SHAPE = (1, 6, 5, 4)
DRAW = np.random.default_rng(3)
VALUES = {
    name: DRAW.uniform(0.5, 2.0, SHAPE[1]).astype(np.float32)
    for name in ("scale", "offset", "mean", "variance")
}
BATCH = ("BatchNormalization", ["x", "scale", "offset", "mean", "variance"])
INSTANCE = ("InstanceNormalization", ["x", "scale", "offset"])
X = np.random.default_rng(4).normal(3.0, 2.0, SHAPE).astype(np.float32)


def written(kind: str, reads: list[str], folder: Path, *computed: str) -> Path:
    """A model of one operator, with inputs for the `computed` operands."""
    inputs: dict[str, tuple[int, ...]] = {"x": SHAPE, **dict.fromkeys(computed, (SHAPE[1],))}
    model = onnx_model([helper.make_node(kind, reads, ["y"], epsilon=1e-3)], inputs, {"y": SHAPE})
    for name in set(reads) - set(inputs):
        model.graph.initializer.append(numpy_helper.from_array(VALUES[name], name))
    return save(model, folder / "m.onnx")


def names(operators: tuple[Operator, ...]) -> list[object]:
    return [operator.attributes.get("operator") for operator in operators]


def answer(path: Path, folder: Path, *inputs: Array) -> Array:
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, folder / "bundle")
    (result,) = run_frames(build(folder / "bundle"), (b"".join(each.tobytes() for each in inputs),))
    return np.frombuffer(result, np.float32).reshape(inputs[0].shape)


@pytest.mark.parametrize(("layer", "name"), [(BATCH, "batch_norm"), (INSTANCE, "group_norm")])
def test_onnx_has_one_operator(
    layer: tuple[str, list[str]], name: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    path = written(*layer, tmp_path)
    assert names(import_model(path)[0].operators) == [name]
    (expected,) = onnxruntime.InferenceSession(path).run(None, {"x": X})
    np.testing.assert_allclose(answer(path, tmp_path, X), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer", [BATCH, INSTANCE])
def test_one_whose_scale_is_computed_is_as_it_was(
    layer: tuple[str, list[str]], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    path = written(*layer, tmp_path, "scale")
    assert not {"batch_norm", "group_norm"} & set(names(import_model(path)[0].operators))
    given = {"x": X, "scale": VALUES["scale"]}
    (expected,) = onnxruntime.InferenceSession(path).run(None, given)
    np.testing.assert_allclose(answer(path, tmp_path, *given.values()), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (lambda nn: nn.GroupNorm(3, SHAPE[1]), "group_norm"),
        (lambda nn: nn.InstanceNorm2d(SHAPE[1]), "group_norm"),
        (lambda nn: nn.BatchNorm2d(SHAPE[1]), "batch_norm"),
    ],
)
def test_pytorch_has_the_same_operator(
    layer: Callable[[Any], Any], name: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'target-arch[torch]'")
    module = layer(torch.nn).eval()
    torch.export.save(torch.export.export(module, (torch.zeros(SHAPE),)), tmp_path / "m.pt2")
    assert names(import_model(tmp_path / "m.pt2")[0].operators) == [name]
    expected = module(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(answer(tmp_path / "m.pt2", tmp_path, X), expected, rtol=1e-5, atol=1e-5)
