"""The emitted files as a value, before any of them touches a disk."""

from collections.abc import Mapping

from attrs import frozen


@frozen(kw_only=True)
class Bundle:
    """Relative path (with `/`) → contents. Same inputs, same bytes."""

    name: str
    files: Mapping[str, bytes]
