"""Frames of the caller's that a model is calibrated and judged with, and their labels.

Tests: `tests/quantize/test_data.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from target_arch.diagnostics import listed, refusal
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.model import file_name
from target_arch.run.execute.labels import LABELS, classes_of, require_class
from target_arch.run.execute.tensors import checked_tensor, frames_hint, read_archive, read_array
from target_arch.run.references.reference import Frame, Input

Array = NDArray[Any]


@frozen(kw_only=True)
class LabelledFrames:
    """Inputs of runs, and the class of each; without labels None."""

    frames: tuple[Frame, ...] = field(repr=False)
    labels: tuple[int, ...] | None = field(default=None, repr=False)


def read_frames(place: Path, labels: Path | None, inputs: Sequence[Input]) -> LabelledFrames:
    """The frames of an `.npz` file with an array for each input, or of a folder with an `.npy` file for each;
    a model with one input takes the only array, whatever its name is. The first dimension are the frames.

    DiagnosticError for other names, shapes, types and counts, for no frame, and for values that are no
    numbers.
    """
    arrays = _in_folder(place, inputs) if place.is_dir() else read_archive(place, "data is")
    archived = _labels_among(arrays, inputs)
    if len(inputs) == 1 and len(arrays) == 1:
        arrays = {inputs[0].name: next(iter(arrays.values()))}
    names = [one.name for one in inputs]
    if sorted(arrays) != sorted(names):
        raise refusal("wrong-input", place, f"the inputs are {listed(names)}; given are {listed(arrays)}")
    stacks = [_stacked(arrays[one.name], one, place) for one in inputs]
    counts = [len(stack) for stack in stacks]
    if len(set(counts)) > 1:
        said = ", ".join(f"`{name}` has {count:,}" for name, count in zip(names, counts, strict=True))
        raise refusal("wrong-input", place, f"inputs have different numbers of frames: {said}")
    known = archived if labels is None else read_array(labels)
    return LabelledFrames(
        frames=tuple(
            tuple(np.ascontiguousarray(one) for one in frame) for frame in zip(*stacks, strict=True)
        ),
        labels=None if known is None else classes_of(known, counts[0], place if labels is None else labels),
    )


def _labels_among(arrays: dict[str, Array], inputs: Sequence[Input]) -> Array | None:
    """The labels, taken out of the arrays of an archive that has them."""
    return None if LABELS in {one.name for one in inputs} else arrays.pop(LABELS, None)


def _in_folder(place: Path, inputs: Sequence[Input]) -> dict[str, Array]:
    files = {one.name: place / f"{file_name(one.name)}.npy" for one in inputs}
    others = sorted(place.glob("*.npy"))
    if not others:
        hint = f"an `.npy` file for each input: {listed(file.name for file in files.values())}"
        raise refusal("wrong-input", place, "the folder has no `.npy` file", hint)
    if len(inputs) == 1 and len(others) == 1:
        return {inputs[0].name: read_array(others[0])}
    missing = [file.name for file in files.values() if not file.is_file()]
    if missing:
        raise refusal("wrong-input", place, f"the folder has no {listed(missing)}")
    return {name: read_array(file) for name, file in files.items()}


def _stacked(array: Array, one: Input, place: Path) -> Array:
    """The array with a dimension of frames; a leading batch of one may be that dimension."""
    shape = one.shape
    if array.ndim == len(shape) and shape[:1] == (1,) and array.ndim:
        array = array[:, np.newaxis]
    if array.ndim != len(shape) + 1:
        takes, has = f"{one.dtype}{list(shape)}", f"{array.dtype}{list(array.shape)}"
        message = f"input `{one.name}` is {takes}, given is {has}"
        raise refusal("wrong-input", place, message, frames_hint(array, shape))
    if not len(array):
        raise refusal("wrong-input", place, f"input `{one.name}` has no frame", None)
    checked_tensor(array[0], _entry(one), str(place))
    broken = np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))
    if broken.size:
        message = f"{broken.size:,} of {len(array):,} frames of input `{one.name}` have NaN or infinity"
        raise refusal("wrong-input", place, message, f"the first one is frame {broken[0]:,}")
    return array


def _entry(one: Input) -> TensorEntry:
    count = int(np.prod(one.shape, dtype=np.int64)) * one.dtype.itemsize
    return TensorEntry(name=one.name, dtype=str(one.dtype), shape=one.shape, bytes=count, buffer="")


def require_classes(data: LabelledFrames, outputs: Frame) -> None:
    """DiagnosticError where the first of a frame's outputs has no element for a label."""
    if data.labels is not None:
        require_class(max(data.labels, default=0), outputs[0])
