"""Comparing with a reference: random inputs, distances, rules, and what is written down."""

import math
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.emit import Tolerance
from target_arch.run import (
    Executable,
    Verification,
    build,
    read_manifest,
    reference_for,
    self_test,
    verify,
    write_bundle,
)
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_TOLERANCE,
    Frame,
    Input,
    Reference,
    distance,
    spread,
)
from target_arch.run.verification.faults import faults
from target_arch.run.verification.judge import judged
from target_arch.run.verification.verify import compare
from target_arch.soc.schema.records import to_json
from tests import tiny_plans

X = Input(name="x", shape=(1, 8), dtype=np.dtype(np.int8), low=-128, high=127)


def exact(frame: Frame) -> tuple[Frame, ...]:
    return ((np.frombuffer(tiny_plans.expected(frame[0].tobytes()), np.int8).reshape(1, 8),),)


def off_by_one(frame: Frame) -> tuple[Frame, ...]:
    ((answer,),) = exact(frame)
    return ((answer + np.int8(-1),), (answer,))


REFERENCE = Reference(
    name="the arithmetic of this file",
    rule="every bit equal",
    inputs=(X,),
    units=(1.0,),
    allowed=0.0,
    answer=exact,
)


BELONG = "NaN and infinity belong where the reference has them"


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Executable:
    directory = tmp_path_factory.mktemp("bundle") / "dsp"
    write_bundle(tiny_plans.bundle(tiny_plans.on_dsp()), directory)
    return build(directory)


def test_equal(executable: Executable) -> None:
    found = compare(REFERENCE, executable, count=20, seed=3)
    assert found.passed
    assert str(found) == (
        "verification passed\n"
        "  reference           the arithmetic of this file\n"
        "  rule                every bit equal\n"
        "  inputs              20 random frames, seed 3\n"
        "  bit-equal           20 of 20 outputs\n"
        "  largest difference  0, allowed 0\n"
        "  self-test           passed\n"
    )


def test_the_references_own_differences_are_allowed(executable: Executable) -> None:
    found = compare(evolve(REFERENCE, answer=off_by_one), executable, count=20)
    assert (found.largest, found.allowed, found.equal, found.passed) == (1.0, 1.0, 0, True)


def test_different(executable: Executable) -> None:
    found = compare(evolve(REFERENCE, answer=lambda frame: off_by_one(frame)[:1]), executable, count=20)
    assert not found.passed
    assert str(found).startswith("verification FAILED\n")


def test_a_failed_self_test_fails(executable: Executable) -> None:
    assert not evolve(compare(REFERENCE, executable, count=1), self_test="failed").passed


def test_another_model(executable: Executable) -> None:
    other = evolve(REFERENCE, inputs=(evolve(X, shape=(1, 9)),), answer=lambda frame: ((frame[0],),))
    with pytest.raises(DiagnosticError) as failure:
        compare(other, executable, count=1)
    assert str(failure.value) == (
        f"{executable.directory}: error: the bundle takes 8 B and gives 8 B, "
        "the model takes 9 B and gives 9 B [another-model]\n"
        "hint: name the model that the bundle was compiled from"
    )


def test_verify_writes_the_manifest(
    executable: Executable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("target_arch.run.verification.verify.reference_for", lambda *_: REFERENCE)
    found = verify(tmp_path / "model.tflite", executable.directory, count=5)
    assert isinstance(found, Verification)
    assert to_json(read_manifest(executable.directory).models[0].verification) == {
        "allowed": 0.0,
        "equal": 5,
        "equal_to": "",
        "first_wrong": "",
        "floats": None,
        "frames": 5,
        "largest": 0.0,
        "outputs": 5,
        "passed": True,
        "recorded": False,
        "reference": "the arithmetic of this file",
        "relative": 0.0,
        "rule": "every bit equal",
        "seed": 0,
        "self_test": "passed",
        "layers": None,
        "wrong": 0,
    }


def test_frames_depend_on_the_seed_and_not_on_the_count() -> None:
    few, many, other = REFERENCE.frames(2, 0), REFERENCE.frames(50, 0), REFERENCE.frames(2, 1)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(few, many, strict=False))
    assert not np.array_equal(few[0][0], other[0][0])
    assert {value for frame in many for value in frame[0].ravel().tolist()} >= {-128, 127}


def test_distance() -> None:
    one = evolve(REFERENCE, units=(0.5,))
    nan, number = (np.array([np.nan, 1.0]),), (np.array([2.0, 1.0]),)
    assert distance(one, (np.array([1.0]),), (np.array([2.0]),)) == 2.0
    assert distance(one, nan, nan) == 0.0
    assert distance(one, nan, number) == math.inf
    assert distance(one, (np.array([np.inf]),), (np.array([np.inf]),)) == 0.0
    low, high = np.array([-128], np.int8), np.array([127], np.int8)
    assert distance(REFERENCE, (low,), (high,)) == 255.0
    assert spread(REFERENCE, [((low,), (high,), (high,))]) == 255.0


def test_litert(shared: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="pip install 'target-arch[verify]'")
    reference = reference_for(shared / "models" / "kws_int8.tflite")
    assert reference.rule == "every bit equal"
    assert reference.allowed == 0.0
    assert [(terminal.shape, terminal.dtype) for terminal in reference.inputs] == [((1, 49, 10, 1), np.int8)]
    vector = self_test(shared / "models" / "kws_int8.tflite")
    assert vector is not None
    assert ([len(data) for data in vector.inputs], [len(data) for data in vector.outputs]) == ([490], [12])
    assert vector.tolerances == (Tolerance(),)


def test_litert_float(shared: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="pip install 'target-arch[verify]'")
    reference = reference_for(shared / "models" / "ic_resnet_fp32.tflite")
    assert reference.allowed == 1e-4
    assert (reference.inputs[0].low, reference.inputs[0].high) == (-1.0, 1.0)


def test_onnxruntime() -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'target-arch[verify]'")
    model = Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.onnx"
    reference = reference_for(model)
    assert reference.allowed == 1.0
    assert reference.units != (1.0,)  # the output is dequantized: differences count in its steps
    answers = [reference.answer(frame) for frame in reference.frames(3, 0)]
    assert all(len(answer) == 2 for answer in answers)
    assert spread(reference, answers) == pytest.approx(round(spread(reference, answers)), abs=1e-3)


@pytest.mark.parametrize(
    ("suffix", "package"), [(".tflite", "ai_edge_litert"), (".onnx", "onnxruntime"), (".pt2", "torch")]
)
def test_a_file_the_reference_cannot_read(tmp_path: Path, suffix: str, package: str) -> None:
    pytest.importorskip(package, reason="pip install 'target-arch[verify,torch]'")
    model = tmp_path / f"model{suffix}"
    model.write_bytes(b"no model at all")
    with pytest.raises(DiagnosticError, match=r"cannot read the model: .* \[model-unreadable\]"):
        reference_for(model)


def test_a_file_without_a_reference(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as failure:
        reference_for(tmp_path / "model.txt")
    assert str(failure.value) == (
        f"{tmp_path}/model.txt: error: there is no reference for files that end with `.txt` [no-reference]\n"
        "hint: a model file ends with one of `.onnx`, `.pt2`, `.relax`, `.tflite`"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"there is no such file \[model-unreadable\]"):
        reference_for(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        (1000.05, 1000.0, ""),  # the relative part
        (0.00009, 0.0, ""),  # the absolute part
        (1000.2, 1000.0, "1000.20001 where the reference has 1000: 0.200012 apart, 0.1001 allowed"),
        (np.nan, np.nan, ""),
        (np.inf, np.inf, ""),
        (-np.inf, np.inf, f"-inf where the reference has inf: {BELONG}"),
        (np.nan, 2.0, f"nan where the reference has 2: {BELONG}"),
    ],
)  # fmt: skip
def test_floats_have_a_relative_and_an_absolute_tolerance(mine: float, theirs: float, said: str) -> None:
    rule = evolve(REFERENCE, allowed=FLOAT_TOLERANCE, relative=FLOAT_RELATIVE)
    ours, answer = (np.array([0.0, value], np.float32) for value in (mine, theirs))
    found = faults(rule, [(ours,)], [((answer,),)], [rule.allowed])
    assert [fault.said(["y"]) for fault in found] == ([f"`y`[1] of frame 0: {said}"] if said else [])


def test_steps_that_are_printed_as_floats_have_a_few_ulps() -> None:
    step = float(np.float32(0.1))
    rule = evolve(REFERENCE, units=(step,), allowed=1.0)
    theirs = np.array([step * 90], np.float32)
    near, far = (np.array([step * number], np.float32) for number in (91, 92))
    assert float(near[0]) - float(theirs[0]) > step
    assert faults(rule, [(near,)], [((theirs,),)], [1.0]) == []
    assert len(faults(rule, [(far,)], [((theirs,),)], [1.0])) == 1


def test_floats_beside_integers_have_their_own_numbers() -> None:
    """One step is allowed for integers, and next to nothing for floats."""
    mixed = evolve(REFERENCE, units=(1.0, 1.0), allowed=1.0, reals=(False, True))
    answer = (np.array([3], np.int8), np.array([0.5], np.float32))
    ours = np.array([4], np.int8).tobytes() + np.array([0.50002], np.float32).tobytes()
    found = judged(mixed, [ours], [()], [(answer,)], ("n", "r"), seed=0, own=None)
    assert found.passed
    lines = str(found).splitlines()
    assert lines[-3:-1] == [
        "  largest difference  1, allowed 1",
        "                      2.00272e-05 of floats, allowed 0.0001 + 0.0001 of the magnitude",
    ]
