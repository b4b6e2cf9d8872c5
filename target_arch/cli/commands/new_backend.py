"""`new-backend`: a package with a backend that works, to change piece by piece.

It writes a copy of one of two folders of `examples/` under another name.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

from target_arch.cli.arguments.backend_starts import BACKEND_STARTS
from target_arch.cli.text.output import data, unwritable
from target_arch.diagnostics import refusal
from target_arch.registry import Backends
from target_arch.resources import examples

_SUFFIXES = {".toml", ".md", ".py", ".c", ".h"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def new_backend(options: argparse.Namespace) -> int:
    """Write the package into a folder that is not there yet, or is empty."""
    name: str = options.name
    _check(name)
    folder: Path = options.output or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise refusal("output-exists", str(folder), "there is something already", "name an empty folder")
    try:
        for path, text in files(name, options.start).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    data(
        f"{folder}: a backend that works; read {folder / 'README.md'}\n"
        f"its tests: python -m pytest {folder / 'tests'}\n"
        f"use it: --backend-dir {folder / 'src'}, or pip install {folder}"
    )
    return 0


def files(name: str, start: str) -> dict[str, str]:
    """Path in the package → text."""
    example = BACKEND_STARTS[start]
    root = examples() / example
    paths = (path for path in sorted(root.rglob("*")) if path.suffix in _SUFFIXES)
    return {
        _renamed(path.relative_to(root).as_posix(), example, name): _renamed(
            path.read_text(encoding="utf-8"), example, name
        )
        for path in paths
    }


def _renamed(text: str, example: str, name: str) -> str:
    return text.replace(example, name).replace(example.upper(), name.upper())


def _check(name: str) -> None:
    """Refuse a name that cannot be both a Python package's and a backend's."""
    if not _NAME.fullmatch(name):
        said = f"`{name}` is not a lower-case identifier"
        raise refusal("bad-name", "command line", said, "use letters a to z, digits and `_`, a letter first")
    if name in {*sys.stdlib_module_names, *keyword.kwlist, "target_arch"}:
        said = f"`{name}` means something else to Python"
        raise refusal("bad-name", "command line", said, "name another")
    known = Backends.discover()
    if name in known:
        said = f"there is a backend `{name}` already: {known.origin(name)}"
        raise refusal("bad-name", "command line", said, "name another")
