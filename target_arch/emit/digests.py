"""The manifest's table of files: a digest of each, by which an edited file is recognized."""

import hashlib
import json
from collections.abc import Mapping

MANIFEST = "manifest.json"
FILES = "files"


def manifest_text(manifest: Mapping[str, object]) -> str:
    """The manifest as it stands in the bundle."""
    return json.dumps(manifest, indent=2, sort_keys=True) + "\n"


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def with_files(manifest: Mapping[str, object], contents: Mapping[str, bytes]) -> dict[str, object]:
    """The manifest with the digest of every other file of the bundle, and sealed."""
    return sealed({**manifest, FILES: {path: digest(contents[path]) for path in contents}})


def sealed(manifest: Mapping[str, object]) -> dict[str, object]:
    """The manifest with the digest of its own text, made without that entry. It needs a table of files."""
    files = _others(manifest)
    own = digest(manifest_text({**manifest, FILES: files}).encode())
    return {**manifest, FILES: {**files, MANIFEST: own}}


def is_intact(manifest: Mapping[str, object]) -> bool:
    """Whether it is as it was sealed; False for a manifest without a table of files."""
    return isinstance(manifest.get(FILES), Mapping) and sealed(manifest) == manifest


def _others(manifest: Mapping[str, object]) -> dict[object, object]:
    files = manifest[FILES]
    assert isinstance(files, Mapping)
    return {path: files[path] for path in files if path != MANIFEST}
