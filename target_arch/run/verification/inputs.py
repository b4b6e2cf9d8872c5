"""Inputs of a verification that the caller has: recorded frames from files, and ranges of random values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from attrs import evolve, frozen

from target_arch.diagnostics import DiagnosticError, listed, name_hint, refusal
from target_arch.emit.bundle_name import qualified
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry, TensorEntry
from target_arch.plan.model import file_name
from target_arch.run.execute.tensors import Array, checked_tensor, read_archive, read_array
from target_arch.run.references.reference import Frame, Input, Reference

NO_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType({})


@frozen(kw_only=True)
class CallersInputs:
    """`recorded` is an `.npz` file with an array for each input by its name, or a folder with an `.npy` file
    for each; arrays have one dimension more than the input, the frames, or are of one frame. `ranges` are
    the lowest and highest random value of inputs. Of several models, names are `MODEL.INPUT`.
    """

    recorded: Path | None = None
    ranges: Mapping[str, tuple[float, float]] = NO_RANGES

    def applied(
        self, references: Mapping[str, Reference], manifest: Manifest, count: int
    ) -> dict[str, Reference]:
        """The references with these inputs; of recorded frames the first `count`.

        DiagnosticError for a name that no model has, for arrays of other shapes or types, and for different
        numbers of frames.
        """
        models = {model.name: _tensors(model, len(manifest.models)) for model in manifest.models}
        _require_known(self.ranges, [each.name for tensors in models.values() for each in tensors])
        found = {name: self._ranged(references[name], tensors) for name, tensors in models.items()}
        if self.recorded is None:
            return found
        arrays = _arrays(self.recorded, [each for tensors in models.values() for each in tensors])
        if len({len(array) for array in arrays.values()}) > 1:
            said = ", ".join(f"`{name}` has {len(array)}" for name, array in arrays.items())
            raise refusal("wrong-input", self.recorded, f"inputs have different numbers of frames: {said}")
        return {
            name: evolve(found[name], recorded=_frames([arrays[each.name] for each in tensors])[:count])
            for name, tensors in models.items()
        }

    def _ranged(self, reference: Reference, tensors: Sequence[TensorEntry]) -> Reference:
        inputs = zip(reference.inputs, tensors, strict=False)
        ranged = [self._range(one, tensor.name) for one, tensor in inputs]
        return evolve(reference, inputs=(*ranged, *reference.inputs[len(ranged) :]))

    def _range(self, one: Input, name: str) -> Input:
        if name not in self.ranges:
            return one
        low, high = self.ranges[name]
        limits = np.iinfo(one.dtype) if one.dtype.kind in "iu" else None
        if low > high or (limits is not None and not limits.min <= low <= high <= limits.max):
            message = f"input `{name}`, which is {one.dtype}, cannot be from {low:g} to {high:g}"
            raise refusal("wrong-range", "input ranges", message, "name the lowest value first")
        return evolve(one, low=low, high=high)


def _tensors(model: ModelEntry, models: int) -> list[TensorEntry]:
    """The inputs of a model, by the names that they have in the bundle."""
    return [evolve(each, name=qualified(model.name, each.name, models)) for each in model.inputs]


def _require_known(names: Mapping[str, object], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            hint = name_hint(name, known, "inputs are")
            raise refusal("wrong-range", "input ranges", f"there is no input `{name}`", hint)


def _arrays(place: Path, tensors: Sequence[TensorEntry]) -> dict[str, Array]:
    """The array of every input, whose first dimension is the frames."""
    arrays = _in_folder(place, tensors) if place.is_dir() else read_archive(place, "recorded inputs are")
    names = [tensor.name for tensor in tensors]
    if sorted(arrays) != sorted(names):
        raise refusal("wrong-input", place, f"the inputs are {listed(names)}; given are {listed(arrays)}")
    return {tensor.name: _stacked(arrays[tensor.name], tensor, place) for tensor in tensors}


def _in_folder(place: Path, tensors: Sequence[TensorEntry]) -> dict[str, Array]:
    files = {tensor.name: place / f"{file_name(tensor.name)}.npy" for tensor in tensors}
    missing = [path.name for path in files.values() if not path.is_file()]
    if missing:
        raise refusal("wrong-input", place, f"the folder has no {listed(missing)}")
    return {name: read_array(path) for name, path in files.items()}


def _stacked(array: Array, tensor: TensorEntry, place: Path) -> Array:
    """The array with a dimension of frames; a leading batch of one may be that dimension."""
    shape = tensor.shape
    if array.shape == shape:
        array = array[np.newaxis]
    elif array.ndim == len(shape) and shape[:1] == (1,) and len(array) > 1:
        array = array[:, np.newaxis]
    if array.ndim != len(shape) + 1 or not len(array):
        raise _unlike(array, tensor, place)
    checked_tensor(array[0], tensor, str(place))
    return array


def _unlike(array: Array, tensor: TensorEntry, place: Path) -> DiagnosticError:
    takes = f"{tensor.dtype}{list(tensor.shape)}"
    message = f"input `{tensor.name}` is {takes}, given is {array.dtype}{list(array.shape)}"
    return refusal("wrong-input", place, message, "put a dimension of frames before those of the input")


def _frames(arrays: Sequence[Array]) -> tuple[Frame, ...]:
    return tuple(tuple(np.ascontiguousarray(each) for each in frame) for frame in zip(*arrays, strict=True))
