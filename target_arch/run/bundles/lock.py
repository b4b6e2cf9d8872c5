"""One writer of a folder at a time.

The lock is the system's, on the folder itself (`flock`): it leaves no file behind and ends with its process,
however that ends. A file system that cannot lock folders, as some of networks cannot, does not keep two
writers apart.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from target_arch.diagnostics import refusal

_PATIENCE = 60.0
"""Seconds until a writer that does not end is reported. Writing a bundle takes well under one."""
_PAUSE = 0.002
_TRIES = 100
"""After so many failures none can be made there; before, another writer may have removed it at each try."""
_BUSY = {errno.EAGAIN, errno.EACCES}
_NO_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@contextmanager
def locked(folder: Path, *, make: bool = False, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the folder that the path names at the moment the lock is had; wait for another holder.

    With `make` the folder and its parents are made where they are not there. DiagnosticError after `patience`
    seconds, OSError where there is no such folder, or none can be made.
    """
    end = time.monotonic() + patience
    descriptor, tries = None, 0
    while descriptor is None:
        try:
            if make:
                folder.mkdir(parents=True, exist_ok=True)
            descriptor = _open_locked(folder, end)
        except FileNotFoundError:
            # With `make`: another writer made the folder, failed, and removed it again.
            tries += 1
            if not make or tries == _TRIES:
                raise
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        os.close(descriptor)


def _open_locked(folder: Path, end: float) -> int | None:
    """A descriptor of the locked folder; None where the path names another folder by now."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _acquire(descriptor, folder, end)
        if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _acquire(descriptor: int, folder: Path, end: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            if error.errno not in _BUSY:
                raise
        if time.monotonic() > end:
            hint = "wait until it ends, or name another folder"
            raise refusal("output-busy", folder, "another process is writing this bundle", hint)
        time.sleep(_PAUSE)
