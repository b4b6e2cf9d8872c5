"""The folder in which builds of all bundles share their slow parts, as long as builds use them.

Tests: `tests/run/executables/test_cache.py`.
"""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

KEPT_DAYS = 60
"""An entry that no build used for so many days is removed by the next build."""


def cache_folder() -> Path:
    """`target-arch` in the user's folder of caches (`XDG_CACHE_HOME`, `~/.cache` by default). It may be
    deleted at any time.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-arch"


def use(entry: Path, *parts: Path) -> bool:
    """True if an entry is there; then it and its parts count as used now."""
    if not entry.exists():
        return False
    for path in (entry, *(part for part in parts if part.exists())):
        with suppress(OSError):  # another user's
            os.utime(path)
    return True


def remove_unused(folder: Path) -> None:
    """Remove the entries of a folder, files or folders, that no build used for `KEPT_DAYS` days. An entry
    that cannot be removed stays; one that is removed in part has another name by then.
    """
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for entry in list(os.scandir(folder)):  # thousands of entries, at every build
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime >= oldest:
                continue
            if entry.is_dir(follow_symlinks=False):
                leaving = f"{entry.path}.{os.getpid()}.tmp"
                os.rename(entry.path, leaving)
                shutil.rmtree(leaving)
            else:
                os.unlink(entry.path)
