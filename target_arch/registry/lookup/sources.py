"""Where plug-ins come from: entry points and folders. Nothing is imported until `Source.load` is called."""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic
from target_arch.registry.lookup.errors import PlugInError, raise_all

FOLDERS = ("load_processes", "operators", "planners", "policies", "ports")
"""The folders of a `--backend-dir` that hold other plug-ins than backends, a module each."""

Installed = Mapping[str, tuple[EntryPoint, ...]]


@frozen(kw_only=True)
class Source:
    """A plug-in that was found and not yet imported. `origin` is its origin in words; `in_folder`: in a
    folder that the user named.
    """

    name: str
    origin: str
    in_folder: bool = False
    load: Callable[[], object] = field(repr=False, eq=False)


def installed() -> Installed:
    """Every entry point by its group, read at once: that takes a file of each installed package."""
    every = entry_points()
    return {group: tuple(every.select(group=group)) for group in every.groups}


def entry_point_sources(points: Iterable[EntryPoint]) -> Iterator[Source]:
    """Installed plug-ins, by name."""
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        yield Source(name=point.name, origin=_entry_point_origin(point), load=point.load)


def folder_sources(folder: Path, export: str) -> Iterator[Source]:
    """The modules and packages of a folder, by name; names that begin with `_` or `.` are passed over.

    The value is the module's variable `export`. Raises PlugInError where the folder cannot be listed.
    """
    for path in _modules(folder):
        name = path.parent.name if path.name == "__init__.py" else path.stem
        yield Source(name=name, origin=str(path), in_folder=True, load=_importer(path, name, export))


def checked_folders(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that a user named, each once.

    Raises PlugInError with those that cannot be listed, or hold no plug-in of any kind.
    """
    every, refused = tuple(dict.fromkeys(folders)), []
    for folder in every:
        try:
            _require_plug_ins(folder)
        except PlugInError as error:
            refused.append(error)
    raise_all(refused)
    return every


def _require_plug_ins(folder: Path) -> None:
    own = [folder / name for name in FOLDERS if (folder / name).is_dir()]
    if not any(next(_modules(each), None) for each in (folder, *own)):
        others = ", ".join(f"{name}/NAME.py" for name in FOLDERS)
        hint = f"put NAME.py or NAME/__init__.py there; other plug-ins are {others}"
        raise _folder_error(folder, "it holds no backend module", hint)


def _modules(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise _folder_error(folder, f"it cannot be read: {error.strerror}", None) from error
    for entry in entries:
        if entry.name.startswith(("_", ".")):
            continue
        if entry.suffix == ".py":
            yield entry
        elif (entry / "__init__.py").is_file():
            yield entry / "__init__.py"


def _importer(path: Path, name: str, export: str) -> Callable[[], object]:
    """Imports the file under a module name of its own: equal file names in two folders do not clash."""

    def load() -> object:
        digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
        spec = importlib.util.spec_from_file_location(f"target_arch_plug_in_{digest}_{name}", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[spec.name]
            raise
        return getattr(module, export)

    return load


def _entry_point_origin(point: EntryPoint) -> str:
    distribution = f" of {_release(point.dist)}" if point.dist else ""
    return f"entry point `{point.name} = {point.value}`{distribution}"


@cache
def _release(distribution: Distribution) -> str:
    """Name and version of a package. Each property of a Distribution reads its metadata file again."""
    about = distribution.metadata
    return f"{about['Name']} {about['Version']}"


def _folder_error(folder: Path, problem: str, hint: str | None) -> PlugInError:
    message = f"the backend folder cannot be used: {problem}"
    found = Diagnostic(rule="backend-folder", place=str(folder), message=message, hint=hint)
    return PlugInError(folder.name, (str(folder),), (found,))


def duplicates(sources: Iterable[Source]) -> Iterator[tuple[Source, Source]]:
    """Pairs of different sources that claim one name."""
    first: dict[str, Source] = {}
    for source in sources:
        known = first.setdefault(source.name, source)
        if known is not source:
            yield known, source
