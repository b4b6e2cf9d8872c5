"""Operators one by one: a right bundle passes whatever its depth, a wrong kernel is named."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run import OperatorCheck, reference_for, verify_models, write_bundle
from target_arch.run.execute.traced import Trace
from target_arch.run.verification.layer import Layers
from target_arch.run.verification.layers import _Walk, verify_layers
from target_arch.run.verification.result import BY_OPERATOR
from target_arch.soc import read_soc
from target_arch.stages.steps.probes import probes
from tests.relax.models import convnet, helper, onnx_model, quantized, save
from tests.step_deletion import unsealed


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quantized(convnet(), tmp_path_factory.mktemp("net"), activations="QInt8", per_channel=True)


@pytest.fixture(scope="module")
def made(model: Path) -> CompiledModel:
    return compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge")))


@pytest.fixture(scope="module")
def bundle(made: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "net"
    write_bundle(made.bundle, folder)
    return folder


def layers(made: CompiledModel, model: Path, bundle: Path) -> Layers:
    return verify_layers(made, reference_for(model), bundle, count=3, seed=0)


@pytest.mark.slow
def test_every_operator_of_a_right_bundle(made: CompiledModel, model: Path, bundle: Path) -> None:
    found = layers(made, model, bundle)
    assert found.passed, str(found)
    assert [layer.operator for layer in found.layers] == [operator.id for operator in made.model.operators]
    assert {layer.on for layer in found.layers} == {part.instance for part in made.graph.partitions}
    seen = [layer for layer in found.layers if layer.tensor]
    assert len(seen) >= len(found.layers) - 2
    assert all(layer.exact == "equal" for layer in seen if layer.kind not in ("softmax", "relax"))
    assert all(layer.largest <= 1 for layer in seen)


def test_the_wrong_operator_is_named(made: CompiledModel, model: Path, bundle: Path) -> None:
    """One sum of the second convolution begins elsewhere in the C text."""
    wrong = bundle.parent / "wrong"
    write_bundle(made.bundle, wrong)
    if (bundle / "build").is_dir():
        # Objects of another test, which may not have run.
        shutil.copytree(bundle / "build", wrong / "build")
    operator = next(each for each in made.model.operators if each.kind == "depthwise_conv2d")
    path = next(wrong.glob("src/*_constants.c"))
    text, count = re.subn(
        rf"(\.{operator.id}_folded = {{[^}}]*?\*/\s*)(-?\d+)", r"\g<1>\g<2>00000", path.read_text(), count=1
    )
    assert count == 1
    path.write_text(text)
    (steps,) = wrong.glob("src/*_steps.c")
    steps.write_text(unsealed(steps.read_text()))
    found = layers(made, model, wrong)
    faulty = [layer for layer in found.layers if not layer.passed]
    assert [layer.operator for layer in faulty] == [operator.id]
    assert faulty[0].exact == "WRONG"
    assert f"operator `{operator.id}`" in str(found).splitlines()[-1]
    assert "of frame 0" in faulty[0].first_wrong
    assert f"from `{operator.inputs[0]}`" in faulty[0].first_wrong


def test_operators_judge_where_outputs_differ(made: CompiledModel, model: Path, bundle: Path) -> None:
    (found,) = verify_models(
        {"net": model}, bundle, count=3, operators=OperatorCheck(planned=made, always=True)
    ).values()
    assert found.passed
    assert found.layers is not None
    assert (found.rule == BY_OPERATOR) == (found.equal < found.outputs)


def test_a_tensor_that_only_the_reference_has_is_no_operand_of_the_oracle(made: CompiledModel) -> None:
    trace = Trace(tensors={}, outputs=b"", seconds=())
    tensors = (made.model.tensors[operator.output] for operator in made.model.operators)
    theirs = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in tensors}
    walk = _Walk(model=made.model, theirs=theirs, replaced=frozenset(), given=frozenset(), trace=trace)
    outcomes = [walk.outcome(operator, {}) for operator in made.model.operators]
    assert [(each.ours, each.must, each.used) for each in outcomes] == [(None, None, None)] * len(outcomes)


def test_what_replaces_a_tensor_is_in_its_alias_too(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["shares"], axis=-1),
        helper.make_node("Reshape", ["shares", "shape"], ["again"]),
        helper.make_node("Softmax", ["again"], ["y"]),
    ]
    shape = {"shape": np.array([2, 12], np.int64)}
    path = save(onnx_model(nodes, {"x": (4, 6)}, {"y": (2, 12)}, shape), tmp_path / "m.onnx")
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m55")))
    softmax, reshape, _ = (operator.output for operator in made.model.operators)
    found = [(probe.tensor, probe.step) for probe in probes(made.model, made.steps)]
    step = dict(found)[softmax]
    assert found.index((softmax, step)) < found.index((reshape, step))
