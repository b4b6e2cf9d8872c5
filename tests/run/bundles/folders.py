"""Two bundles to write over each other, and what is in a folder."""

import json
from collections.abc import Mapping
from pathlib import Path

from target_arch.emit import MANIFEST
from target_arch.emit.digests import sealed_text, with_files
from target_arch.plan.bundle import BundleFiles
from tests import tiny_plans


def two_bundles() -> tuple[BundleFiles, BundleFiles]:
    """Of one SoC with two plans, without the C runtime; some files are only in one of them."""
    return _small(tiny_plans.bundle(tiny_plans.on_host())), _small(tiny_plans.bundle(tiny_plans.on_dsp()))


def _small(bundle: BundleFiles) -> BundleFiles:
    manifest = json.loads(bundle.files[MANIFEST])
    files = {path: data for path, data in bundle.files.items() if not path.startswith("runtime/")}
    del files[MANIFEST]
    text = sealed_text(with_files(manifest, files))
    return BundleFiles(name=bundle.name, files={**files, MANIFEST: text.encode()})


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below, with its bytes."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def put(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files as a user does."""
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
