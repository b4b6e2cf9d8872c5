"""Bundles to and from disk: whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit import MANIFEST, manifest_text
from target_arch.plan.bundle import Bundle

_KEYS = frozenset({"soc", "model", "abi_hash", "steps"})
_KEYS_OF_SEVERAL = frozenset({"soc", "models", "abi_hash", "arenas"})


def write_bundle(bundle: Bundle, directory: Path) -> None:
    """Write every file below `directory`, which is afterwards exactly the bundle.

    Replaces an empty folder or an older bundle, creates parent folders, and leaves everything as it was when
    it fails. DiagnosticError where the folder holds something else or cannot be written.
    """
    target = directory.absolute()
    created: tuple[Path, ...] = ()
    try:
        _refuse_other(target)
        created = _missing_parents(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(bundle, target)
    except OSError as error:
        for parent in created:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        raise unwritable(directory, error) from error


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the bundle in that folder. DiagnosticError where there is none, or it is not one."""
    hint = "name the folder that `compile` wrote"
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _error("not-a-bundle", directory, f"is not a bundle: it has no {MANIFEST}", hint) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise _error(
            "not-a-bundle", directory, f"is not a bundle: {MANIFEST} cannot be read", hint
        ) from error
    known = isinstance(manifest, dict) and any(manifest.keys() >= keys for keys in (_KEYS, _KEYS_OF_SEVERAL))
    if not known:
        raise _error("not-a-bundle", directory, f"is not a bundle: {MANIFEST} is another kind of file", hint)
    found: dict[str, Any] = manifest
    return found


def models_in(manifest: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The manifest of every model of a bundle, in their order; of a bundle of one, that."""
    return tuple(manifest["models"]) if "models" in manifest else (manifest,)


def tensors_in(manifest: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The `inputs` or `outputs` of all models; where there are several, named `model.tensor`."""
    if "models" not in manifest:
        return list(manifest[kind])
    return [
        {**tensor, "name": f"{model['model']}.{tensor['name']}"}
        for model in manifest["models"]
        for tensor in model[kind]
    ]


def write_manifest(directory: Path, manifest: Mapping[str, object]) -> None:
    """Replace the manifest of a bundle in one step. DiagnosticError where it cannot be written."""
    path = directory / MANIFEST
    temporary = path.with_name(f".{MANIFEST}.{os.getpid()}")
    try:
        temporary.write_text(manifest_text(manifest), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> DiagnosticError:
    """The error for a file or folder that the system does not let us write."""
    hint = "name a folder that you may write to"
    return _error("output-unwritable", path, f"cannot be written: {error.strerror}", hint)


def _refuse_other(target: Path) -> None:
    hint = "name a new folder, an empty one, or one that holds a bundle"
    if target.is_file():
        raise _error("output-not-a-folder", target, "is a file", hint)
    if not target.is_dir() or not any(target.iterdir()):
        return
    try:
        read_manifest(target)
    except DiagnosticError:
        raise _error("output-not-a-bundle", target, "holds files that are not a bundle", hint) from None


def _missing_parents(target: Path) -> tuple[Path, ...]:
    """The parents that do not exist yet, innermost first."""
    return tuple(parent for parent in target.parents if not parent.exists())


def _replace(bundle: Bundle, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as work:
        fresh = Path(work) / "new"
        for path in sorted(bundle.files):
            file = fresh / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bundle.files[path])
        if not target.exists():
            fresh.rename(target)
            return
        old = Path(work) / "old"
        target.rename(old)
        try:
            fresh.rename(target)
        except OSError:
            old.rename(target)
            raise
        shutil.rmtree(old)


def _error(rule: str, place: Path, message: str, hint: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place=str(place), message=message, hint=hint)])
