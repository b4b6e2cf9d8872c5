"""The files of a bundle on disk."""

from pathlib import Path

from target_arch.diagnostics import refusal
from target_arch.emit.digests import MANIFEST
from target_arch.plan.manifest.bundle import Manifest
from target_arch.run.bundles.manifest import unchanged


def read_files(directory: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest of the bundle in a folder, and its files by their paths. DiagnosticError where one is
    missing, or the bundle was replaced meanwhile.
    """
    with unchanged(directory) as manifest:
        return manifest, {path: _content(directory, path) for path in sorted({*manifest.files, MANIFEST})}


def _content(bundle: Path, path: str) -> bytes:
    try:
        return (bundle / path).read_bytes()
    except OSError as error:
        text = f"is no whole bundle: `{path}` is missing"
        raise refusal("not-a-bundle", bundle, text, "compile again") from error
