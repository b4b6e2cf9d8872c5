"""Inputs of a verification that the caller has: recorded frames from files, and ranges of random values."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from target_arch.diagnostics import refusal
from target_arch.emit.bundle_name import qualified
from target_arch.plan.input_range import NO_RANGES, Ends, InputRange, named
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry, TensorEntry
from target_arch.run.references.reference import Reference, promised
from target_arch.run.verification.recorded import RecordedPlaces, read_record

_PLACE = "input ranges"


@frozen(kw_only=True)
class CallersInputs:
    """`recorded` is an `.npz` file with an array for each input by its name, or a folder with an `.npy` file
    for each; arrays have one dimension more than the input, the frames, or are of one frame. `expected` has
    arrays of outputs likewise, all or some, `labels` is an `.npy` file with the class of each frame; both may
    be in the archive of the inputs, the latter as `labels`. `ranges` are the lowest and highest random value
    of inputs. Of several models, names are `MODEL.INPUT`.
    """

    recorded: Path | None = None
    expected: Path | None = None
    labels: Path | None = None
    ranges: Mapping[str, Ends] = NO_RANGES

    def applied(
        self, references: Mapping[str, Reference], manifest: Manifest, count: int
    ) -> dict[str, Reference]:
        """The references with these inputs; of recorded frames the first `count`.

        DiagnosticError for a name that no model has, for arrays of other shapes or types, for different
        numbers of frames, and for outputs or labels without inputs.
        """
        models = {model.name: _tensors(model, len(manifest.models)) for model in manifest.models}
        asked = named(self.ranges, [each.name for each in _every(models)], _PLACE)
        found = {
            name: promised(references[name], [_range(each, asked.get(each.name)) for each in tensors])
            for name, tensors in models.items()
        }
        if self.recorded is None:
            _require_no_results(self.expected, self.labels)
            return found
        outputs = {model.name: _outputs(model, len(manifest.models)) for model in manifest.models}
        places = RecordedPlaces(inputs=self.recorded, expected=self.expected, labels=self.labels)
        record = read_record(places, _every(models), _every(outputs))
        if record.labels and len(models) > 1:
            raise refusal("wrong-labels", "labels", "labels are of one model, and there are several", None)
        return {
            name: evolve(
                found[name],
                recorded=record.frames([each.name for each in tensors])[:count],
                expected=record.expected([each.name for each in outputs[name]])[:count],
                labels=record.labels[:count],
            )
            for name, tensors in models.items()
        }


def _range(tensor: TensorEntry, ends: Ends | None) -> InputRange | None:
    """The range of random values: that which was asked for, else that which was promised."""
    promise = tensor.promised
    if ends is None:
        return promise
    asked = InputRange.of(str(tensor.name), tensor.dtype, ends, _PLACE)
    if promise is not None and not promise.low <= asked.low <= asked.high <= promise.high:
        message = f"input `{tensor.name}` was promised to be {promise}, not {asked}"
        raise refusal("wrong-range", _PLACE, message, "results are right for values that were promised alone")
    return asked


def _require_no_results(*places: Path | None) -> None:
    for place in places:
        if place is not None:
            text = "there are no recorded inputs that it belongs to"
            raise refusal("wrong-input", place, text, "give recorded inputs, too")


def _every(tensors: Mapping[str, Sequence[TensorEntry]]) -> list[TensorEntry]:
    return [each for of_model in tensors.values() for each in of_model]


def _outputs(model: ModelEntry, models: int) -> list[TensorEntry]:
    """As `_tensors`, the outputs."""
    return [evolve(each, name=qualified(model.name, each.name, models)) for each in model.outputs]


def _tensors(model: ModelEntry, models: int) -> list[TensorEntry]:
    """The inputs of a model, by the names that they have in the bundle."""
    return [evolve(each, name=qualified(model.name, each.name, models)) for each in model.inputs]
