"""Objects, kept by the hash of everything that goes into them: the command, the compiler, the source, and the
headers that it includes.

So a second build, or one of a bundle that differs in a line, compiles only changed files. The sources of the
C runtime are alike in all bundles: their objects are kept for all of them, while builds use them (`cache`).

Tests: `tests/run/executables/test_objects.py`.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.libraries import QUIET
from target_arch.run.bundles.errors import unwritable
from target_arch.run.executables.cache import cache_folder, remove_unused, use
from target_arch.run.executables.libraries import Libraries

_RUNTIME = "runtime/"
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)
_INCBIN = re.compile(rb'\.incbin \\"([^"\\]+)')
_COMPUTED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]+\w", re.MULTILINE)
"""The name of the header comes from a macro."""

_TIMEOUT = 600.0
_SHOWN_LINES = 20


@frozen(kw_only=True)
class Objects:
    """The objects of the bundle in `directory`, made by `command`, a compiler of that `version`.

    `folder` keeps objects of the bundle's own sources. `headers` are all headers of the bundle, and of
    libraries elsewhere.
    """

    directory: Path
    command: tuple[str, ...]
    version: str
    folder: Path
    foreign: Libraries
    headers: Sequence[Path] = field(repr=False)

    def made(self, sources: Sequence[str]) -> dict[str, Path]:
        """The object of each source (a path in the bundle), compiled where it is not there yet.

        DiagnosticError where the folder cannot be written or the compiler refuses a source.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        shared = _shared_folder() or self.folder
        folders = [shared if source.startswith(_RUNTIME) else self.folder for source in sources]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            made = dict(zip(sources, pool.map(self._object, sources, folders), strict=True))
        if shared != self.folder:
            remove_unused(shared)
        return made

    def _object(self, source: str, folder: Path) -> Path:
        made = folder / f"{Path(source).stem}-{self._key(source)}.o"
        if not use(made, made.with_suffix(".ci")):
            temporary = made.with_suffix(f".{os.getpid()}.tmp")
            own = (*self.command, QUIET) if self.foreign.is_foreign(source) else self.command
            run_compiler((*own, "-c", "-o", str(temporary.absolute()), source), self.directory, temporary)
            calls = temporary.with_suffix(".ci")
            if calls.exists():
                calls.replace(made.with_suffix(".ci"))
            temporary.replace(made)
        return made

    def _key(self, source: str) -> str:
        key = hashlib.sha256("\0".join((*self.command, self.version, source)).encode())
        inside = str(self.directory)
        for name, content in sorted(
            (str(path).removeprefix(inside), read) for path, read in self._read(source)
        ):
            key.update(f"\0{name}\0{len(content)}\0".encode() + content)
        return key.hexdigest()[:24]

    def _read(self, source: str) -> Iterator[tuple[Path, bytes]]:
        """The source and every header that it may include, with their contents. A header of the system counts
        as part of the compiler.
        """
        folders = [self.directory / name for name in _include_folders(self.command)]
        left, seen = [self.directory / source], set[Path]()
        while left:
            path = left.pop()
            if path not in seen:
                seen.add(path)
                content = path.read_bytes()
                yield path, content
                names = map(os.fsdecode, (*_INCLUDE.findall(content), *_INCBIN.findall(content)))
                places = (folder / name for name in names for folder in (path.parent, *folders))
                left += [place for place in places if place.is_file()]
                left += self.headers if _COMPUTED.search(content) else ()


def run_compiler(command: Sequence[str], directory: Path, output: Path) -> None:
    """Run a compiler in a folder. DiagnosticError where it refuses its input: then there is no `output`."""
    try:
        answer = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        output.unlink(missing_ok=True)
        raise _failed(directory, f"the C compiler did not end within {_TIMEOUT:.0f} s") from None
    if answer.returncode != 0:
        output.unlink(missing_ok=True)
        said = "\n".join(answer.stderr.strip().splitlines()[:_SHOWN_LINES])
        raise _failed(directory, f"the C compiler refuses the bundle:\n{said}")


def _shared_folder() -> Path | None:
    """The folder of the runtime's objects; None where this user has no folder of caches to write to."""
    folder = cache_folder() / "runtime"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _include_folders(command: Sequence[str]) -> Iterator[str]:
    for word, following in pairwise((*command, "")):
        if word in ("-I", "-isystem"):
            yield following
        elif word.startswith("-I"):
            yield word[2:]


def _failed(directory: Path, message: str) -> DiagnosticError:
    hint = "the files may have been edited, or mixed from two bundles; `compile` writes them again"
    return DiagnosticError(
        [Diagnostic(rule="build-failed", place=str(directory), message=message, hint=hint)]
    )
