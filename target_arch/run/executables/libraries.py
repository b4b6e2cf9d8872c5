"""The C libraries of a bundle: where their sources are on this computer, and the flags they need."""

import os
from pathlib import Path

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.libraries import FOLDER
from target_arch.plan.manifest.bundle import LibraryEntry, Manifest


@frozen(kw_only=True)
class Libraries:
    """`flags` for every source that includes a library's headers; `elsewhere` are the C files that the bundle
    does not carry, `headers` the folders that it includes from there. Paths are as seen from the bundle.
    """

    flags: tuple[str, ...]
    elsewhere: tuple[str, ...]
    headers: tuple[Path, ...]

    def is_foreign(self, source: str) -> bool:
        """True for a source of a library."""
        return source.startswith(f"{FOLDER}/") or source in self.elsewhere


def libraries_of(directory: Path, manifest: Manifest) -> Libraries:
    """The libraries in a manifest. DiagnosticError where one is not on this computer."""
    flags: list[str] = []
    elsewhere: list[str] = []
    headers: list[Path] = []
    for library in manifest.libraries:
        root = FOLDER + "/" + library.name
        if not library.carried:
            root = str(_folder(directory, library))
            elsewhere += [f"{root}/{source}" for source in library.sources]
            headers += [Path(root) / path for path in library.include]
        flags += [word for path in library.include for word in ("-isystem", f"{root}/{path}")]
    return Libraries(flags=tuple(flags), elsewhere=tuple(elsewhere), headers=tuple(headers))


def _folder(directory: Path, library: LibraryEntry) -> Path:
    variable = library.variable or ""
    folder = Path(os.environ.get(variable, "")).absolute()
    if os.environ.get(variable) and all((folder / source).is_file() for source in library.sources):
        return folder
    name = library.name
    said = f"`{os.environ[variable]}` is not it" if os.environ.get(variable) else f"`{variable}` is not set"
    raise DiagnosticError(
        [
            Diagnostic(
                rule="library-missing",
                place=str(directory),
                message=f"the bundle needs the library `{name}` and does not carry it: {said}",
                hint=f"set the environment variable `{variable}` to the library's folder",
            )
        ]
    )
