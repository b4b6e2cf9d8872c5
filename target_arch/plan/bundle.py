"""The emitted files as a value, before any of them touches a disk."""

from collections.abc import Mapping

from attrs import frozen


@frozen(kw_only=True, repr=False)
class BundleFiles:
    """Relative path (with `/`) → contents. Same inputs, same bytes."""

    name: str
    files: Mapping[str, bytes]

    def __repr__(self) -> str:
        return f"<bundle {self.name}: {len(self.files)} files>"
