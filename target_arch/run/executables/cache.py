"""The folder in which builds of all bundles share their slow parts."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`target-arch` in the user's folder of caches (`XDG_CACHE_HOME`, `~/.cache` by default). It may be
    deleted at any time.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-arch"
