"""Replace a folder that holds a bundle and nothing else in one step: there is no moment without a bundle.

The new folder is written beside the old one and the two change names (`renameat2` with `RENAME_EXCHANGE`,
Linux). A folder beside the old one is called after its own inode number, so that after a kill its name tells
whether it was exchanged: then it is the old bundle, otherwise the unfinished new one.
"""

import ctypes
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.digests import MANIFEST
from target_arch.run.bundles.contents import BUILD, JOURNAL, Claims, claims_of, is_claimed
from target_arch.run.bundles.lock import locked

_HERE = -100
_EXCHANGE = 2
_CANNOT = {
    errno.EACCES, errno.EBUSY, errno.EINVAL, errno.EMLINK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM,
    errno.EROFS, errno.EXDEV,
}  # fmt: skip
"""Answers of a system that cannot link, exchange, or write beside the folder, as opposed to a full disk."""


def replace_whole(files: Mapping[str, bytes], folder: Path, claims: Claims) -> bool:
    """Make the bundle in `folder` this one, at once; objects and programs in `build` stay.

    False where the system cannot do that, or a foreign file appeared there meanwhile; then the folder is as
    it was. OSError likewise; DiagnosticError as `dissolve`.
    """
    if not _may_exchange(folder):
        return False
    staged = None
    try:
        staged = _beside(folder)
        _write(files, staged)
        _link_build(folder, staged)
        with locked(staged):
            return _take_place(staged, folder, claims)
    except BaseException as error:
        # Once they are exchanged the lock of this folder is another's: `_take_place` has swept by then.
        if staged is None or (staged.exists() and _is_unfinished(staged)):
            _swept(folder)
        if isinstance(error, OSError) and error.errno in _CANNOT:
            return False
        raise


def _take_place(staged: Path, folder: Path, claims: Claims) -> bool:
    """Exchange the folders and remove the old one, also after an interrupt; False where it is taken back."""
    try:
        _exchange(staged, folder)
        if _unknown(staged, folder, claims):
            _exchange(staged, folder)
            shutil.rmtree(staged)
            return False
        dissolve(staged, folder, claims)
    except BaseException:
        _swept(folder)
        raise
    return True


def _swept(folder: Path) -> None:
    """Sweep as far as that is possible: the reason to do so is what gets reported."""
    with suppress(OSError, DiagnosticError):
        sweep(folder)


def sweep(folder: Path) -> None:
    """Remove the files that killed writers of this folder left beside it; its lock has to be held.

    DiagnosticError as `dissolve`.
    """
    pattern = re.compile(re.escape(_prefix(folder)) + "[a-z0-9_]+")
    for name in sorted(filter(pattern.fullmatch, os.listdir(folder.parent))):
        left = folder.parent / name
        if _is_unfinished(left):
            shutil.rmtree(left)
        else:
            dissolve(left, folder, claims_of(left))


def dissolve(old: Path, folder: Path, claims: Claims) -> None:
    """Remove an exchanged bundle: its files, and links to the new folder.

    DiagnosticError where there is anything else: it stays.
    """
    unknown = set(_unknown(old, folder, claims))
    kept = {place for place in unknown if not place.is_relative_to(old / BUILD)}
    last = {old / MANIFEST, old / JOURNAL}
    for place in sorted({*_files(old)} - kept - last):
        place.unlink()
    for below in sorted((path for path in old.rglob("*") if path.is_dir()), reverse=True):
        if below != (old / JOURNAL).parent and not os.listdir(below):
            below.rmdir()
    if kept:
        raise _left_over(kept)
    # Manifest and journal go last: if this is killed, they still list the files that may be removed.
    (old / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree((old / JOURNAL).parent, ignore_errors=True)
    old.rmdir()


def _may_exchange(folder: Path) -> bool:
    """Whether another folder may take its place: this process owns it and is not in it; no mount point."""
    try:
        inside = Path.cwd().is_relative_to(folder)
    except FileNotFoundError:
        inside = False
    return not inside and not folder.is_mount() and folder.stat().st_uid == os.geteuid()


def _prefix(folder: Path) -> str:
    return f".{folder.name}.target_arch-"


def _beside(folder: Path) -> Path:
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder)))
    named = made.with_name(f"{_prefix(folder)}{made.stat().st_ino}")
    made.rename(named)
    shutil.copystat(folder, named)
    return named


def _is_unfinished(beside: Path) -> bool:
    """Whether it has not been exchanged: its name is its own number, or it has none yet and is empty."""
    number = beside.name.rpartition("-")[2]
    return number == str(beside.stat().st_ino) or not any(beside.iterdir())


def _write(files: Mapping[str, bytes], staged: Path) -> None:
    for path in sorted(files):
        file = staged / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(files[path])


def _link_build(folder: Path, staged: Path) -> None:
    """Give the new folder the objects and programs of the old one."""
    build = folder / BUILD
    if build.is_symlink():
        os.link(build, staged / BUILD, follow_symlinks=False)
    elif build.is_dir():
        shutil.copytree(build, staged / BUILD, symlinks=True, copy_function=_link)


def _link(source: str, target: str) -> None:
    os.link(source, target, follow_symlinks=False)


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change names. OSError where the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unknown(old: Path, folder: Path, claims: Claims) -> list[Path]:
    """Files of an exchanged folder that are neither the old bundle's nor in the new folder too."""
    return [
        place
        for place in _files(old)
        if not is_claimed(old, place.relative_to(old).as_posix(), claims)
        and not _is_linked(place, folder / place.relative_to(old))
    ]


def _is_linked(place: Path, other: Path) -> bool:
    return os.path.lexists(other) and os.path.samestat(place.lstat(), other.lstat())


def _files(folder: Path) -> Iterator[Path]:
    """Everything in it that is no folder, except the files that a writer in place keeps there."""
    for place in folder.rglob("*"):
        is_folder = place.is_dir() and not place.is_symlink()
        if not is_folder and not place.is_relative_to((folder / JOURNAL).parent):
            yield place


def _left_over(places: Iterable[Path]) -> DiagnosticError:
    message = "was saved here while the folder was replaced, and is in no bundle"
    hint = "move it to the folder where it belongs, and compile again"
    return DiagnosticError(
        [
            Diagnostic(rule="output-left-over", place=str(place), message=message, hint=hint)
            for place in sorted(places)
        ]
    )
