"""A bundle as a CMake package: `add_subdirectory`, or install it, then `find_package`."""

from collections.abc import Sequence

from target_arch.emit.text.emitter import Emitter

_INSTALL = """
include(GNUInstallDirs)
add_library(target_arch::{name} ALIAS {name})
install(TARGETS {name} EXPORT {name}Targets ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}})
install(DIRECTORY include/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}}/{name})
install(FILES manifest.json LICENSE NOTICE README.md DESTINATION ${{CMAKE_INSTALL_DATADIR}}/{name})
install(EXPORT {name}Targets NAMESPACE target_arch:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
install(FILES cmake/{name}Config.cmake DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})"""

_CONFIG = """\
# Finds target_arch::{name}, as installed by this bundle's CMakeLists.txt.
{threads}include("${{CMAKE_CURRENT_LIST_DIR}}/{name}Targets.cmake")
"""

_THREADS = """\
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
"""


def public_headers(name: str, private: Sequence[str]) -> str:
    """The command that says where headers are: here, and once installed; and `private` folders."""
    build = "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
    own = " ".join(("runtime", *private))
    installed = f"$<INSTALL_INTERFACE:include/{name}>"
    return f'target_include_directories({name} PUBLIC "{build}" "{installed}" PRIVATE {own})'


def install_rules(out: Emitter, name: str) -> None:
    """The rules that install the library and the files that `find_package` needs."""
    out.block(_INSTALL.format(name=name))


def cmake_config(name: str, *, threads: bool) -> dict[str, str]:
    """The file that `find_package` reads, by its path."""
    text = _CONFIG.format(name=name, threads=_THREADS if threads else "")
    return {f"cmake/{name}Config.cmake": text}
