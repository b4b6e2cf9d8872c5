"""Errors between a SoC and plug-ins."""

from collections.abc import Iterable

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint


class PlugInError(DiagnosticError):
    """A plug-in that cannot be used, or a SoC that asks for a plug-in that does not exist.

    `name` is the name in question; `origins` are the parties, two of them for a clash.
    """

    def __init__(self, name: str, origins: Iterable[str], diagnostics: Iterable[Diagnostic]) -> None:
        self.name = name
        self.origins = tuple(origins)
        super().__init__(diagnostics)


class UnknownNameError(KeyError):
    """A look-up by a name that is not there; `str` says which names are."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        self.known = tuple(sorted(known))
        super().__init__(name)

    def __str__(self) -> str:
        return f"there is no {self.kind} `{self.name}`: {name_hint(self.name, self.known, 'there are')}"


def raise_all(refused: Iterable[PlugInError]) -> None:
    """Raise errors as one, if there are any."""
    errors = tuple(refused)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        origins = dict.fromkeys(origin for error in errors for origin in error.origins)
        found = (each for error in errors for each in error.diagnostics)
        raise PlugInError(errors[0].name, origins, found)
