"""Compare a bundle with the references that its models came from: of several while they alternate."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from attrs import evolve, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.inputs.cut import WHOLE, ModelCut
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry, TensorEntry
from target_arch.plan.model import model_name
from target_arch.run.bundles.manifest import RecordedFacts, read_manifest, record_facts
from target_arch.run.executables.executable import Executable, build
from target_arch.run.execute.programs import run_frames, run_self_test
from target_arch.run.references.bounded import bounds_of_entries
from target_arch.run.references.find import reference_for
from target_arch.run.references.reference import Frame, Reference
from target_arch.run.tools.toolchain import Compiler
from target_arch.run.verification.inputs import CallersInputs
from target_arch.run.verification.judge import judged, same_model
from target_arch.run.verification.layer import Layers
from target_arch.run.verification.layers import verify_layers
from target_arch.run.verification.result import BY_OPERATOR, Verification

_HOST = "host"
"""The port whose runner can keep frames in flight."""

RANDOM = CallersInputs()
"""Random inputs in the ranges that follow from the model."""


@frozen(kw_only=True)
class OperatorCheck:
    """The only model of a bundle as it was compiled for the host port: its operators are compared one by one
    where the rule of the reference wants that, or `always`.
    """

    planned: Lowered
    always: bool = False


class BuildOptions(TypedDict, total=False):
    """As in `build`."""

    compiler: Compiler | None
    optimize: str | None
    rtl: bool
    firmware: bool


def verify(
    model: Path,
    directory: Path,
    *,
    count: int = 50,
    seed: int = 0,
    record: bool = True,
    **how: Unpack[BuildOptions],
) -> Verification:
    """`verify_models` of a bundle of one model, whatever its name."""
    files = {model.stem: model}
    (found,) = verify_models(files, directory, count=count, seed=seed, record=record, **how).values()
    return found


def verify_models(
    models: Mapping[str, Path],
    directory: Path,
    *,
    count: int = 50,
    seed: int = 0,
    record: bool = True,
    operators: OperatorCheck | None = None,
    inputs: CallersInputs = RANDOM,
    **how: Unpack[BuildOptions],
) -> dict[str, Verification]:
    """Build the bundle in `directory`, run it on `count` random inputs and its own vectors, and compare.

    `models` are the model files by the names that they were compiled under; a single one may be called
    otherwise. With `inputs` frames are the caller's, or random in ranges of theirs. Each model runs once in
    every frame, one after the other; the frames of a model with states are one sequence, from its initial
    states on. `how` is for `build`.

    `operators` are compared one by one, too, where outputs are not equal to the reference's and this rounds
    otherwise. Then they judge, see `BY_OPERATOR`.

    With `record` the results are written into the bundle's manifest. A difference is not an error, see
    `passed`. DiagnosticError where the bundle cannot be built or run, or is of other models; ToolMissing
    without a compiler or without a reference's package.
    """
    files = _by_name(models, read_manifest(directory), directory)
    references = inputs.applied(_references(files, read_manifest(directory)), read_manifest(directory), count)
    count = min([count, *(len(each.recorded) for each in references.values() if each.recorded)])
    executable = build(directory, **how)
    found = compare_models(references, executable, count=count, seed=seed)
    if operators is not None:
        ((name, reference),) = references.items()
        wanted = reference.layers.judges and found[name].equal < found[name].outputs
        if operators.always or wanted:
            every = verify_layers(
                operators.planned, reference, directory, count=count, seed=seed, rtl=how.get("rtl", False)
            )
            found = {name: _with_layers(found[name], every, judges=wanted)}
    if record:
        _record(found, executable)
    return found


def _with_layers(found: Verification, layers: Layers, *, judges: bool) -> Verification:
    if not judges:
        return evolve(found, layers=layers)
    return evolve(found, layers=layers, rule=BY_OPERATOR, allowed=0.0, wrong=0, first_wrong="")


def _references(files: Mapping[str, Path], manifest: Manifest) -> dict[str, Reference]:
    """The references of the models in a bundle, with inputs of its shapes where a file leaves them open."""
    described = {model.name: model for model in manifest.models}
    return {
        name: reference_for(
            path,
            _shapes(described[name]),
            _states(described[name]),
            _values(described[name]),
            _cut(described[name]),
            bounds_of_entries(described[name].outputs),
        )
        for name, path in files.items()
    }


def _shapes(model: ModelEntry) -> list[tuple[int, ...]]:
    """The shapes of the inputs of the model's file, in its order."""
    shapes = [tensor.shape for tensor in model.inputs]
    for pair, shape in sorted((state.pair, state.shape) for state in model.states if state.pair):
        shapes.insert(pair[0], shape)
    return shapes


def compare(
    reference: Reference, executable: Executable, *, count: int = 50, seed: int = 0, lazy: bool = False
) -> Verification:
    """`compare_models` of a built bundle of one model."""
    (model,) = executable.manifest.models
    found = compare_models({model.name: reference}, executable, count=count, seed=seed, lazy=lazy)
    return found[model.name]


def compare_models(
    references: Mapping[str, Reference],
    executable: Executable,
    *,
    count: int = 50,
    seed: int = 0,
    lazy: bool = False,
) -> dict[str, Verification]:
    """Compare a built bundle with the references of its models, by name; see `verify_models`. `lazy` as in
    `run_frames`.
    """
    described = {model.name: model for model in executable.manifest.models}
    for name in described:
        references[name].reset()
    frames = {name: references[name].frames(count, seed) for name in described}
    answers = {name: tuple(references[name].answer(frame) for frame in frames[name]) for name in described}
    for name, each in described.items():
        first: Frame = answers[name][0][0] if answers[name] else ()
        sizes = _sizes(each.inputs), _sizes(each.outputs)
        of = f", model {name}" if len(described) > 1 else ""
        same_model(references[name], sizes, first, f"{executable.directory}{of}")
    packed = [
        b"".join(value.tobytes() for name in described for value in frames[name][number])
        for number in range(count)
    ]
    runs = run_frames(executable, packed, lazy=lazy)
    results = _by_model(described, runs)
    own = run_self_test(executable)
    found = {
        name: judged(
            references[name], results[name], frames[name], answers[name], _names(each), seed=seed, own=own
        )
        for name, each in described.items()
    }
    if executable.manifest.port != _HOST or all(each.frames is None for each in described.values()):
        return found
    flown = run_frames(executable, packed, lazy=lazy, in_flight=True)
    alike = sum(one == other for one, other in zip(runs, flown, strict=True))
    return {name: evolve(each, in_flight=alike) for name, each in found.items()}


def _by_model(described: Mapping[str, ModelEntry], results: Sequence[bytes]) -> dict[str, list[bytes]]:
    """The part of each model of every result."""
    found: dict[str, list[bytes]] = {}
    start = 0
    for name, each in described.items():
        size = sum(_sizes(each.outputs))
        found[name] = [result[start : start + size] for result in results]
        start += size
    return found


def _states(model: ModelEntry) -> list[tuple[int, int]]:
    """The inputs and outputs of the model's file that are states of the bundle, by number."""
    return [(state.pair[0], state.pair[1]) for state in model.states if state.pair is not None]


def _values(model: ModelEntry) -> Mapping[str, float]:
    """The inputs of the model's file that are constants of the bundle."""
    return {} if model.input_shapes is None else model.input_shapes.values


def _cut(model: ModelEntry) -> ModelCut:
    """The part of the model's file that the bundle is."""
    asked = model.input_shapes
    return WHOLE if asked is None else ModelCut(inputs=asked.inputs, outputs=asked.outputs)


def _names(model: ModelEntry) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in model.outputs)


def _sizes(tensors: Sequence[TensorEntry]) -> tuple[int, ...]:
    return tuple(tensor.bytes for tensor in tensors)


def _record(found: Mapping[str, Verification], executable: Executable) -> None:
    """Write the results into the manifest, and the sizes of programs for machines and cores."""
    facts = RecordedFacts(
        verifications=found,
        image=executable.image,
        firmware=tuple(image.entry for image in executable.firmware),
    )
    record_facts(executable.directory, executable.manifest, facts)


def _by_name(models: Mapping[str, Path], manifest: Manifest, directory: Path) -> dict[str, Path]:
    """The model files by their names in the bundle. DiagnosticError where they are of other models."""
    there = [model.name for model in manifest.models]
    if len(there) == len(models) == 1:
        return dict(zip(there, models.values(), strict=True))
    named = {model_name(name): path for name, path in models.items()}
    if sorted(there) == sorted(named) and len(named) == len(models):
        return {name: named[name] for name in there}
    has, given = (", ".join(f"`{name}`" for name in names) for names in (there, models))
    message = f"the bundle has {has}; given are {given}"
    hint = "name the files of all its models, `NAME=FILE` where a file is called otherwise"
    place = str(directory)
    raise DiagnosticError([Diagnostic(rule="another-model", place=place, message=message, hint=hint)])
