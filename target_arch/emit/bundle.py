"""The bundle: every file of it, from the finished plan."""

from collections.abc import Sequence

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import cmake_lists, makefile
from target_arch.emit.build.firmware import firmware_files
from target_arch.emit.build.libraries import libraries, library_files
from target_arch.emit.build.linker import linker_fragment
from target_arch.emit.build.machine import machine_of, machine_script, require_host_alone, require_machine
from target_arch.emit.build.runtime_files import runtime_files
from target_arch.emit.digests import MANIFEST, manifest_text, with_files
from target_arch.emit.model.arenas import Arena, Arenas, arenas
from target_arch.emit.model.constants import constants_source, constants_symbol
from target_arch.emit.model.device_modules import module_source, modules
from target_arch.emit.model.header import model_header, model_source, soc_symbol
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import entry, kernels, kernels_source
from target_arch.emit.model.stand_ins import stand_ins_source
from target_arch.emit.model.steps import bundle_symbol, steps_source
from target_arch.emit.programs.host import runner_source, selftest_source
from target_arch.emit.soc.header import soc_header
from target_arch.emit.soc.source import simulation_source, soc_source
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, identifier
from target_arch.plan.bundle import Bundle


def emit_bundle(inputs: EmitInputs) -> Bundle:
    """Every file of the bundle. Same inputs, same bytes.

    DiagnosticError where the model's name clashes, ValueError where the plan contradicts itself: a constant
    without data, a copy whose ends differ in size, two C functions of one name.
    """
    require_machine(inputs.soc, inputs.port)
    require_host_alone(inputs)
    placed = arenas(inputs)
    model = identifier(inputs.model.name)
    soc = inputs.soc.name
    runtime = runtime_files(inputs)
    own = [
        (f"include/{soc}_soc.h", soc_header(inputs.soc)),
        (f"include/{model}.h", model_header(inputs)),
        (f"src/{model}.c", model_source(inputs)),
        (f"src/{model}_internal.h", internal_header(inputs, placed)),
        (f"src/{model}_steps.c", steps_source(inputs, placed)),
        *kernel_files(inputs),
        (f"src/{soc}_soc.c", soc_source(inputs)),
        ("src/runner.c", runner_source(inputs)),
    ]
    if any(arena.constant for arena in placed.all):
        own.append((f"src/{model}_constants.c", constants_source(inputs, placed)))
    if inputs.port.hosted.simulates:
        own.append((f"src/{soc}_simulation.c", simulation_source(inputs, placed)))
        if any(backend.runtime.stand_ins for backend in inputs.backends.values()):
            own.append((f"src/{model}_stand_ins.c", stand_ins_source(inputs)))
    if inputs.self_test is not None:
        own.append(("src/selftest.c", selftest_source(inputs, inputs.self_test)))
    return finished(inputs, {**runtime, **library_files(libraries(inputs.kernels)), **distinct(inputs, own)})


def finished(inputs: EmitInputs, texts: dict[str, str]) -> Bundle:
    """The bundle of these sources, with what builds, links and describes them."""
    paths = sorted(texts)
    texts["Makefile"] = makefile(inputs, paths)
    texts["CMakeLists.txt"] = cmake_lists(inputs, paths)
    texts[f"{inputs.soc.name}.ld"] = linker_fragment(inputs.soc, inputs.soc.port(inputs.port.name))
    found = machine_of(inputs.soc, inputs.port)
    if found is not None:
        port, _, machine = found
        texts[f"{port.name}.ld"] = machine_script(inputs.soc, port, machine, inputs.port.prefix)
    files = {path: text.encode("utf-8") for path, text in texts.items()} | firmware_files(inputs)
    files[MANIFEST] = manifest_text(with_files(inputs.manifest, files)).encode("utf-8")
    return Bundle(name=inputs.stem, files={path: files[path] for path in sorted(files)})


def kernel_files(inputs: EmitInputs) -> list[tuple[str, str]]:
    """Path and text of the kernels of every target_arch."""
    model = identifier(inputs.model.name)
    own = {module.kernels.arch: module for module in modules(inputs)}
    files = [
        (f"src/{model}_{of.arch}_kernels.c", kernels_source(inputs, of))
        for of in kernels(inputs)
        if of.arch not in own
    ]
    for module in own.values():
        files.append((f"src/{module.symbol}.c", module_source(inputs, module)))
        files.append((f"src/{module.symbol}.cu", module.text))
    return files


def distinct(inputs: EmitInputs, files: list[tuple[str, str]]) -> dict[str, str]:
    """The files by path. DiagnosticError where the model's name makes two of one name."""
    texts: dict[str, str] = {}
    for path, text in files:
        if path in texts:
            message = f"the model's name gives two files the name `{path}`"
            hint = "give the model another name"
            place = f"model {inputs.model.name}"
            raise DiagnosticError([Diagnostic(rule="file-clash", place=place, message=message, hint=hint)])
        texts[path] = text
    return texts


def internal_header(inputs: EmitInputs, placed: Arenas, members: Sequence[EmitInputs] = ()) -> str:
    """What the sources of a bundle share; `members` are its models where it has several."""
    guard = f"{inputs.stem.upper()}_INTERNAL_H"
    out = Emitter()
    out.line(f"/* What the sources of `{comment(inputs.model.name)}` share. */")
    out.lines((f"#ifndef {guard}", f"#define {guard}", "", '#include "target_arch/abi.h"', ""))
    if members:
        out.line('#include "models/models.h"')
        out.line()
        out.line(f"extern ta_models {inputs.stem}_models;")
        out.line(f"extern const ta_arena {inputs.stem}_arenas[{len(placed.all)}];")
    out.lines(f"extern const ta_bundle {bundle_symbol(member)};" for member in members or (inputs,))
    out.line(f"extern const ta_soc {soc_symbol(inputs)};")
    out.lines(_constants(inputs, arena) for arena in placed.all if arena.constant)
    out.lines(f"extern const uint8_t {module.declaration};" for module in modules(inputs))
    for of in kernels(inputs):
        out.line()
        names = sorted(of.called)
        out.lines(f"ta_status {entry(inputs, of.arch, name)}(void *const *p);" for name in names)
    out.line()
    out.line("#endif")
    return out.text()


def _constants(inputs: EmitInputs, arena: Arena) -> str:
    symbol = constants_symbol(inputs, arena)
    return f"extern const struct {symbol}_layout {symbol};"
