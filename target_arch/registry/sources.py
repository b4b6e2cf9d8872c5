"""Where backends come from: entry points and folders. Nothing is imported until `Source.load` is called."""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from attrs import field, frozen

from target_arch.backend.contract import ENTRY_POINT_GROUP
from target_arch.diagnostics import Diagnostic
from target_arch.registry.errors import BackendError

EXPORT = "backend"
"""The name under which a module of a backend folder holds its `Backend`."""


@frozen(kw_only=True)
class Source:
    """A backend that was found and not yet imported. `origin` says to a person where it is from; `in_folder`:
    in a folder that the user named.
    """

    name: str
    origin: str
    in_folder: bool = False
    load: Callable[[], object] = field(repr=False, eq=False)


def entry_point_sources() -> Iterator[Source]:
    """The installed plug-ins, by name."""
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
        yield Source(name=point.name, origin=_entry_point_origin(point), load=point.load)


def folder_sources(folder: Path) -> Iterator[Source]:
    """The modules and packages of a folder, by name; names that begin with `_` or `.` are passed over.

    Raises BackendError where the folder cannot be listed or holds no module.
    """
    modules = list(_modules(folder))
    if not modules:
        raise _folder_error(folder, "it holds no backend module", "put NAME.py or NAME/__init__.py there")
    for path in modules:
        name = path.parent.name if path.name == "__init__.py" else path.stem
        yield Source(name=name, origin=str(path), in_folder=True, load=_importer(path, name))


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


def _importer(path: Path, name: str) -> Callable[[], object]:
    """Imports the file under a module name of its own: equal file names in two folders do not meet."""

    def load() -> object:
        digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
        spec = importlib.util.spec_from_file_location(f"target_arch_backend_{digest}_{name}", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[spec.name]
            raise
        return getattr(module, EXPORT)

    return load


def _entry_point_origin(point: EntryPoint) -> str:
    distribution = f" of {point.dist.name} {point.dist.version}" if point.dist else ""
    return f"entry point `{point.name} = {point.value}`{distribution}"


def _folder_error(folder: Path, problem: str, hint: str | None) -> BackendError:
    message = f"the backend folder cannot be used: {problem}"
    found = Diagnostic(rule="backend-folder", place=str(folder), message=message, hint=hint)
    return BackendError(folder.name, (str(folder),), (found,))


def duplicates(sources: Iterable[Source]) -> Iterator[tuple[Source, Source]]:
    """Pairs of different sources that claim one name."""
    first: dict[str, Source] = {}
    for source in sources:
        known = first.setdefault(source.name, source)
        if known is not source:
            yield known, source
