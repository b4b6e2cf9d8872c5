"""Bundles to disk: whole or not at all, beside foreign files in the folder."""

import os
from collections.abc import Iterable
from pathlib import Path

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.plan.bundle import BundleFiles
from target_arch.run.bundles.contents import claims_of, has_others, obstacles
from target_arch.run.bundles.errors import unwritable
from target_arch.run.bundles.exchange import replace_whole, sweep
from target_arch.run.bundles.in_place import replace_in_place
from target_arch.run.bundles.lock import locked


def write_bundle(bundle: BundleFiles, directory: Path) -> None:
    """Write the bundle; afterwards its files are in that folder, and none of a bundle that was there before.

    Creates the folder and its parents, follows a symbolic link, waits for another writer. Files that are no
    bundle's stay as they are. A folder with nothing but a bundle is exchanged in one step where the system
    can; otherwise files are replaced one by one, and readers know when they are of two bundles.

    DiagnosticError, and nothing is changed, where a file of the old bundle was edited, a foreign file is in
    the way, or the folder cannot be written.
    """
    target = Path(os.path.realpath(directory))
    if target.is_file():
        raise refusal("output-not-a-folder", directory, "is a file", "name a folder")
    missing = [path for path in (target, *target.parents) if not path.exists()]
    try:
        with locked(target, make=True):
            try:
                _write(bundle, target)
            except BaseException:
                _remove_empty(missing[:1])
                raise
    except OSError as error:
        raise unwritable(directory, error) from error
    finally:
        _remove_empty(missing[1:])


def _write(bundle: BundleFiles, target: Path) -> None:
    sweep(target)
    claims = claims_of(target)
    found = obstacles(target, claims, bundle.files)
    if found:
        raise DiagnosticError(found)
    if has_others(target, claims) or not replace_whole(bundle.files, target, claims):
        replace_in_place(bundle.files, target, claims)


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that were made for nothing, innermost first."""
    for folder in folders:
        if folder.is_dir() and not os.listdir(folder):
            folder.rmdir()
