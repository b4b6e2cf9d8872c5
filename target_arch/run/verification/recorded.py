"""Recorded frames: inputs, the outputs that they should have, and their classes, from files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen

from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.model import file_name
from target_arch.run.execute.labels import LABELS, classes_of
from target_arch.run.execute.tensors import (
    Array,
    checked_tensor,
    frames_hint,
    read_archive,
    read_array,
    require_promised,
)
from target_arch.run.references.reference import Frame

Tensors = Sequence[TensorEntry]


@frozen(kw_only=True)
class RecordedPlaces:
    """Where inputs are, and perhaps expected outputs and labels that are not with them."""

    inputs: Path
    expected: Path | None
    labels: Path | None


@frozen(kw_only=True)
class Record:
    """Arrays of inputs and outputs by their names, each with the same frames, and the classes of these."""

    arrays: Mapping[str, Array] = field(repr=False)
    labels: tuple[int, ...]

    def frames(self, inputs: Sequence[str]) -> tuple[Frame, ...]:
        """The inputs of these names, of every frame."""
        stacks = [self.arrays[name] for name in inputs]
        return tuple(
            tuple(np.ascontiguousarray(each) for each in frame) for frame in zip(*stacks, strict=True)
        )

    def expected(self, outputs: Sequence[str]) -> tuple[tuple[Array | None, ...], ...]:
        """The outputs of these names of every frame, None for those without an array; nothing where none has
        one.
        """
        arrays = [self.arrays.get(name) for name in outputs]
        count = max((len(array) for array in arrays if array is not None), default=0)
        return tuple(
            tuple(None if array is None else np.ascontiguousarray(array[frame]) for array in arrays)
            for frame in range(count)
        )


def read_record(places: RecordedPlaces, inputs: Tensors, outputs: Tensors) -> Record:
    """All arrays. DiagnosticError for other names, shapes, types and counts than those of the models."""
    arrays, labels = _inputs(places.inputs, inputs, outputs)
    if places.expected is not None:
        arrays |= _expected(places.expected, outputs)
    stacks = {
        each.name: _stacked(arrays[each.name], each, places.inputs, kind)
        for kind, tensors in (("input", inputs), ("output", outputs))
        for each in tensors
        if each.name in arrays
    }
    counts = {len(array) for array in stacks.values()}
    if len(counts) > 1:
        said = ", ".join(f"`{name}` has {len(array)}" for name, array in stacks.items())
        text = f"arrays have different numbers of frames: {said}"
        raise refusal("wrong-input", places.inputs, text)
    if places.labels is not None:
        labels = read_array(places.labels)
    if labels is None:
        return Record(arrays=stacks, labels=())
    classes = classes_of(labels, max(counts, default=0), places.labels or places.inputs)
    return Record(arrays=stacks, labels=classes)


def _inputs(place: Path, inputs: Tensors, outputs: Tensors) -> tuple[dict[str, Array], Array | None]:
    """The arrays of inputs, and those of outputs and the labels that are with them."""
    if place.is_dir():
        return _in_folder(place, inputs, outputs), None
    arrays = read_archive(place, "recorded inputs are")
    labels = None if LABELS in {each.name for each in (*inputs, *outputs)} else arrays.pop(LABELS, None)
    names = [each.name for each in inputs]
    given = [name for name in arrays if name not in {each.name for each in outputs}]
    if sorted(given) != sorted(names):
        raise refusal("wrong-input", place, f"the inputs are {listed(names)}; given are {listed(given)}")
    return arrays, labels


def _expected(place: Path, outputs: Tensors) -> dict[str, Array]:
    arrays = _in_folder(place, (), outputs) if place.is_dir() else read_archive(place, "recorded outputs are")
    names = [each.name for each in outputs]
    if not arrays or any(name not in names for name in arrays):
        text = f"the outputs are {listed(names)}; given are {listed(arrays) or 'none'}"
        raise refusal("wrong-input", place, text)
    return arrays


def _in_folder(
    place: Path, inputs: Sequence[TensorEntry], outputs: Sequence[TensorEntry]
) -> dict[str, Array]:
    """The arrays in the files of a folder: those of all inputs, and of outputs that have one."""
    files = {tensor.name: place / f"{file_name(tensor.name)}.npy" for tensor in (*inputs, *outputs)}
    missing = [files[tensor.name].name for tensor in inputs if not files[tensor.name].is_file()]
    if missing:
        raise refusal("wrong-input", place, f"the folder has no {listed(missing)}")
    return {name: read_array(path) for name, path in files.items() if path.is_file()}


def _stacked(array: Array, tensor: TensorEntry, place: Path, kind: str) -> Array:
    """The array with a dimension of frames; a leading batch of one may be that dimension."""
    shape = tensor.shape
    if array.shape == shape:
        array = array[np.newaxis]
    elif array.ndim == len(shape) and shape[:1] == (1,) and len(array) > 1:
        array = array[:, np.newaxis]
    elif sorted(array.shape) == sorted(shape):
        checked_tensor(array, tensor, str(place), kind)
    if array.ndim != len(shape) + 1 or not len(array):
        raise _unlike(array, tensor, place, kind)
    checked_tensor(array[0], tensor, str(place), kind)
    require_promised(array, tensor, str(place))
    return array


def _unlike(array: Array, tensor: TensorEntry, place: Path, kind: str) -> DiagnosticError:
    takes = f"{tensor.dtype}{list(tensor.shape)}"
    message = f"{kind} `{tensor.name}` is {takes}, given is {array.dtype}{list(array.shape)}"
    return refusal("wrong-input", place, message, frames_hint(array, tensor.shape, kind))
