"""Compare a bundle of several models with the reference of each, while the models alternate."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.run.bundles.manifest import models_in, read_manifest, record_facts
from target_arch.run.executables.executable import Executable, build
from target_arch.run.execute.programs import run_frames, run_self_test
from target_arch.run.references.find import reference_for
from target_arch.run.references.reference import Frame, Reference
from target_arch.run.tools.toolchain import Compiler
from target_arch.run.verification.one import judged, same_model
from target_arch.run.verification.result import Verification


def verify_models(
    models: Mapping[str, Path],
    directory: Path,
    *,
    count: int = 50,
    seed: int = 0,
    record: bool = True,
    compiler: Compiler | None = None,
    rtl: bool = False,
    firmware: bool = False,
) -> dict[str, Verification]:
    """As `verify`, for the model files of a bundle by the names that they have in it.

    Each model runs once in every frame, one after the other. Raises as `verify`, and where the names are not
    those of the bundle.
    """
    manifest = read_manifest(directory)
    _same_names(models, manifest, directory)
    references = {each["model"]: reference_for(models[each["model"]]) for each in models_in(manifest)}
    executable = build(directory, compiler=compiler, rtl=rtl, firmware=firmware)
    found = compare_models(references, executable, count=count, seed=seed)
    if record:
        seen = executable.manifest
        each = [{**model, "verification": found[model["model"]].to_json()} for model in models_in(seen)]
        image = {} if executable.image is None else {"image": executable.image.to_json()}
        record_facts(directory, seen, {"models": each, **image})
    return found


def compare_models(
    references: Mapping[str, Reference],
    executable: Executable,
    *,
    count: int = 50,
    seed: int = 0,
    lazy: bool = False,
) -> dict[str, Verification]:
    """Compare a built bundle with the references of its models, by name; see `verify_models`."""
    described = models_in(executable.manifest)
    frames = {name: references[name].frames(count, seed) for name in references}
    answers = {name: tuple(references[name].answer(frame) for frame in frames[name]) for name in references}
    for each in described:
        name = each["model"]
        sizes = _sizes(each, "inputs"), _sizes(each, "outputs")
        first: Frame = answers[name][0][0] if answers[name] else ()
        same_model(references[name], sizes, first, f"{executable.directory}, model {name}")
    names = [each["model"] for each in described]
    packed = [
        b"".join(value.tobytes() for name in names for value in frames[name][number])
        for number in range(count)
    ]
    results = _by_model(described, run_frames(executable, packed, lazy=lazy))
    own = run_self_test(executable)
    return {
        name: judged(references[name], results[name], answers[name], seed=seed, own=own) for name in names
    }


def _by_model(described: Sequence[Mapping[str, Any]], results: Sequence[bytes]) -> dict[str, list[bytes]]:
    """The part of each model of every result."""
    found: dict[str, list[bytes]] = {}
    start = 0
    for each in described:
        size = sum(_sizes(each, "outputs"))
        found[each["model"]] = [result[start : start + size] for result in results]
        start += size
    return found


def _sizes(model: Mapping[str, Any], kind: str) -> tuple[int, ...]:
    return tuple(tensor["bytes"] for tensor in model[kind])


def _same_names(models: Mapping[str, Path], manifest: Mapping[str, Any], directory: Path) -> None:
    """DiagnosticError where the models named are not those of the bundle."""
    there = [each["model"] for each in models_in(manifest)]
    if sorted(there) == sorted(models) and "models" in manifest:
        return
    has, given = (", ".join(f"`{name}`" for name in names) for names in (there, models))
    message = f"the bundle has {has}; given are {given}"
    hint = "name the files of all its models, `NAME=FILE` where a file is called otherwise"
    place = str(directory)
    raise DiagnosticError([Diagnostic(rule="another-model", place=place, message=message, hint=hint)])
