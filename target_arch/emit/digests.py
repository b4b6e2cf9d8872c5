"""The manifest's table of files: a digest of each, by which an edited file is recognized."""

import hashlib
import json
from collections.abc import Mapping

MANIFEST = "manifest.json"
FILES = "files"


def manifest_text(manifest: Mapping[str, object]) -> str:
    """The manifest as it stands in the bundle."""
    return _table({key: _nested(value) for key, value in manifest.items()})


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def with_files(manifest: Mapping[str, object], contents: Mapping[str, bytes]) -> dict[str, object]:
    """The manifest with the digest of every other file of the bundle."""
    return {**manifest, FILES: {path: digest(contents[path]) for path in contents}}


def sealed_text(manifest: Mapping[str, object]) -> str:
    """The text of the manifest with the digest of its own text, made without that entry. It needs a table of
    files.
    """
    files = _others(manifest)
    others = {key: _nested(value) for key, value in manifest.items() if key != FILES}
    own = digest(_table({**others, FILES: _nested(files)}).encode())
    return _table({**others, FILES: _nested({**files, MANIFEST: own})})


def is_intact(manifest: Mapping[str, object]) -> bool:
    """Whether it is as it was sealed; False for a manifest without a table of files."""
    files = manifest.get(FILES)
    if not isinstance(files, Mapping):
        return False
    return bool(files.get(MANIFEST) == digest(manifest_text({**manifest, FILES: _others(manifest)}).encode()))


def _others(manifest: Mapping[str, object]) -> dict[object, object]:
    files = manifest[FILES]
    assert isinstance(files, Mapping)
    return {path: files[path] for path in files if path != MANIFEST}


def _nested(value: object) -> str:
    """The JSON text of a value of the manifest's table; large ones take a while, so each is written once."""
    return json.dumps(value, indent=2, sort_keys=True).replace("\n", "\n  ")


def _table(values: Mapping[str, str]) -> str:
    """The JSON text of a table whose values are written already, as `json.dumps` writes it."""
    entries = (f"\n  {json.dumps(key)}: {text}" for key, text in sorted(values.items()))
    return "{" + ",".join(entries) + "\n}\n"
