"""The form that JSON values of a bundle must have before anything reads them.

A form names the fields that are read, and accepts any others, since newer versions may add fields.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import field, frozen

from target_arch.soc.faults import Fault, Path
from target_arch.soc.schema.kinds import wrong_type

RULE = "bad-manifest"
Faults = list[Fault]


class ValueForm(Protocol):
    """Judges one value."""

    def check(self, path: Path, value: object, faults: Faults) -> None: ...


@frozen
class TextForm:
    """Text, also an empty one; one of `words` where there are some."""

    words: frozenset[str] = frozenset()

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, str):
            wrong_type(path, "text", value, faults)
        elif self.words and value not in self.words:
            faults.append(Fault(rule=RULE, path=path, message=f"`{path[-1]}` cannot be `{value}`"))


@frozen
class PathInside:
    """A path that stays in its folder; a plain name where `plain`."""

    plain: bool = False

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, str):
            wrong_type(path, "a path", value, faults)
            return
        parts = value.split("/")
        if not value.isprintable() or {"", ".", ".."} & {*parts} or (self.plain and len(parts) > 1):
            what = "plain name of a file" if self.plain else "path inside of this folder"
            faults.append(Fault(rule=RULE, path=path, message=f"`{value}` is no {what}"))


@frozen
class BooleanForm:
    """True or false."""

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, bool):
            wrong_type(path, "true or false", value, faults)


@frozen
class IntegerForm:
    """An integer of at least `least`."""

    least: int = 0

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            wrong_type(path, "an integer", value, faults)
        elif value < self.least:
            message = f"`{path[-1]}` must be at least {self.least}"
            faults.append(Fault(rule=RULE, path=path, message=message))


@frozen
class NumberForm:
    """A number that is not negative, unless it may be `signed`."""

    signed: bool = False

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            wrong_type(path, "a number", value, faults)
        elif value < 0 and not self.signed:
            faults.append(Fault(rule=RULE, path=path, message=f"`{path[-1]}` must not be negative"))


@frozen
class Maybe:
    """Null, or a value of the form."""

    of: ValueForm

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if value is not None:
            self.of.check(path, value, faults)


@frozen
class ListOf:
    """A list of values of one form."""

    of: ValueForm

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, list):
            wrong_type(path, "a list", value, faults)
            return
        for index, each in enumerate(value):
            self.of.check((*path, index), each, faults)


@frozen
class TableOf:
    """A table of values of one form, by names that are not known before."""

    of: ValueForm

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, dict):
            wrong_type(path, "a table", value, faults)
            return
        for name in value:
            self.of.check((*path, name), value[name], faults)


@frozen
class Record:
    """A table whose keys are known: those of `needed` have to be there, those of `further` may be."""

    needed: Mapping[str, ValueForm]
    further: Mapping[str, ValueForm] = field(factory=dict)

    def check(self, path: Path, value: object, faults: Faults) -> None:
        if not isinstance(value, dict):
            wrong_type(path, "a table", value, faults)
            return
        known: dict[str, ValueForm] = {**self.needed, **self.further}
        for key, form in known.items():
            if key in value:
                form.check((*path, key), value[key], faults)
            elif key in self.needed:
                self._missing(path, key, faults)

    def _missing(self, path: Path, key: str, faults: Faults) -> None:
        faults.append(Fault(rule=RULE, path=(*path, key), message=f"`{key}` is missing", at_key=True))


def faults_of(value: Any, form: ValueForm) -> Faults:
    """Everything in a file's value that is not of that form, which is one of tables."""
    faults: Faults = []
    if isinstance(value, dict):
        form.check((), value, faults)
    else:
        faults.append(Fault(rule=RULE, path=(), message="the file is no table"))
    return faults
