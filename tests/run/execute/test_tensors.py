"""Arrays of callers are checked against the model's inputs, and a permuted shape is named in the hint."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.manifest.model import TensorEntry
from target_arch.run.execute.tensors import checked_tensor, read_tensor

Shape = tuple[int, ...]
SPECTRUM = TensorEntry(name="x", dtype="int8", shape=(1, 49, 10, 1), bytes=490, buffer="x@sram")


def refused(has: Shape, takes: Shape, dtype: str = "float32", wanted: str = "float32") -> str:
    tensor = TensorEntry(name="x", dtype=wanted, shape=takes, bytes=0, buffer="x@sram")
    with pytest.raises(DiagnosticError) as failure:
        checked_tensor(np.zeros(has, dtype), tensor, "here")
    return str(failure.value)


def test_the_right_one() -> None:
    array = np.zeros((1, 49, 10, 1), np.int8)
    assert checked_tensor(array, SPECTRUM, "here") is array


def test_the_whole_text() -> None:
    assert refused((1, 10, 49, 1), (1, 49, 10, 1)) == (
        "here: error: input `x` is float32[1, 49, 10, 1], given is float32[1, 10, 49, 1] [wrong-input]\n"
        "hint: the model takes the axes in another order: `array.transpose(0, 2, 1, 3)`"
    )


NHWC = "hint: the array seems to be NCHW and the model takes NHWC: `array.transpose(0, 2, 3, 1)`"
NCHW = "hint: the array seems to be NHWC and the model takes NCHW: `array.transpose(0, 3, 1, 2)`"


@pytest.mark.parametrize(
    ("has", "takes", "hint"),
    [
        ((1, 3, 32, 32), (1, 32, 32, 3), NHWC),
        ((1, 1, 49, 10), (1, 49, 10, 1), NHWC),
        ((1, 8, 8, 3), (1, 3, 8, 8), NCHW),
        ((1, 3, 3, 3), (1, 3, 3, 4), None),
        ((49, 10), (1, 49, 10, 1), "hint: `array.reshape(1, 49, 10, 1)`"),
        ((3, 1), (1, 3), "hint: `array.reshape(1, 3)`"),
        ((7, 4), (1, 4), "hint: a frame has 1 of these 7: run it once for each"),
        ((4, 7), (7, 4), "hint: the model takes the axes in another order: `array.transpose(1, 0)`"),
        ((2, 2), (3, 3), None),
    ],
)
def test_hints_about_shapes(has: Shape, takes: Shape, hint: str | None) -> None:
    _, *hints = refused(has, takes).splitlines()
    assert hints == ([] if hint is None else [hint])


def test_hints_about_types() -> None:
    assert refused((4,), (4,), "float64").endswith('hint: convert it: `array.astype("float32")`')
    assert refused((4,), (4,), "float32", "int8").endswith(
        "hint: quantize real numbers as the model does: round(x / scale) + zero point, as int8"
    )


def test_a_permuted_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 10, 49, 1), np.int8))
    with pytest.raises(DiagnosticError) as failure:
        read_tensor(tmp_path / "x.npy", SPECTRUM)
    assert str(failure.value) == (
        f"{tmp_path / 'x.npy'}: error: input `x` is int8[1, 49, 10, 1], given is int8[1, 10, 49, 1] "
        "[wrong-input]\nhint: the model takes the axes in another order: `array.transpose(0, 2, 1, 3)`"
    )
