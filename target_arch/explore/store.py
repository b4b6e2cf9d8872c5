"""Outcomes on disk by key: a journal of lines, each with a checksum, to which several programs append.

A line that a kill or a full disk cut off counts as not written, and is cut away before the next one. Tests:
`tests/explore/test_store.py`.
"""

import fcntl
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path as File

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.explore.outcome import PointOutcome

_HEAD = b'{"format": "target_arch outcomes", "schema": 1}\n'


class Store:
    """A journal file. Its outcomes are in memory, those of other programs from `refresh` on."""

    def __init__(self, file: File) -> None:
        """Open or make the file, and read it. Raises DiagnosticError for one that is something else."""
        self.file = file
        self._outcomes: dict[str, PointOutcome] = {}
        self._read = 0
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        except OSError as error:
            raise _unwritable(file, error) from error
        self.refresh()

    def __len__(self) -> int:
        return len(self._outcomes)

    def get(self, key: str) -> PointOutcome | None:
        """The outcome of a key; None where it is not known."""
        return self._outcomes.get(key)

    def add(self, key: str, outcome: PointOutcome) -> None:
        """Append an outcome, unless it is there. It survives a kill of this process from here on. Raises
        DiagnosticError where the disk is full: the file is as it was before.
        """
        if key in self._outcomes:
            return
        with self._locked() as file:
            self._take(file)
            end = self._read
            try:
                file.seek(end)
                file.truncate()
                _append(file, (b"" if end else _HEAD) + _line(key, outcome))
            except OSError:
                _cut(file, end)
                raise
            self._read = file.tell()
        self._outcomes[key] = outcome

    def refresh(self) -> None:
        """Read what others have appended. Raises DiagnosticError for a file that is no store."""
        with self._locked() as file:
            self._take(file)

    def _take(self, file: FileIO) -> None:
        """Read whole lines from where the last reading ended."""
        file.seek(self._read)
        rest = file.read()
        if not self._read and rest and not rest.startswith(_HEAD):
            if _HEAD.startswith(rest):
                return
            hint = "name another file"
            raise refusal("not-a-store", self.file, "this file holds no outcomes of `explore`", hint)
        whole, _, _ = rest.rpartition(b"\n")
        for line in whole.split(b"\n") if whole else ():
            entry = _entry(line)
            if entry is not None:
                self._outcomes[entry[0]] = entry[1]
        self._read += len(whole) + 1 if whole else 0

    @contextmanager
    def _locked(self) -> Iterator[FileIO]:
        try:
            with FileIO(self.file, "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except OSError as error:
            raise _unwritable(self.file, error) from error


def _line(key: str, outcome: PointOutcome) -> bytes:
    text = json.dumps({"key": key, **outcome.to_json()}, sort_keys=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def _entry(line: bytes) -> tuple[str, PointOutcome] | None:
    """The key and outcome of a line; None for the first one, and for one that is damaged."""
    checksum, _, text = line.partition(b" ")
    if checksum != f"{zlib.crc32(text):08x}".encode():
        return None
    try:
        values = json.loads(text)
        return values.pop("key"), PointOutcome.from_json(values)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _append(file: FileIO, data: bytes) -> None:
    """Write all of it: a disk that is nearly full takes a part before it refuses."""
    while data:
        data = data[file.write(data) :]


def _cut(file: FileIO, end: int) -> None:
    with suppress(OSError):
        file.truncate(end)


def _unwritable(file: File, error: OSError) -> DiagnosticError:
    said = f"cannot be written: {(error.strerror or str(error)).lower()}"
    hint = "free some space, or name another file: what is stored stays"
    return refusal("store-unwritable", file, said, hint)
