"""C libraries that kernels call: carried below `libraries/`, or left where the user has them.

Third-party C is compiled with warnings off, and its headers are system headers.
"""

from collections.abc import Mapping

from attrs import evolve

from target_arch.emit.text.emitter import Emitter
from target_arch.plan.kernels import Kernel, Library
from target_arch.plan.manifest.bundle import LibraryEntry

FOLDER = "libraries"
QUIET = "-w"

_MAKE_ELSEWHERE = """
ifeq ($({variable}),)
$(error set {variable} to the folder of the library `{name}`)
endif
OBJECTS += {objects}

$(BUILD)/{folder}/%.o: $({variable})/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<"""

_CMAKE_ELSEWHERE = """
set({variable} "$ENV{{{variable}}}" CACHE PATH "the folder of the library {name}")
if(NOT {variable})
    message(FATAL_ERROR "set {variable} to the folder of the library {name}")
endif()
target_sources({model} PRIVATE {sources})"""


def libraries(kernels: Mapping[str, Kernel]) -> tuple[Library, ...]:
    """Every library by name, with the union of the kernels' needs.

    ValueError where two of one name differ in a field that both have.
    """
    found: dict[str, Library] = {}
    for partition in sorted(kernels):
        for library in kernels[partition].libraries:
            found[library.name] = _united(found.get(library.name, library), library)
    return tuple(found[name] for name in sorted(found))


def _united(first: Library, second: Library) -> Library:
    same = all(first.texts[path] == second.texts[path] for path in first.texts.keys() & second.texts.keys())
    if first.include != second.include or first.carried != second.carried or not same:
        raise ValueError(f"two libraries are named `{first.name}` and differ")
    return evolve(
        first,
        sources=tuple(sorted({*first.sources, *second.sources})),
        headers=tuple(sorted({*first.headers, *second.headers})),
        texts={**first.texts, **second.texts},
    )


def folder_of(library: Library) -> str:
    """The library's folder in the bundle, and below the build folder."""
    return f"{FOLDER}/{library.name}"


def library_files(found: tuple[Library, ...]) -> dict[str, str]:
    """Path in the bundle → text, of the libraries that it carries."""
    return {f"{folder_of(each)}/{path}": text for each in found for path, text in each.texts.items()}


def described(found: tuple[Library, ...]) -> tuple[LibraryEntry, ...]:
    """The libraries for the manifest."""
    return tuple(
        LibraryEntry(
            name=library.name,
            carried=library.carried,
            variable=None if library.carried else library.variable,
            include=tuple(library.include),
            sources=tuple(library.sources),
        )
        for library in found
    )


def include_flags(found: tuple[Library, ...]) -> str:
    """Flags of the Makefile for the headers of the libraries, each with a blank before it."""
    return "".join(f" -isystem {path}" for path in _includes(found, "$({variable})"))


def make_rules(out: Emitter, found: tuple[Library, ...]) -> None:
    """The libraries' part of a Makefile, after its variable OBJECTS."""
    if not found:
        return
    for library in found:
        if library.carried:
            continue
        folder = folder_of(library)
        objects = " ".join(f"$(BUILD)/{folder}/{_stem(source)}.o" for source in library.sources)
        out.block(
            _MAKE_ELSEWHERE.format(
                variable=library.variable, name=library.name, folder=folder, objects=objects
            )
        )
    out.line()
    out.line(f"$(BUILD)/{FOLDER}/%.o: ALL_CFLAGS += {QUIET}")


def cmake_rules(out: Emitter, found: tuple[Library, ...], model: str) -> None:
    """The libraries' part of a CMakeLists.txt, after its library target."""
    for library in found:
        if not library.carried:
            sources = " ".join(f"${{{library.variable}}}/{source}" for source in library.sources)
            out.block(
                _CMAKE_ELSEWHERE.format(
                    variable=library.variable, name=library.name, model=model, sources=sources
                )
            )
    includes = " ".join(_includes(found, "${{{variable}}}"))
    if includes:
        out.line(f"target_include_directories({model} SYSTEM PRIVATE {includes})")


def _includes(found: tuple[Library, ...], elsewhere: str) -> list[str]:
    roots = {
        library.name: folder_of(library) if library.carried else elsewhere.format(variable=library.variable)
        for library in found
    }
    return [f"{roots[library.name]}/{path}" for library in found for path in library.include]


def _stem(source: str) -> str:
    return source.removesuffix(".c")
