"""`new-backend` and `new-operator`: a package with a plug-in that works, to change piece by piece.

Each writes a copy of a folder of `examples/` under another name.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path
from typing import Any

from target_arch.cli.arguments.backend_starts import BACKEND_STARTS
from target_arch.cli.text.output import data, unwritable
from target_arch.diagnostics import refusal
from target_arch.registry import Backends, PlugIns, PlugInTable
from target_arch.resources import examples

_SUFFIXES = {".toml", ".md", ".py", ".c", ".h"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def new_backend(options: argparse.Namespace) -> int:
    """Write a package with a backend."""
    known = Backends.discover()
    _check(options.name, "backend", known)
    return _write(options, BACKEND_STARTS[options.start], "a backend that works")


def new_operator(options: argparse.Namespace) -> int:
    """Write a package with a library of operators."""
    _check(options.name, "operator library", PlugIns.discover().operators)
    return _write(options, "my_operator", "an operator that works")


def _write(options: argparse.Namespace, example: str, said: str) -> int:
    """Write a copy of an example into a folder that is not there yet, or is empty."""
    folder: Path = options.output or Path(options.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise refusal("output-exists", str(folder), "there is something already", "name an empty folder")
    try:
        for path, text in files(options.name, example).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    data(
        f"{folder}: {said}; read {folder / 'README.md'}\n"
        f"its tests: python -m pytest {folder / 'tests'}\n"
        f"use it: --backend-dir {folder / 'src'}, or pip install {folder}"
    )
    return 0


def files(name: str, example: str) -> dict[str, str]:
    """Path in the package → text."""
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


def _check(name: str, word: str, known: PlugInTable[Any]) -> None:
    """Refuse a name that cannot be both a Python package's and a plug-in's."""
    if not _NAME.fullmatch(name):
        said = f"`{name}` is not a lower-case identifier"
        raise refusal("bad-name", "command line", said, "use letters a to z, digits and `_`, a letter first")
    if name in {*sys.stdlib_module_names, *keyword.kwlist, "target_arch"}:
        said = f"`{name}` means something else to Python"
        raise refusal("bad-name", "command line", said, "name another")
    if name in known:
        kind = f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
        said = f"there is {kind} `{name}` already: {known.origin(name)}"
        raise refusal("bad-name", "command line", said, "name another")
