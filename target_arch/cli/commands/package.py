"""`package`: a bundle in the layout of another tool."""

import argparse
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from target_arch.cli.text.output import data, unwritable
from target_arch.diagnostics import refusal

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can say: the same bundle gives the same bytes."""


def package(options: argparse.Namespace) -> int:
    """Write the archive."""
    from target_arch.emit.packages.arduino import arduino_library
    from target_arch.emit.packages.carried import carried_by
    from target_arch.emit.packages.model_library import model_library
    from target_arch.run.bundles.manifest import unchanged

    with unchanged(options.bundle) as manifest:
        names = sorted({*manifest["files"], "manifest.json"})
        files = {name: _content(options.bundle, name) for name in names}
    carried = carried_by(files, manifest)
    if options.layout == "arduino":
        content = _zip(
            {f"{carried.name}/{path}": text for path, text in arduino_library(files, carried).items()}
        )
    else:
        content = _tar(model_library(files, carried, manifest))
    path: Path = options.output or Path(f"{carried.name}{'.zip' if options.layout == 'arduino' else '.tar'}")
    try:
        path.write_bytes(content)
    except OSError as error:
        raise unwritable(path, error) from error
    data(str(path))
    return 0


def _content(bundle: Path, name: str) -> bytes:
    try:
        return (bundle / name).read_bytes()
    except OSError as error:
        hint = "compile again"
        raise refusal("not-a-bundle", bundle, f"is no whole bundle: `{name}` is missing", hint) from error


def _zip(files: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            about = zipfile.ZipInfo(path, _EPOCH)
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, content)
    return held.getvalue()


def _tar(files: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in files.items():
            about = tarfile.TarInfo(f"./{path}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return held.getvalue()
