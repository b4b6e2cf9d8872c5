"""Where outcomes are kept: a file of this computer, or a database."""

from pathlib import Path

from target_arch.explore.database import DatabaseStore
from target_arch.explore.store import Store


def open_store(name: str | Path) -> Store | DatabaseStore:
    """The store of a file name, or of the address of a database, `postgresql://…`. Raises DiagnosticError
    where it cannot be used.
    """
    if isinstance(name, str) and "://" in name:
        return DatabaseStore(name)
    return Store(Path(name))
