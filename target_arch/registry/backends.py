"""The backends that were found, each imported and checked when it is first asked for."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic, Note, name_hint
from target_arch.registry.default_soc import WantedArch, default_soc
from target_arch.registry.errors import BackendError
from target_arch.registry.guard import guarded, last_line
from target_arch.registry.soc_rules import arch_faults, unknown_backend
from target_arch.registry.sources import Source, duplicates, entry_point_sources, folder_sources
from target_arch.registry.validate import complaints
from target_arch.soc.faults import Fault, dotted
from target_arch.soc.model import SoC


class Backends:
    """A name → backend look-up over sources. One name has one source; a clash names both parties."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        found = tuple(sources)
        _raise_all(_clash(first, second) for first, second in duplicates(found))
        self._sources = {source.name: source for source in found}
        self._checked: dict[str, Backend] = {}

    @classmethod
    def discover(cls, folders: Iterable[Path] = ()) -> "Backends":
        """What is installed, and what lies in the given folders. Imports nothing.

        Raises BackendError for names with two sources, and for folders that cannot be read or are empty.
        """
        sources, refused = list(entry_point_sources()), []
        for folder in dict.fromkeys(folders):
            try:
                sources += folder_sources(folder)
            except BackendError as error:
                refused.append(error)
        _raise_all(refused)
        return cls(sources)

    def load_folders(self) -> "Backends":
        """Import and check every backend that lies in a folder: whoever names a folder means all of it.

        Raises BackendError with what is wrong with any of them.
        """
        refused = []
        for name in self.names:
            try:
                if self._sources[name].in_folder:
                    self[name]
            except BackendError as error:
                refused.append(error)
        _raise_all(refused)
        return self

    def add(self, backend: Backend, origin: str = "added in Python") -> None:
        """Register a backend value. Raises BackendError where it breaks the contract or its name is taken."""
        source = Source(name=backend.name, origin=origin, load=lambda: backend)
        if backend.name in self._sources:
            raise _clash(self._sources[backend.name], source)
        self._checked[backend.name] = _checked(source)
        self._sources[backend.name] = source

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._sources))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def origin(self, name: str) -> str:
        """Where a backend is from, in words. Raises BackendError for an unknown name."""
        return self._source(name).origin

    def __getitem__(self, name: str) -> Backend:
        """The backend, imported and checked. Raises BackendError where there is none or it cannot be used."""
        if name not in self._checked:
            self._checked[name] = _checked(self._source(name))
        return self._checked[name]

    def default_soc(self, *names: str, host: str = "c") -> SoC:
        """The SoC of these backends, each as it is by default, in order; the host comes last where it is not
        named.

        Raises BackendError for a backend that is not there, or that has no default.
        """
        wanted = []
        for name in dict.fromkeys((*names, host)):
            default = self[name].default_arch
            if default is None:
                message = f"backend `{name}` does not say what its hardware is like by default"
                found = Diagnostic(rule="no-default-arch", place=self.origin(name), message=message)
                raise BackendError(name, (self.origin(name),), (found,))
            wanted.append(WantedArch(name=name, backend=name, default=default))
        return default_soc(wanted, host)

    def faults(self, soc: SoC) -> tuple[Fault, ...]:
        """What the SoC gets wrong about its backends, for a caller that knows where in a file that is.

        Raises BackendError for a backend that is there and cannot be used.
        """
        found: list[Fault] = []
        for arch in soc.archs:
            if arch.backend not in self:
                found.append(unknown_backend(arch, self.names))
            else:
                found += arch_faults(arch, self[arch.backend])
        return tuple(found)

    def backends_for(self, soc: SoC) -> Mapping[str, Backend]:
        """target_arch name → backend. Raises BackendError with all faults at once."""
        faults = self.faults(soc)
        if faults:
            names = {soc.arch(str(fault.path[1])).backend: None for fault in faults}
            raise BackendError(next(iter(names)), (f"SoC `{soc.name}`",), _in_words(faults, soc))
        return {arch.name: self[arch.backend] for arch in soc.archs}

    def _source(self, name: str) -> Source:
        if name in self._sources:
            return self._sources[name]
        hint = name_hint(name, self.names, "there are")
        message = f"there is no backend `{name}`"
        found = Diagnostic(rule="unknown-backend", place="backends", message=message, hint=hint)
        raise BackendError(name, (), (found,))


def _in_words(faults: Iterable[Fault], soc: SoC) -> Iterator[Diagnostic]:
    """Faults of a description that came from no file, or from one that is not at hand."""
    for fault in faults:
        place = f"SoC `{soc.name}`, {dotted(fault.path)}"
        yield Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint)


def _checked(source: Source) -> Backend:
    value = _loaded(source)
    wrong = complaints(value, source.name)
    if wrong or not isinstance(value, Backend):
        raise BackendError(
            source.name,
            (source.origin,),
            (
                Diagnostic(rule=rule, place=source.origin, message=message, hint=hint)
                for rule, message, hint in wrong
            ),
        )
    return guarded(value)


def _loaded(source: Source) -> object:
    """What the source exports. A plug-in is foreign code: whatever it raises is told as its fault."""
    try:
        return source.load()
    except (Exception, SystemExit) as error:
        message = f"backend `{source.name}` cannot be imported: {last_line(error)}"
        found = Diagnostic(rule="backend-broken", place=source.origin, message=message)
        raise BackendError(source.name, (source.origin,), (found,)) from error


def _raise_all(refused: Iterable[BackendError]) -> None:
    """Raise what was refused as one error, if anything was."""
    errors = tuple(refused)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        origins = dict.fromkeys(origin for error in errors for origin in error.origins)
        found = (each for error in errors for each in error.diagnostics)
        raise BackendError(errors[0].backend, origins, found)


def _clash(first: Source, second: Source) -> BackendError:
    note = Note(place=first.origin, message="it is registered here first")
    message = f"backend `{second.name}` is registered twice"
    found = Diagnostic(
        rule="backend-duplicate",
        place=second.origin,
        message=message,
        hint="rename one of them, or take one away",
        notes=(note,),
    )
    return BackendError(second.name, (first.origin, second.origin), (found,))
