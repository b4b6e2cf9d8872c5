"""The content that an outcome depends on, as a key: equal points of any exploration have one.

Tests: `tests/explore/test_search.py`.
"""

import hashlib
import json
from functools import cache
from importlib.metadata import entry_points, version
from pathlib import Path as File

from target_arch.explore.evaluate import PointTask

FORMAT = 3
"""Of outcomes. Another form, another number."""
_PACKAGE = File(__file__).parents[1]


def content_key(task: PointTask, program: str) -> str:
    """The key of a point under a program (`program_digest`): of the text of its SoC file and of the cost file
    that it names, of the models and of what is asked.
    """
    values = {
        "format": FORMAT,
        "program": program,
        "chip": _digest(task.chip.text.encode()),
        "costs": _costs(task),
        "models": [
            [name, file.suffix, *map(_file_digest, (file, *beside(file).values()))]
            for name, file in task.models.items()
        ],
        "mode": task.mode,
        "optimize": str(task.optimize),
        "objective": str(task.objective),
    }
    return _digest(json.dumps(values, sort_keys=True).encode())[:32]


def program_digest(backend_dirs: tuple[File, ...]) -> str:
    """The digest of this program: its source, the versions of TVM and of installed plug-ins, and the files of
    plug-in folders.
    """
    files = [file for folder in (_PACKAGE, *backend_dirs) for file in sorted(folder.rglob("*.py"))]
    plug_ins = {
        f"{each.group}:{each.name}={each.value}@{each.dist.version if each.dist else ''}"
        for group in entry_points().groups
        if group.startswith("target_arch.")
        for each in entry_points(group=group)
    }
    parts = [version("apache-tvm"), *sorted(plug_ins), *(_file_digest(file) for file in files)]
    return _digest("\n".join(parts).encode())


def beside(file: File) -> dict[str, File]:
    """The files with data of a model, by their places in its folder."""
    if file.suffix.lower() != ".onnx":
        return {}
    status = file.stat()
    return _beside(file, status.st_size, status.st_mtime_ns)


@cache
def _beside(file: File, size: int, modified: int) -> dict[str, File]:
    from target_arch.relax.readers.onnx.file import data_files

    return data_files(file)


def _costs(task: PointTask) -> str:
    named = task.chip.cost_file()
    file = None if named is None else task.chip.folder / named
    return _file_digest(file) if file is not None and file.is_file() else ""


def _file_digest(file: File) -> str:
    status = file.stat()
    return _digest_of(file, status.st_size, status.st_mtime_ns)


@cache
def _digest_of(file: File, size: int, modified: int) -> str:
    return _digest(file.read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
