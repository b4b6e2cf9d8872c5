"""Manifests of bundles on disk."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.emit.bundle_name import qualified
from target_arch.emit.digests import MANIFEST, digest, is_intact, manifest_text, sealed_text
from target_arch.emit.manifest import SCHEMA
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.image import FirmwareEntry, ImageEntry
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.manifest.verification import VerificationEntry
from target_arch.run.bundles.contents import JOURNAL, is_whole
from target_arch.run.bundles.errors import unwritable
from target_arch.run.bundles.lock import locked
from target_arch.soc.files.json_text import parsed, placed
from target_arch.soc.schema.kinds import Faults
from target_arch.soc.schema.records import read_record, to_json

_RULE = "bad-manifest"
_HINT = "name the folder that `compile` wrote"


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the bundle in that folder; waits for a writer that is replacing it.

    DiagnosticError where there is none, it has another schema or lacks keys, or a writer
    was killed between two bundles.
    """
    if (directory / JOURNAL).exists():
        with locked(directory):
            _refuse_half_written(directory)
    return _read(directory)


def _read(directory: Path) -> Manifest:
    return _judged(directory, *_parsed(directory))


def _parsed(directory: Path) -> tuple[str, dict[str, Any]]:
    """The text of the manifest, and the table that it is."""
    path = directory / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _no_bundle(directory, f"it has no {MANIFEST}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise _no_bundle(directory, f"{MANIFEST} cannot be read: {why}") from error
    table = parsed(text, str(path))
    if not isinstance(table, dict) or not {"soc", "abi_hash"} <= table.keys():
        raise _no_bundle(directory, f"{MANIFEST} is another kind of file")
    if table.get("schema") != SCHEMA:
        raise _another_schema(directory, table)
    return text, table


def _judged(directory: Path, text: str, table: dict[str, Any]) -> Manifest:
    faults: Faults = []
    manifest = read_record(Manifest, table, faults)
    if manifest is None:
        told = placed(faults, str(directory / MANIFEST), text)
        raise DiagnosticError(evolve(each, rule=_RULE, hint="compile the model again") for each in told)
    return manifest


def inputs_of(manifest: Manifest) -> list[TensorEntry]:
    """The inputs of all models, by the names that they have in the bundle."""
    return _qualified(manifest, [model.inputs for model in manifest.models])


def outputs_of(manifest: Manifest) -> list[TensorEntry]:
    """The outputs of all models, by the names that they have in the bundle."""
    return _qualified(manifest, [model.outputs for model in manifest.models])


def _qualified(manifest: Manifest, tensors: Sequence[Sequence[TensorEntry]]) -> list[TensorEntry]:
    models = manifest.models
    return [
        evolve(tensor, name=qualified(model.name, tensor.name, len(models)))
        for model, of_model in zip(models, tensors, strict=True)
        for tensor in of_model
    ]


@contextmanager
def unchanged(directory: Path) -> Iterator[Manifest]:
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
        hint = "give the options and files, such as costs, that it was compiled with, or compile it again"
        raise refusal("another-compilation", directory, message, hint)


@frozen(kw_only=True)
class RecordedFacts:
    """Facts that are known later than a bundle: the verifications of its models by their names, and the sizes
    of its programs.
    """

    verifications: Mapping[str, VerificationEntry] = field(factory=dict)
    image: ImageEntry | None = None
    firmware: tuple[FirmwareEntry, ...] = ()

    def added_to(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The table of a manifest with these facts in place of what it said before."""
        models = [
            {**model, "verification": to_json(self.verifications[model["name"]])}
            if model["name"] in self.verifications
            else model
            for model in table["models"]
        ]
        images = {"image": self.image, "firmware": self.firmware}
        known = {key: to_json(value) for key, value in images.items() if value}
        return {**table, "models": models, **known}


def record_facts(directory: Path, seen: Manifest, facts: RecordedFacts) -> None:
    """Put facts into the manifest of the bundle that `seen` was read from, in one step.

    DiagnosticError where it cannot be written, or another bundle was written there since.
    """
    path = directory / MANIFEST
    temporary = path.with_name(f".{MANIFEST}.{os.getpid()}")
    try:
        with locked(directory):
            _refuse_half_written(directory)
            text, table = _parsed(directory)
            if _files(_judged(directory, text, table)) != _files(seen):
                raise _replaced(directory)
            new = facts.added_to(table)
            # An edited manifest stays recognisable as edited.
            temporary.write_text((sealed_text if is_intact(table) else manifest_text)(new), encoding="utf-8")
            temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _stamps(directory: Path, manifest: Manifest) -> list[tuple[int, int]]:
    """Of every listed file its number and its time in ns; zeros for one that is missing."""
    return [_stamp(directory / path) for path in sorted(_files(manifest))]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _files(manifest: Manifest) -> dict[str, str]:
    """The digests of the other files in the manifest; facts that are recorded later do not change them."""
    return {path: listed for path, listed in manifest.files.items() if path != MANIFEST}


def _refuse_half_written(directory: Path) -> None:
    if (directory / JOURNAL).exists() and not is_whole(directory):
        hint = "compile into it again: that replaces the rest"
        message = "holds files of two bundles: a `compile` was interrupted here"
        raise refusal("half-written", directory, message, hint)


def _no_bundle(directory: Path, why: str) -> DiagnosticError:
    return refusal("not-a-bundle", directory, f"is not a bundle: {why}", _HINT)


def _another_schema(directory: Path, table: Mapping[str, Any]) -> DiagnosticError:
    version = f"schema {table['schema']!r}" if "schema" in table else "no schema"
    message = f"its manifest has {version}, and this version of target-arch reads schema {SCHEMA}"
    return refusal("another-schema", directory, message, "compile the model again, with this version")


def _replaced(directory: Path) -> DiagnosticError:
    message = "was replaced or edited while it was read"
    return refusal("bundle-replaced", directory, message, "run the command again")
