"""Inputs of the caller's: recorded frames, and ranges of random values."""

import json
from pathlib import Path

import numpy as np
import pytest

import target_arch
from target_arch.api.bundle import Bundle
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from tests.relax.models import helper, onnx_model, save

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    node = helper.make_node("Mul", ["x", "a_b"], ["y"])
    model = onnx_model([node], {"x": (1, 2, 3), "a_b": (1, 2, 3)}, {"y": (1, 2, 3)})
    return save(model, tmp_path_factory.mktemp("model") / "product.onnx")


@pytest.fixture(scope="module")
def bundle(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return target_arch.compile(model, "mcu_m7", port="host").write(tmp_path_factory.mktemp("made") / "b")


def arrays(*shape: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """More than random inputs ever are."""
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return {"x": values, "a_b": values + 1000}


def verified(capsys: Capture, model: Path, bundle: Bundle, *options: str) -> str:
    code = main(["verify", str(model), "--bundle", str(bundle.directory), *options])
    out = capsys.readouterr().out
    assert code == 0, out
    return out


def refused(model: Path, bundle: Bundle, place: Path) -> str:
    with pytest.raises(DiagnosticError) as fault:
        bundle.verify(model, inputs=place)
    return str(fault.value)


@pytest.mark.parametrize("shape", [(5, 2, 3), (5, 1, 2, 3)])
def test_an_archive_of_frames(
    shape: tuple[int, ...], model: Path, bundle: Bundle, tmp_path: Path, capsys: Capture
) -> None:
    np.savez(tmp_path / "frames.npz", **arrays(*shape))
    out = verified(capsys, model, bundle, "--inputs", str(tmp_path / "frames.npz"))
    assert "\n  inputs              5 recorded frames\n" in out
    assert "\n  bit-equal           5 of 5 outputs (" in out
    out = verified(capsys, model, bundle, "--inputs", str(tmp_path / "frames.npz"), "--count=3")
    assert "\n  inputs              3 recorded frames\n" in out


def test_a_folder_with_one_frame_and_every_operator(
    model: Path, bundle: Bundle, tmp_path: Path, capsys: Capture
) -> None:
    for name, array in arrays(1, 2, 3).items():
        np.save(tmp_path / f"{name}.npy", array)
    out = verified(
        capsys, model, bundle, "--inputs", str(tmp_path), "--format=json", "--layers", "--port=host"
    )
    found = json.loads(out)["product"]
    assert (found["frames"], found["recorded"], found["layers"]["frames"]) == (1, True, 1)


def test_ranges_of_random_inputs(model: Path, bundle: Bundle, capsys: Capture) -> None:
    out = verified(capsys, model, bundle, "--input-range", "x=3:3", "--input-range", "a_b=-2:5", "--count=4")
    assert "4 random frames, seed 0" in out


def test_what_is_not_the_models(model: Path, bundle: Bundle, tmp_path: Path) -> None:
    place = tmp_path / "frames.npz"
    np.savez(place, x=np.zeros((5, 2, 3), np.float32))
    assert refused(model, bundle, place) == (
        f"{place}: error: the inputs are `a_b`, `x`; given are `x` [wrong-input]"
    )
    np.savez(place, **{"x": np.zeros((5, 3, 2), np.float32), "a_b": np.zeros((5, 2, 3), np.float32)})
    assert refused(model, bundle, place) == (
        f"{place}: error: input `x` is float32[1, 2, 3], given is float32[1, 3, 2] [wrong-input]\n"
        "hint: the model takes the axes in another order: `array.transpose(0, 2, 1)`"
    )
    np.savez(place, **{"x": np.zeros((5, 2, 3), np.float32), "a_b": np.zeros((4, 2, 3), np.float32)})
    assert refused(model, bundle, place) == (
        f"{place}: error: arrays have different numbers of frames: `x` has 5, `a_b` has 4 [wrong-input]"
    )
    np.savez(place, **{"x": np.zeros(6, np.float32), "a_b": np.zeros(6, np.float32)})
    assert refused(model, bundle, place) == (
        f"{place}: error: input `x` is float32[1, 2, 3], given is float32[6] [wrong-input]\n"
        "hint: where one frame follows the other: `array.reshape(-1, 2, 3)`"
    )
    np.savez(place, **{"x": np.zeros((1, 2, 3), np.float32), "a_b": np.zeros((1, 3, 2), np.float32)})
    assert refused(model, bundle, place) == (
        f"{place}: error: input `a_b` is float32[1, 2, 3], given is float32[1, 3, 2] [wrong-input]\n"
        "hint: the model takes the axes in another order: `array.transpose(0, 2, 1)`"
    )
    assert refused(model, bundle, tmp_path) == (
        f"{tmp_path}: error: the folder has no `a_b.npy`, `x.npy` [wrong-input]"
    )
    place.write_text("no archive")
    assert refused(model, bundle, place).startswith(f"{place}: error: is not an .npz file: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["x"], "command line: error: `--input-range x` is no range [wrong-range]"),
        (["=1:2"], "command line: error: `--input-range =1:2` names no input [wrong-range]"),
        (["x=1:2", "x=1:3"], "command line: error: `--input-range x=1:3` names an input twice [wrong-range]"),
        (["z=1:2"], "input ranges: error: there is no input `z` [wrong-range]\nhint: inputs are: `a_b`, `x`"),
        (
            ["x=2:1"],
            "input ranges: error: input `x`, which is float32, cannot be from 2 to 1 [wrong-range]\n"
            "hint: name the lowest value first",
        ),
    ],
)
def test_ranges_that_are_none(
    given: list[str], said: str, model: Path, bundle: Bundle, capsys: Capture
) -> None:
    options = [word for each in given for word in ("--input-range", each)]
    assert main(["verify", str(model), "--bundle", str(bundle.directory), *options]) == 2
    assert capsys.readouterr().err.startswith(said)


def expected(
    values: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return values["x"] * values["a_b"]


@pytest.mark.parametrize("where", ["archive", "beside", "folder"])
def test_outputs_that_are_recorded_beside_inputs(
    where: str, model: Path, bundle: Bundle, tmp_path: Path, capsys: Capture
) -> None:
    inputs, place, options = arrays(4, 2, 3), tmp_path / "frames.npz", []
    outputs = expected(inputs)
    if where == "archive":
        np.savez(place, **inputs, y=outputs)
    else:
        np.savez(place, **inputs)
        other = tmp_path / "outputs"
        other.mkdir()
        np.save(other / "y.npy", outputs)
        np.savez(tmp_path / "outputs.npz", y=outputs)
        options = ["--expected", str(other if where == "folder" else tmp_path / "outputs.npz")]
    out = verified(capsys, model, bundle, "--inputs", str(place), *options)
    said = "4 of 4 outputs bit-equal, largest difference 0, of the reference 0\n"
    assert f"\n  expected outputs    {said}" in out
    outputs[2, 1, 0] += 10
    np.savez(place, **inputs, y=outputs)
    assert main(["verify", str(model), "--bundle", str(bundle.directory), "--inputs", str(place)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("verification FAILED\n")
    assert "expected outputs    3 of 4 outputs bit-equal, largest difference 10, of the reference 10\n" in out
    values = f"{outputs[2, 1, 0] - 10:.9g} where the record has {outputs[2, 1, 0]:.9g}"
    assert f"1 wrong, first `y`[0, 1, 0] of frame 2: {values}: 10 apart, " in out


def test_labels_give_accuracy(model: Path, bundle: Bundle, tmp_path: Path, capsys: Capture) -> None:
    inputs, place = arrays(4, 2, 3), tmp_path / "frames.npz"
    labels = np.argmax(expected(inputs).reshape(4, -1), axis=1)
    labels[0] = (labels[0] + 1) % 6
    np.savez(place, **inputs, labels=labels)
    out = verified(capsys, model, bundle, "--inputs", str(place))
    assert "\n  accuracy            75.00%, of the reference 75.00%, of 4 frames\n" in out
    np.savez(place, **inputs)
    np.save(tmp_path / "labels.npy", labels)
    options = ["--inputs", str(place), "--labels", str(tmp_path / "labels.npy"), "--count=2", "--format=json"]
    found = json.loads(verified(capsys, model, bundle, *options))["product"]
    assert found["accuracy"] == {"frames": 2, "right": 1, "of_reference": 1}


def test_results_that_are_not_the_models(model: Path, bundle: Bundle, tmp_path: Path) -> None:
    inputs, place = arrays(4, 2, 3), tmp_path / "frames.npz"

    def refusal(**how: Path) -> str:
        with pytest.raises(DiagnosticError) as fault:
            bundle.verify(model, **how)  # type: ignore[arg-type]
        return str(fault.value)

    np.savez(place, **inputs, y=np.zeros((4, 3, 2), np.float32))
    assert refusal(inputs=place) == (
        f"{place}: error: output `y` is float32[1, 2, 3], given is float32[1, 3, 2] [wrong-input]\n"
        "hint: the model takes the axes in another order: `array.transpose(0, 2, 1)`"
    )
    np.savez(place, **inputs, y=np.zeros((5, 2, 3), np.float32))
    assert refusal(inputs=place) == (
        f"{place}: error: arrays have different numbers of frames: `x` has 4, `a_b` has 4, `y` has 5 "
        "[wrong-input]"
    )
    np.savez(place, **inputs, labels=np.arange(3))
    assert refusal(inputs=place) == (f"{place}: error: there are 3 labels for 4 frames [wrong-labels]")
    np.savez(place, **inputs, labels=np.array([0, 1, 2, 6]))
    assert refusal(inputs=place) == (
        "labels: error: label 6 is no class: the first output has 6 elements [wrong-labels]\n"
        "hint: classes are counted from 0, an element of it for each"
    )
    assert refusal(labels=place) == (
        f"{place}: error: there are no recorded inputs that it belongs to [wrong-input]\n"
        "hint: give recorded inputs, too"
    )
    np.savez(place, **inputs)
    other = tmp_path / "others.npz"
    np.savez(other, z=np.zeros((4, 2, 3), np.float32))
    assert refusal(inputs=place, expected=other) == (
        f"{other}: error: the outputs are `y`; given are `z` [wrong-input]"
    )
