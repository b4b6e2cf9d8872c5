"""`Makefile` and `CMakeLists.txt`: the same library, self-test and frame runner, for either tool."""

from collections.abc import Iterable, Sequence

from target_arch.backend.port import FILE
from target_arch.emit.build.cmake_package import install_rules, public_headers
from target_arch.emit.build.libraries import cmake_rules, include_flags, libraries, make_rules
from target_arch.emit.build.machine import compile_flags, link_flags, machine_of
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.goal import Goal
from target_arch.plan.manifest.weights import WeightsFileEntry

PROGRAMS = ("runner", "selftest")
"""The C files below `src/` that have a `main`, without their ending."""

MAINS = tuple(f"src/{program}.c" for program in PROGRAMS)

FLAGS = "-std=c99 -pedantic -Wall -Wextra -Werror"

_MAKE_HEAD = """\
# {model} on {soc}: `make` builds the library and its programs, `make selftest` checks the model,
# `make run < frames > results` reads raw inputs, one frame after the other, and writes raw outputs.
# CC, AR, CFLAGS, CPPFLAGS, LDFLAGS and BUILD may be set on the command line.
CFLAGS = {flags} {optimize}
BUILD = build
ALL_CFLAGS = $(CPPFLAGS) -Iinclude -Iruntime{libraries}{threads} $(CFLAGS)
"""

_MAKE_MACHINE_HEAD = """\
# {model} on {soc}, for {machine}: `make` builds the library and its programs, `make selftest` checks the
# model in an emulator, `make run` there reads raw inputs from the file `frames` of the folder $(BUILD) and
# writes raw outputs to `results`.
# CC, AR, CFLAGS, CPPFLAGS, LDFLAGS, EMULATOR and BUILD may be set on the command line.
CC = {compiler}
AR = {archiver}
CFLAGS = {flags} {optimize}
EMULATOR = {emulator}
BUILD = build
ALL_CFLAGS = $(CPPFLAGS) -Iinclude -Iruntime{libraries} {machine_flags} $(CFLAGS)
"""

_MAKE_MACHINE_PROGRAM = """
$(BUILD)/{program}: $(BUILD)/src/{program}.o $(LIBRARY) {scripts}
	$(CC) $(ALL_CFLAGS) {link} $(LDFLAGS) -o $@ $(BUILD)/src/{program}.o $(LIBRARY) -lm

{target}: $(BUILD)/{program}
	@cd $(BUILD) && $(EMULATOR) {program}"""

_MAKE_RULES = """
$(LIBRARY): $(OBJECTS)
	rm -f $@
	$(AR) rcs $@ $(OBJECTS)

$(BUILD)/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

clean:
	rm -rf $(BUILD)

.PHONY: all selftest run clean"""

_MAKE_PROGRAM = """
$(BUILD)/{program}: $(BUILD)/src/{program}.o $(LIBRARY)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^{system}

{target}: $(BUILD)/{program}
	@$(BUILD)/{program}"""

_CMAKE_PROPERTIES = "C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF"

_CMAKE_THREADS = """\
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
target_link_libraries({model} PUBLIC Threads::Threads)"""

_TARGETS = {"runner": "run", "selftest": "selftest"}


def library_sources(paths: Sequence[str]) -> tuple[str, ...]:
    """The C files that make the library: all but the programs, sorted."""
    return tuple(sorted(path for path in paths if path.endswith(".c") and path not in MAINS))


def weights_folders(inputs: EmitInputs) -> tuple[str, ...]:
    """The folder that the assembler looks for weights in, where it puts them into the program."""
    return ("weights",) if inputs.constants is ConstantsForm.SECTION else ()


def _included(inputs: EmitInputs) -> tuple[str, ...]:
    """The endings of files that sources include, besides headers."""
    return (".bin",) if weights_folders(inputs) else ()


def programs(paths: Sequence[str]) -> tuple[str, ...]:
    """The programs this bundle has, sorted."""
    return tuple(program for program in PROGRAMS if f"src/{program}.c" in paths)


def makefile(inputs: EmitInputs, paths: Sequence[str], weights: Sequence[WeightsFileEntry]) -> str:
    """The Makefile of a bundle with these files, of which some are weights."""
    mains = programs(paths)
    out = Emitter()
    out.block(_make_head(inputs, weights))
    _listed(out, "SOURCES", library_sources(paths))
    _listed(out, "HEADERS", sorted(path for path in paths if path.endswith((".h", *_included(inputs)))))
    out.line()
    out.line("OBJECTS = $(SOURCES:%.c=$(BUILD)/%.o)")
    out.line(f"LIBRARY = $(BUILD)/lib{inputs.stem}.a")
    make_rules(out, libraries(inputs.kernels))
    out.line()
    out.line(" ".join(("all: $(LIBRARY)", *(f"$(BUILD)/{program}" for program in mains))))
    for program in mains:
        out.block(_make_program(inputs, program))
    out.block(_MAKE_RULES)
    return out.text()


def _make_head(inputs: EmitInputs, weights: Sequence[WeightsFileEntry]) -> str:
    model, soc = inputs.stem, inputs.soc.name
    headers = include_flags(libraries(inputs.kernels))
    headers += "".join(f" -I{folder}" for folder in weights_folders(inputs))
    found = machine_of(inputs.soc, inputs.port)
    if found is None:
        threads = " -pthread" if inputs.port.hosted.threads else ""
        return _MAKE_HEAD.format(
            model=model,
            soc=soc,
            flags=FLAGS,
            optimize=inputs.goal.flag,
            threads=threads,
            libraries=headers,
        )
    _, bare, machine = found
    return _MAKE_MACHINE_HEAD.format(
        model=model,
        soc=soc,
        machine=machine.name,
        compiler=bare.compiler,
        archiver=bare.archiver,
        flags=FLAGS,
        optimize=inputs.goal.flag,
        emulator=" ".join(with_weights(bare.command(machine.name), weights, "..")),
        machine_flags=" ".join(compile_flags(bare, machine)),
        libraries=headers,
    )


def with_weights(
    emulator: Sequence[str], weights: Iterable[WeightsFileEntry], bundle: str
) -> tuple[str, ...]:
    """The command of an emulator that puts these weights files of a bundle, by its path, into memory, too."""
    words = (word.replace(FILE, f"{bundle}/{one.file}") for one in weights for word in one.emulator)
    return (*emulator[:-1], *words, emulator[-1])


def _make_program(inputs: EmitInputs, program: str) -> str:
    if machine_of(inputs.soc, inputs.port) is None:
        system = "".join(f" -l{name}" for name in inputs.port.hosted.libraries)
        return _MAKE_PROGRAM.format(program=program, target=_TARGETS[program], system=system)
    return _MAKE_MACHINE_PROGRAM.format(
        program=program,
        target=_TARGETS[program],
        scripts=f"{inputs.soc.name}.ld {inputs.port.name}.ld",
        link=" ".join(link_flags(inputs.soc.name, inputs.port.name)),
    )


def cmake_lists(inputs: EmitInputs, paths: Sequence[str]) -> str:
    """The CMakeLists.txt: a library target named like the model, and its programs."""
    model = inputs.stem
    out = Emitter()
    out.line("cmake_minimum_required(VERSION 3.13)")
    out.line(f"project({model} C)")
    out.line()
    out.line(f"add_library({model} STATIC")
    with out.indent():
        out.lines(library_sources(paths))
    out.line(")")
    out.line(public_headers(model, weights_folders(inputs)))
    out.line(f"set_target_properties({model} PROPERTIES {_CMAKE_PROPERTIES})")
    out.line(f"target_link_libraries({model} PUBLIC {' '.join(inputs.port.hosted.libraries)})")
    if inputs.goal is Goal.SIZE:
        out.line(f"target_compile_options({model} PRIVATE {inputs.goal.flag})")
    cmake_rules(out, libraries(inputs.kernels), model)
    if inputs.port.hosted.threads:
        out.block(_CMAKE_THREADS.format(model=model))
    found = machine_of(inputs.soc, inputs.port)
    if found is not None:
        _, bare, machine = found
        out.line(f"target_compile_options({model} PUBLIC {' '.join(compile_flags(bare, machine))})")
        install_rules(out, model)
        return out.text()
    install_rules(out, model)
    out.line()
    out.line("if(NOT CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)")
    with out.indent():
        out.line("return()")
    out.line("endif()")
    out.line("enable_testing()")
    for program in programs(paths):
        name = f"{model}_{program}"
        out.line()
        out.line(f"add_executable({name} src/{program}.c)")
        out.line(f"target_include_directories({name} PRIVATE runtime)")
        out.line(f"set_target_properties({name} PROPERTIES {_CMAKE_PROPERTIES})")
        out.line(f"target_link_libraries({name} PRIVATE {model})")
        if program == "selftest":
            out.line(f"add_test(NAME {name} COMMAND {name})")
            if inputs.constants is ConstantsForm.FILE:
                folder = "TARGET_ARCH_WEIGHTS=${CMAKE_CURRENT_SOURCE_DIR}/weights"
                out.line(f"set_tests_properties({name} PROPERTIES ENVIRONMENT {folder})")
    return out.text()


def _listed(out: Emitter, variable: str, paths: Sequence[str]) -> None:
    out.line()
    out.line(f"{variable} = \\")
    out.lines(f"\t{path} \\" for path in paths[:-1])
    out.line(f"\t{paths[-1]}")
