"""`Makefile` and `CMakeLists.txt`: the same library, self-test and frame runner, for either tool."""

from collections.abc import Sequence

from target_arch.emit.emitter import Emitter
from target_arch.emit.inputs import EmitInputs
from target_arch.emit.names import identifier

PROGRAMS = ("runner", "selftest")
"""The C files below `src/` that have a `main`, without their ending."""

FLAGS = "-std=c99 -pedantic -Wall -Wextra -Werror"
_OPTIMIZE = "-O2"


def library_sources(paths: Sequence[str]) -> tuple[str, ...]:
    """The C files that make the library: all but the programs, sorted."""
    mains = {f"src/{program}.c" for program in PROGRAMS}
    return tuple(sorted(path for path in paths if path.endswith(".c") and path not in mains))


def programs(paths: Sequence[str]) -> tuple[str, ...]:
    """The programs this bundle has, sorted."""
    return tuple(program for program in PROGRAMS if f"src/{program}.c" in paths)


def makefile(inputs: EmitInputs, paths: Sequence[str]) -> str:
    """The Makefile of a bundle with these files.

    Variables a user sets: CC, AR, CFLAGS, CPPFLAGS, LDFLAGS, BUILD.
    """
    model = identifier(inputs.model.name)
    mains = programs(paths)
    out = Emitter()
    out.line(
        f"# {model} on {inputs.soc.name}: `make` builds the library and its programs, `make selftest` checks them."
    )
    if "runner" in mains:
        out.line(
            "# `make run < frames > results` reads raw inputs, one frame after the other, and writes raw outputs."
        )
    out.line("# CC, AR, CFLAGS, CPPFLAGS, LDFLAGS and BUILD may be set on the command line.")
    out.line(f"CFLAGS = {FLAGS} {_OPTIMIZE}")
    out.line("BUILD = build")
    out.line(f"ALL_CFLAGS = $(CPPFLAGS) -Iinclude -Iruntime {_threads(inputs)}$(CFLAGS)".rstrip())
    out.line()
    out.line("SOURCES = \\")
    _listed(out, library_sources(paths))
    out.line("HEADERS = \\")
    _listed(out, sorted(path for path in paths if path.endswith(".h")))
    out.line("OBJECTS = $(SOURCES:%.c=$(BUILD)/%.o)")
    out.line(f"LIBRARY = $(BUILD)/lib{model}.a")
    out.line()
    out.line(f"all: $(LIBRARY) {' '.join(f'$(BUILD)/{program}' for program in mains)}".rstrip())
    for program, target in (("selftest", "selftest"), ("runner", "run")):
        if program in mains:
            out.line()
            out.line(f"{target}: $(BUILD)/{program}")
            out.line(f"\t@$(BUILD)/{program}")
    out.line()
    out.line("$(LIBRARY): $(OBJECTS)")
    out.line("\trm -f $@")
    out.line("\t$(AR) rcs $@ $(OBJECTS)")
    for program in mains:
        out.line()
        out.line(f"$(BUILD)/{program}: $(BUILD)/src/{program}.o $(LIBRARY)")
        out.line("\t$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lm")
    out.line()
    out.line("$(BUILD)/%.o: %.c $(HEADERS)")
    out.line("\t@mkdir -p $(@D)")
    out.line("\t$(CC) $(ALL_CFLAGS) -c -o $@ $<")
    out.line()
    out.line("clean:")
    out.line("\trm -rf $(BUILD)")
    out.line()
    out.line(".PHONY: all selftest run clean")
    return out.text()


def cmake_lists(inputs: EmitInputs, paths: Sequence[str]) -> str:
    """The CMakeLists.txt: a library target named like the model, and its programs."""
    model = identifier(inputs.model.name)
    out = Emitter()
    out.line("cmake_minimum_required(VERSION 3.13)")
    out.line(f"project({model} C)")
    out.line()
    out.line(f"add_library({model} STATIC")
    with out.indent():
        out.lines(library_sources(paths))
    out.line(")")
    out.line(f"target_include_directories({model} PUBLIC include PRIVATE runtime)")
    out.line(
        f"set_target_properties({model} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)"
    )
    out.line(f"target_link_libraries({model} PUBLIC m)")
    if inputs.port == "host":
        out.line("set(THREADS_PREFER_PTHREAD_FLAG ON)")
        out.line("find_package(Threads REQUIRED)")
        out.line(f"target_link_libraries({model} PUBLIC Threads::Threads)")
    out.line("enable_testing()")
    for program in programs(paths):
        name = f"{model}_{program}"
        out.line()
        out.line(f"add_executable({name} src/{program}.c)")
        out.line(
            f"set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)"
        )
        out.line(f"target_link_libraries({name} PRIVATE {model})")
        if program == "selftest":
            out.line(f"add_test(NAME {name} COMMAND {name})")
    return out.text()


def _threads(inputs: EmitInputs) -> str:
    return "-pthread " if inputs.port == "host" else ""


def _listed(out: Emitter, paths: Sequence[str]) -> None:
    for path in paths[:-1]:
        out.line(f"\t{path} \\")
    out.line(f"\t{paths[-1]}")
    out.line()
