"""The files of a folder that belong to a bundle, and foreign files.

A file belongs to a bundle if the manifest lists it and it has the bytes listed there. `Claims` says so for
one folder: path → digests of which one is the file's. A path has several where a writer died between the old
and the new file; its journal lists both.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.digests import FILES, MANIFEST, digest, sealed_text
from target_arch.soc.files.json_text import parsed
from target_arch.soc.schema.kinds import Faults
from target_arch.soc.schema.records import kind_of

Claims = Mapping[str, frozenset[str]]

JOURNAL = ".target_arch-replacing/journal.json"
"""The journal of a writer that replaces files one by one; present until it ends."""
BUILD = "build"
"""The folder for objects and programs, made by `build`, the Makefile and other builds of a bundle."""


def claims_of(folder: Path) -> Claims:
    """The claims of the bundle there; empty without a bundle, or with one that lists no files."""
    found = {path: frozenset(allowed) for path, allowed in _journal(folder).items()}
    for path, own in _listed(folder).items():
        found[path] = found.get(path, frozenset()) | {own}
    return found


def _listed(folder: Path) -> dict[str, str]:
    """The files that the manifest lists, itself too, with their digests; an edited manifest has none."""
    text, manifest = _manifest(folder)
    listed = manifest.get(FILES)
    if not isinstance(listed, Mapping):
        return {}
    files = listed.items()
    found = {path: own for path, own in files if _is_inside(path) and isinstance(own, str)}
    is_own = sealed_text(manifest).encode() == text
    return {**found, MANIFEST: digest(text) if is_own else ""}


def is_whole(folder: Path) -> bool:
    """Whether a folder with a journal has every file of its manifest, as written, and none besides that the
    journal lists: its writer died before its first change, or after the last one.
    """
    journal, listed = _journal(folder), _listed(folder)
    other = any(_at(folder, path) == folder / path for path in journal if path not in listed)
    own = {path: frozenset({expected}) for path, expected in listed.items()}
    return bool(journal and own) and not other and all(is_claimed(folder, path, own) for path in own)


def is_claimed(folder: Path, path: str, claims: Claims) -> bool:
    """Whether the file is the bundle's and as it was written. False where it is missing."""
    return path in claims and _content(folder, path, _at(folder, path)) in claims[path]


def obstacles(folder: Path, claims: Claims, new: Mapping[str, bytes]) -> list[Diagnostic]:
    """One message for each edited file of the bundle, and for each foreign file in the way of `new`.

    A file with the bytes that it would get is neither.
    """
    found: dict[Path, Diagnostic] = {}
    for path in sorted({*claims, *new}):
        place = _at(folder, path)
        content = _content(folder, path, place)
        expected = {*claims.get(path, ()), *([digest(new[path])] if path in new else ())}
        if place is None or content in expected:
            continue
        if content is not None and path in claims:
            found[place] = _edited(place)
        elif path in new:
            found[place] = _in_the_way(place)
    return [found[place] for place in sorted(found)]


def has_others(folder: Path, claims: Claims) -> bool:
    """Whether there is anything besides the bundle's files and their folders, `build` and the journal's."""
    parents = {str(parent) for path in claims for parent in PurePosixPath(path).parents}
    return any(
        path not in claims and not (is_folder and path in parents)
        for path, is_folder in _entries(folder, folder, parents)
    )


def _entries(folder: Path, below: Path, parents: set[str]) -> Iterator[tuple[str, bool]]:
    """Paths below the folder, and whether they are folders. Foreign folders are not searched."""
    own = {BUILD, PurePosixPath(JOURNAL).parts[0]}
    with os.scandir(below) as entries:
        for entry in entries:
            path = Path(entry.path).relative_to(folder).as_posix()
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and path in own:
                continue
            yield path, is_folder
            if is_folder and path in parents:
                yield from _entries(folder, below / entry.name, parents)


def _at(folder: Path, path: str) -> Path | None:
    """The path, or the first of its parents that is a file or a link; None if nothing exists there."""
    place = folder
    for part in PurePosixPath(path).parts:
        place = place / part
        if not os.path.lexists(place):
            return None
        if place.is_symlink() or not place.is_dir():
            break
    return place


def _content(folder: Path, path: str, place: Path | None) -> str | None:
    """The digest of the file at the path, where `place` is it; None for anything else."""
    if place is None or place != folder / path or place.is_symlink() or not place.is_file():
        return None
    return digest(place.read_bytes())


def _manifest(folder: Path) -> tuple[bytes, Mapping[str, object]]:
    try:
        text = (folder / MANIFEST).read_bytes()
        found = parsed(text.decode(), MANIFEST)
    except (OSError, ValueError, DiagnosticError):
        return b"", {}
    return text, found if isinstance(found, dict) else {}


def _journal(folder: Path) -> dict[str, Iterable[str]]:
    """The digests that files may have; nothing of a journal that is damaged, so that nothing is replaced."""
    try:
        found = parsed((folder / JOURNAL).read_text(encoding="utf-8"), JOURNAL)
    except (FileNotFoundError, ValueError, DiagnosticError):
        return {}
    faults: Faults = []
    kind_of(Mapping[str, tuple[str, ...]]).read((JOURNAL,), found, faults)
    if faults:
        return {}
    return {path: allowed for path, allowed in found.items() if _is_inside(path)}


def _is_inside(path: str) -> bool:
    """Whether a listed path stays in its folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and "\0" not in path and not path.startswith("/") and ".." not in parts


def _edited(place: Path) -> Diagnostic:
    return Diagnostic(
        rule="output-edited",
        place=str(place),
        message="was edited since `compile` wrote it, and would be lost",
        hint="move your version out of the bundle and delete this one, or name another folder",
    )


def _in_the_way(place: Path) -> Diagnostic:
    return Diagnostic(
        rule="output-in-the-way",
        place=str(place),
        message="is not a file that `compile` recorded here, and the new bundle has one of this name",
        hint="move or delete it, or name another folder",
    )
