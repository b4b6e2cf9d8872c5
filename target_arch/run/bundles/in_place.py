"""Replace the files of a bundle one by one, in a folder with foreign files.

No foreign file is opened, moved or linked. New files are complete in a folder of their own before the first
is moved to its place, the manifest last. While files of two bundles are there together, a journal says so,
and lists the digests of both: readers refuse the folder, and the next writer knows which files it may
replace.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from target_arch.emit.digests import MANIFEST, digest
from target_arch.run.bundles.contents import JOURNAL, Claims, is_claimed


def replace_in_place(files: Mapping[str, bytes], folder: Path, claims: Claims) -> None:
    """Make the bundle in `folder` this one. OSError leaves it as it was, or with the journal."""
    changed = [path for path in files if not _has(folder, path, files[path])]
    gone = sorted(path for path in claims if path not in files and is_claimed(folder, path, claims))
    journal = folder / JOURNAL
    if not (changed or gone or journal.parent.exists()):
        return
    staged = journal.parent / "new"
    try:
        _stage({path: files[path] for path in changed}, staged)
        _announce(journal, files, claims)
    except BaseException:
        shutil.rmtree(staged if journal.exists() else journal.parent, ignore_errors=True)
        raise
    for path in sorted(path for path in changed if path != MANIFEST):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).replace(folder / path)
    _remove(gone, folder)
    if MANIFEST in changed:
        (staged / MANIFEST).replace(folder / MANIFEST)
    journal.unlink()
    shutil.rmtree(journal.parent)


def _has(folder: Path, path: str, content: bytes) -> bool:
    return is_claimed(folder, path, {path: frozenset({digest(content)})})


def _stage(files: Mapping[str, bytes], staged: Path) -> None:
    if staged.exists():
        shutil.rmtree(staged)
    staged.mkdir(parents=True)
    for path in sorted(files):
        (staged / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).write_bytes(files[path])


def _announce(journal: Path, files: Mapping[str, bytes], claims: Claims) -> None:
    """Write the journal: every file of the old bundle and of the new, with the digests it may have."""
    allowed = {path: set(claims[path]) for path in claims}
    for path in files:
        allowed.setdefault(path, set()).add(digest(files[path]))
    text = json.dumps({path: sorted(allowed[path]) for path in sorted(allowed)})
    temporary = journal.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(journal)


def _remove(paths: list[str], folder: Path) -> None:
    """Remove files, and the folders that are empty then."""
    for path in paths:
        (folder / path).unlink()
        for parent in (folder / path).parents:
            if parent == folder or os.listdir(parent):
                break
            parent.rmdir()
