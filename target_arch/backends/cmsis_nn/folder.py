"""The folder of a library: its headers, and the C files that functions of it need."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.kernels import Library
from target_arch.resources import examples

NAME = "cmsis_nn"
HEADER = "arm_nnfunctions.h"
_DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)[ \t]*\([^;{}()]*\)\s*\{", re.MULTILINE)
_WORD = re.compile(r"\w+")
_SOURCE_FOLDERS = ("Source", "source", "src")


@frozen(kw_only=True)
class Folder:
    """A library on this computer. `include` is the folder of its header, relative to `path`; `texts` are its
    headers and C files by their path below it.
    """

    path: Path
    include: str
    texts: Mapping[str, str] = field(repr=False)

    def needed(self, functions: Iterable[str]) -> tuple[str, ...]:
        """The C files that define the functions and everything they mention, sorted.

        Preprocessor conditions are ignored, so that the list holds for every core.
        """
        defined = {
            name: path
            for path, text in sorted(self.texts.items())
            if path.endswith(".c")
            for name in _DEFINITION.findall(text)
        }
        found: set[str] = set()
        open_ = {defined[name] for name in functions if name in defined}
        while open_:
            path = open_.pop()
            found.add(path)
            mentioned = {defined[word] for word in _WORD.findall(self.texts[path]) if word in defined}
            open_ |= mentioned - found
        return tuple(sorted(found))

    def mentions(self, name: str) -> bool:
        """Whether a header or a C file has that name."""
        return any(name in text for text in self.texts.values())

    def library(self, functions: Iterable[str], *, carried: bool) -> Library:
        """The library as a value for kernels that call the functions."""
        sources = self.needed(functions)
        headers = tuple(sorted(path for path in self.texts if path.endswith(".h"))) if carried else ()
        return Library(
            name=NAME,
            include=(self.include,),
            sources=sources,
            headers=headers,
            texts={path: self.texts[path] for path in sorted((*sources, *headers))} if carried else {},
        )


@lru_cache(maxsize=8)
def folder_at(path: str) -> Folder:
    """The library in a folder, the shipped example for no path. DiagnosticError where there is none."""
    root = Path(path) if path else examples() / "c_library"
    headers = sorted(root.rglob(HEADER), key=lambda found: (len(found.parts), str(found)))
    if not headers:
        raise _refused(path, f"`{root}` holds no `{HEADER}`", "name the folder of the library")
    include = headers[0].parent
    sources = next((root / name for name in _SOURCE_FOLDERS if (root / name).is_dir()), root)
    files = (*include.rglob("*.h"), *sources.rglob("*.h"), *sources.rglob("*.c"))
    try:
        texts = {
            file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in sorted(files)
        }
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"`{root}` cannot be read: {error}", None) from error
    return Folder(path=root, include=include.relative_to(root).as_posix(), texts=texts)


def _refused(path: str, message: str, hint: str | None) -> DiagnosticError:
    place = f"option library of backend {NAME}"
    return DiagnosticError([Diagnostic(rule="library-missing", place=place, message=message, hint=hint)])
