"""Frames and labels of callers, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.quantize.data import read_frames, require_classes
from target_arch.run.references.reference import Input
from tests.quantize.tiny import SHAPE, frames, written

ONE = (Input(name="x", shape=SHAPE, dtype=np.dtype(np.float32), low=-1, high=1),)
TWO = (*ONE, Input(name="y", shape=(2,), dtype=np.dtype(np.int8), low=-1, high=1))


def test_an_archive_with_its_labels(tmp_path: Path) -> None:
    data = read_frames(written(tmp_path, x=frames(3), labels=np.array([2, 0, 1])), None, ONE)
    assert data.labels == (2, 0, 1)
    assert [frame[0].shape for frame in data.frames] == [SHAPE] * 3
    assert np.array_equal(data.frames[1][0][0], frames(3)[1])


def test_a_folder_with_a_file_for_each_input(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", frames(2)[:, np.newaxis])
    np.save(tmp_path / "y.npy", np.zeros((2, 2), np.int8))
    np.save(tmp_path / "classes.npy", np.array([[1], [0]]))
    data = read_frames(tmp_path, tmp_path / "classes.npy", TWO)
    assert data.labels == (1, 0)
    assert [tuple(value.shape for value in frame) for frame in data.frames] == [(SHAPE, (2,))] * 2


def test_the_only_array_is_that_of_the_only_input(tmp_path: Path) -> None:
    assert len(read_frames(written(tmp_path, images=frames(2)), None, ONE).frames) == 2
    np.save(tmp_path / "pictures.npy", frames(3))
    assert len(read_frames(tmp_path, None, ONE).frames) == 3


def broken(frame: int) -> np.ndarray:
    values = frames(5)
    values[frame:, 0, 1, 1] = np.nan
    return values


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"x": frames(2).transpose(0, 2, 3, 1)},
            "error: input `x` is float32[1, 3, 8, 8], given is float32[1, 8, 8, 3] [wrong-input]\n"
            "hint: the array seems to be NHWC and the model takes NCHW: `array.transpose(0, 3, 1, 2)`",
        ),
        (
            {"x": frames(2).astype(np.float64)},
            "error: input `x` is float32[1, 3, 8, 8], given is float64[1, 3, 8, 8] [wrong-input]\n"
            'hint: convert it: `array.astype("float32")`',
        ),
        (
            {"x": frames(2)[0]},
            "error: input `x` is float32[1, 3, 8, 8], given is float32[3, 8, 8] [wrong-input]\n"
            "hint: where one frame follows the other: `array.reshape(-1, 3, 8, 8)`",
        ),
        (
            {"x": np.zeros(100, np.float32)},
            "error: input `x` is float32[1, 3, 8, 8], given is float32[100] [wrong-input]\n"
            "hint: put a dimension of frames before those of the input",
        ),
        ({"x": frames(2)[:0]}, "error: input `x` has no frame [wrong-input]"),
        (
            {"x": broken(2)},
            "error: 3 of 5 frames of input `x` have NaN or infinity [wrong-input]\n"
            "hint: the first one is frame 2",
        ),
        (
            {"a": frames(1), "b": frames(1)},
            "error: the inputs are `x`; given are `a`, `b` [wrong-input]",
        ),
        (
            {"x": frames(3), "labels": np.array([0, 1])},
            "error: there are 2 labels for 3 frames [wrong-labels]",
        ),
        (
            {"x": frames(1), "labels": np.array([0.5])},
            "error: labels are one class for each frame, counted from 0; given is float64[1] [wrong-labels]",
        ),
    ],
)
def test_wrong_data(tmp_path: Path, arrays: dict[str, np.ndarray], said: str) -> None:
    place = written(tmp_path, **arrays)
    with pytest.raises(DiagnosticError) as caught:
        read_frames(place, None, ONE)
    assert str(caught.value) == f"{place}: {said}"


def test_different_numbers_of_frames(tmp_path: Path) -> None:
    place = written(tmp_path, x=frames(3), y=np.zeros((2, 2), np.int8))
    with pytest.raises(DiagnosticError) as caught:
        read_frames(place, None, TWO)
    said = "inputs have different numbers of frames: `x` has 3, `y` has 2 [wrong-input]"
    assert str(caught.value) == f"{place}: error: {said}"


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_frames(tmp_path, None, TWO)
    assert str(caught.value) == (
        f"{tmp_path}: error: the folder has no `.npy` file [wrong-input]\n"
        "hint: an `.npy` file for each input: `x.npy`, `y.npy`"
    )


def test_a_folder_without_one_of_the_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", frames(2))
    with pytest.raises(DiagnosticError) as caught:
        read_frames(tmp_path, None, TWO)
    assert str(caught.value) == f"{tmp_path}: error: the folder has no `y.npy` [wrong-input]"


def test_places_that_are_no_data(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_frames(tmp_path / "data.csv", None, ONE)
    assert str(caught.value) == (
        f"{tmp_path}/data.csv: error: data is in a folder or an .npz file [wrong-input]\n"
        "hint: name a folder with an `.npy` file for each input, or an `.npz` file with all"
    )
    with pytest.raises(DiagnosticError) as caught:
        read_frames(tmp_path / "none.npz", None, ONE)
    said = "cannot be read: No such file or directory [wrong-input]"
    assert str(caught.value) == f"{tmp_path}/none.npz: error: {said}"
    whole = tmp_path / "broken.npz"
    np.savez(whole, x=np.zeros((4, 8), np.int8), y=np.zeros(4))
    first, second = whole.read_bytes().rsplit(b"PK\x03\x04", 1)
    whole.write_bytes(first + b"PK\x03\x05" + second)
    with pytest.raises(DiagnosticError, match=r"broken\.npz: error: is not an \.npz file: Bad magic number"):
        read_frames(whole, None, ONE)
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(DiagnosticError, match=r"text\.npz: error: is not an \.npz file: "):
        read_frames(tmp_path / "text.npz", None, ONE)


def test_a_label_without_an_element(tmp_path: Path) -> None:
    data = read_frames(written(tmp_path, x=frames(2), labels=np.array([0, 4])), None, ONE)
    with pytest.raises(DiagnosticError) as caught:
        require_classes(data, (np.zeros((1, 4), np.float32),))
    assert str(caught.value) == (
        "labels: error: label 4 is no class: the first output has 4 elements [wrong-labels]\n"
        "hint: classes are counted from 0, an element of it for each"
    )
