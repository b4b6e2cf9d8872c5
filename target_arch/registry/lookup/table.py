"""The look-up of plug-ins: a table from names to values, each imported and checked when it is first asked
for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from attrs import frozen

from target_arch.diagnostics import Diagnostic, Note, name_hint
from target_arch.registry.lookup.errors import PlugInError, raise_all
from target_arch.registry.lookup.guard import last_line
from target_arch.registry.lookup.sources import (
    Installed,
    Source,
    duplicates,
    entry_point_sources,
    folder_sources,
)

T = TypeVar("T")
Complaint = tuple[str, str, str | None]
"""Rule, message, hint."""


@frozen(kw_only=True)
class PlugInKind(Generic[T]):
    """One kind of plug-ins.

    `word` is its name in messages; `rule` begins the names of its rules; `group` is its entry-point group;
    `folder` is where its modules are in a `--backend-dir` (empty: in the folder itself), and `export` the
    variable that holds the value. `complaints` are the faults of a value that was found under a name;
    `guarded` returns the value with its hooks guarded.
    """

    word: str
    rule: str
    group: str
    folder: str
    export: str
    type: type[T]
    complaints: Callable[[T, str], Iterable[Complaint]]
    guarded: Callable[[T], T]


class PlugInTable(Mapping[str, T]):
    """A name → value look-up over sources. One name has one source; a clash names both parties."""

    def __init__(self, kind: PlugInKind[T], sources: Iterable[Source] = ()) -> None:
        found = tuple(sources)
        self._kind = kind
        raise_all(_clash(kind.word, kind.rule, first, second) for first, second in duplicates(found))
        self._sources = {source.name: source for source in found}
        self._checked: dict[str, T] = {}

    def load_folders(self) -> None:
        """Import and check every plug-in in the folders, whether or not it is used.

        Raises PlugInError with every fault of any of them.
        """
        refused = []
        for name in self.names:
            try:
                if self._sources[name].in_folder:
                    self[name]
            except PlugInError as error:
                refused.append(error)
        raise_all(refused)

    def add(self, value: T, origin: str = "added in Python") -> None:
        """Register a value under its own name. Raises PlugInError where it breaks the contract or its name
        is taken.
        """
        name = str(getattr(value, "name", ""))
        source = Source(name=name, origin=origin, load=lambda: value)
        if name in self._sources:
            raise _clash(self._kind.word, self._kind.rule, self._sources[name], source)
        self._checked[name] = self._check(source)
        self._sources[name] = source

    def remove(self, name: str) -> None:
        """Take a value out of the table."""
        del self._sources[name]
        self._checked.pop(name, None)

    def is_in_folder(self, name: str) -> bool:
        """Return whether a plug-in is from a folder that the user named."""
        return self._sources[name].in_folder

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, sorted. Imports nothing."""
        return tuple(sorted(self._sources))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def origin(self, name: str) -> str:
        """Where a plug-in is from, in words. Raises PlugInError for an unknown name."""
        return self._source(name).origin

    def __getitem__(self, name: str) -> T:
        """The value, imported and checked. Raises PlugInError where there is none or it cannot be used."""
        if name not in self._checked:
            self._checked[name] = self._check(self._source(name))
        return self._checked[name]

    def _source(self, name: str) -> Source:
        if name in self._sources:
            return self._sources[name]
        word, rule = self._kind.word, self._kind.rule
        found = Diagnostic(
            rule=f"unknown-{rule}",
            place=self._kind.group.rpartition(".")[2].replace("_", " "),
            message=f"there is no {word} `{name}`",
            hint=name_hint(name, self.names, "there are"),
        )
        raise PlugInError(name, (), (found,))

    def _check(self, source: Source) -> T:
        kind, value = self._kind, self._loaded(source)
        if isinstance(value, kind.type):
            wrong = tuple(kind.complaints(value, source.name))
            if not wrong:
                return kind.guarded(value)
        else:
            type_name = kind.type.__name__
            said = f"{kind.word} `{source.name}` is a {type(value).__name__}, not a {type_name}"
            wrong = ((f"{kind.rule}-type", said, f"export a `{kind.type.__module__}.{type_name}`"),)
        raise PlugInError(
            source.name,
            (source.origin,),
            (
                Diagnostic(rule=rule, place=source.origin, message=message, hint=hint)
                for rule, message, hint in wrong
            ),
        )

    def _loaded(self, source: Source) -> object:
        """The value that the source exports. A plug-in is foreign code: any exception is reported as its
        fault.
        """
        try:
            return source.load()
        except (Exception, SystemExit) as error:
            message = f"{self._kind.word} `{source.name}` cannot be imported: {last_line(error)}"
            found = Diagnostic(rule=f"{self._kind.rule}-broken", place=source.origin, message=message)
            raise PlugInError(source.name, (source.origin,), (found,)) from error


def discovered(kind: PlugInKind[T], folders: Iterable[Path], known: Installed) -> Iterator[Source]:
    """The plug-ins of a kind that are installed, and those in folders. Imports nothing."""
    yield from entry_point_sources(known.get(kind.group, ()))
    for folder in folders:
        own = folder / kind.folder
        if own == folder or own.is_dir():
            yield from folder_sources(own, kind.export)


def _clash(word: str, rule: str, first: Source, second: Source) -> PlugInError:
    note = Note(place=first.origin, message="it is registered here first")
    found = Diagnostic(
        rule=f"{rule}-duplicate",
        place=second.origin,
        message=f"{word} `{second.name}` is registered twice",
        hint="rename one of them, or take one away",
        notes=(note,),
    )
    return PlugInError(second.name, (first.origin, second.origin), (found,))
