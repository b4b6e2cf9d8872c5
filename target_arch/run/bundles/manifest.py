"""Manifests of bundles on disk."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.emit.bundle_name import qualified
from target_arch.emit.digests import FILES, MANIFEST, digest, is_intact, manifest_text, sealed
from target_arch.emit.manifest import SCHEMA
from target_arch.run.bundles.contents import JOURNAL, is_whole
from target_arch.run.bundles.errors import unwritable
from target_arch.run.bundles.form import RULE
from target_arch.run.bundles.lock import locked
from target_arch.run.bundles.manifest_form import manifest_faults
from target_arch.soc.faults import Fault
from target_arch.soc.files.json_positions import JsonPositions
from target_arch.soc.files.json_text import parsed

_HINT = "name the folder that `compile` wrote"


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the bundle in that folder; waits for a writer that is replacing it.

    DiagnosticError where there is none, it has another schema or lacks fields that readers need, or a writer
    was killed between two bundles.
    """
    if (directory / JOURNAL).exists():
        with locked(directory):
            _refuse_half_written(directory)
    return _read(directory)


def _read(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _no_bundle(directory, f"it has no {MANIFEST}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise _no_bundle(directory, f"{MANIFEST} cannot be read: {why}") from error
    manifest = parsed(text, str(path))
    if not isinstance(manifest, dict) or not {"soc", "abi_hash"} <= manifest.keys():
        raise _no_bundle(directory, f"{MANIFEST} is another kind of file")
    if manifest.get("schema") != SCHEMA:
        raise _another_schema(directory, manifest)
    faults = manifest_faults(manifest)
    if faults:
        raise DiagnosticError(misformed(faults, str(path), text))
    return manifest


def misformed(faults: Iterable[Fault], shown: str, text: str) -> Iterator[Diagnostic]:
    """The faults at their places in the text of a manifest, which messages call `shown`."""
    positions = JsonPositions(shown, text)
    for fault in faults:
        place = positions.key(fault.path) if fault.at_key else positions.value(fault.path)
        yield Diagnostic(rule=RULE, place=place, message=fault.message, hint="compile the model again")


def has_vectors(manifest: Mapping[str, Any]) -> bool:
    """Whether a model of the bundle has a self-test vector."""
    return any(each["self_test"]["reference"] is not None for each in manifest["models"])


def facts_of_models(
    manifest: Mapping[str, Any], facts: Mapping[str, Mapping[str, object]]
) -> dict[str, object]:
    """Facts about each model of a bundle, by its name, as facts for its manifest."""
    return {"models": [{**each, **facts[each["name"]]} for each in manifest["models"]]}


def tensors_in(manifest: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The `inputs` or `outputs` of all models, by the names that they have in the bundle."""
    models = manifest["models"]
    return [
        {**tensor, "name": qualified(model["name"], tensor["name"], len(models))}
        for model in models
        for tensor in model[kind]
    ]


@contextmanager
def unchanged(directory: Path) -> Iterator[dict[str, Any]]:
    """The manifest, for as long as files of the bundle are read.

    DiagnosticError as `read_manifest`, and afterwards where the bundle was replaced or edited meanwhile.
    """
    manifest = read_manifest(directory)
    before = _stamps(directory, manifest)
    try:
        yield manifest
    finally:
        now = read_manifest(directory)
        if _files(now) != _files(manifest) or _stamps(directory, now) != before:
            raise _replaced(directory)


def require_same(directory: Path, files: Mapping[str, bytes]) -> None:
    """DiagnosticError where the bundle in the folder was not written with these files."""
    listed = _files(read_manifest(directory))
    made = {path: digest(content) for path, content in files.items() if path != MANIFEST}
    other = sorted(path for path in {*listed, *made} if listed.get(path) != made.get(path))
    if other:
        message = (
            f"was compiled with other options, another model or another version: `{other[0]}` is another"
        )
        hint = "give the options that it was compiled with, or compile it again"
        raise refusal("another-compilation", directory, message, hint)


def record_facts(directory: Path, seen: Mapping[str, Any], facts: Mapping[str, object]) -> None:
    """Put facts into the manifest of the bundle that `seen` was read from, in one step.

    DiagnosticError where it cannot be written, or another bundle was written there since.
    """
    path = directory / MANIFEST
    temporary = path.with_name(f".{MANIFEST}.{os.getpid()}")
    try:
        with locked(directory):
            _refuse_half_written(directory)
            now = _read(directory)
            if _files(now) != _files(seen):
                raise _replaced(directory)
            new = {**now, **facts}
            # An edited manifest stays recognisable as edited.
            temporary.write_text(manifest_text(sealed(new) if is_intact(now) else new), encoding="utf-8")
            temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _stamps(directory: Path, manifest: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Of every listed file its number and its time in ns; zeros for one that is missing."""
    return [_stamp(directory / path) for path in sorted(_files(manifest))]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def _files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The digests of the other files in the manifest; facts that are recorded later do not change them."""
    return {path: manifest[FILES][path] for path in manifest.get(FILES, ()) if path != MANIFEST}


def _refuse_half_written(directory: Path) -> None:
    if (directory / JOURNAL).exists() and not is_whole(directory):
        hint = "compile into it again: that replaces the rest"
        message = "holds files of two bundles: a `compile` was interrupted here"
        raise refusal("half-written", directory, message, hint)


def _no_bundle(directory: Path, why: str) -> DiagnosticError:
    return refusal("not-a-bundle", directory, f"is not a bundle: {why}", _HINT)


def _another_schema(directory: Path, manifest: Mapping[str, Any]) -> DiagnosticError:
    found = f"schema {manifest['schema']!r}" if "schema" in manifest else "no schema"
    message = f"its manifest has {found}, and this version of target-arch reads schema {SCHEMA}"
    return refusal("another-schema", directory, message, "compile the model again, with this version")


def _replaced(directory: Path) -> DiagnosticError:
    message = "was replaced or edited while it was read"
    return refusal("bundle-replaced", directory, message, "run the command again")
