"""A bundle in the layout of another tool, as one file."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from target_arch.emit.packages.arduino import arduino_library
from target_arch.emit.packages.carried import carried_by
from target_arch.emit.packages.model_library import model_library
from target_arch.run.bundles.files import read_files

Layout = Literal["arduino", "mlf"]
"""A library for the Arduino IDE, or the shape of TVM's Model Library Format."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can say: the same bundle gives the same bytes."""


@frozen(kw_only=True)
class Archive:
    """A file: the name that it has by default, and its content."""

    name: str
    content: bytes = field(repr=False)


def archived(directory: Path, layout: Layout) -> Archive:
    """The bundle in a folder as an archive. DiagnosticError where a file of it is missing."""
    manifest, files = read_files(directory)
    carried = carried_by(files, manifest)
    if layout == "arduino":
        library = arduino_library(files, carried)
        inside = {f"{carried.name}/{path}": content for path, content in library.items()}
        return Archive(name=f"{carried.name}.zip", content=_zip(inside))
    return Archive(name=f"{carried.name}.tar", content=_tar(model_library(files, carried, manifest)))


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
