"""Whether a name that somebody wrote is that of a file."""

from pathlib import Path


def is_file(path: Path) -> bool:
    """True where there is such a file; False also for a name that is too long for any, at which pathlib
    raises.
    """
    try:
        return path.is_file()
    except OSError:
        return False
