"""The bundle: every file of it, from the finished plans of its models."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import cmake_lists, makefile
from target_arch.emit.build.cmake_package import cmake_config
from target_arch.emit.build.firmware import firmware_files
from target_arch.emit.build.libraries import libraries, library_files
from target_arch.emit.build.linker import linker_fragment
from target_arch.emit.build.machine import (
    machine_of,
    machine_script,
    require_cores_of_machine,
    require_machine,
)
from target_arch.emit.build.runtime_files import runtime_files
from target_arch.emit.digests import MANIFEST, sealed_text, with_files
from target_arch.emit.model.arenas import EmittedArena, arenas, constants_of, placed
from target_arch.emit.model.constants import constants_source
from target_arch.emit.model.deadline import deadline_source, has_deadlines
from target_arch.emit.model.device_modules import module_source, modules
from target_arch.emit.model.header import headers
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.kernels import entry, kernels, kernels_source
from target_arch.emit.model.naming import (
    bundle_symbol,
    frames_seals_symbol,
    pipeline_symbol,
    resident_seals_symbol,
    seals_symbol,
    simulation_symbol,
    soc_symbol,
)
from target_arch.emit.model.residents import sealed_residents
from target_arch.emit.model.source import sources
from target_arch.emit.model.stand_ins import stand_ins_source
from target_arch.emit.model.steps import arenas_source, arenas_symbol, frames_source, steps_source
from target_arch.emit.model.weights import (
    EmittedWeights,
    loading,
    partitions,
    program_number,
    weights_declarations,
    weights_entry,
    weights_file,
    weights_of,
    weights_source,
)
from target_arch.emit.packages.firmware_projects import firmware_projects
from target_arch.emit.packages.papers import papers
from target_arch.emit.packages.sources import contents_of
from target_arch.emit.packages.supply import supply, tagged
from target_arch.emit.programs.files import program_files
from target_arch.emit.soc.header import soc_header
from target_arch.emit.soc.source import simulation_source, soc_source
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.manifest.bundle import Manifest
from target_arch.soc.files.toml_writer import toml
from target_arch.soc.model import SoC
from target_arch.soc.schema.records import to_json


def emit_bundle(inputs: EmitInputs, manifest: Manifest) -> BundleFiles:
    """Every file of the bundle, with its manifest. Same inputs, same bytes.

    DiagnosticError where a model's name clashes, ValueError where a plan contradicts itself: a constant
    without data, a copy whose ends differ in size, two C functions of one name.
    """
    require_machine(inputs.soc, inputs.port)
    require_cores_of_machine(inputs)
    every = arenas(inputs)
    weights = weights_of(inputs, every)
    programs = program_files(inputs)
    own = _distinct(
        inputs,
        [
            (f"include/{inputs.soc.name}_soc.h", soc_header(inputs.soc)),
            *headers(inputs, weights),
            *sources(inputs, every, weights),
            (f"src/{inputs.stem}_internal.h", _internal_header(inputs, every, weights)),
            *_arena_files(inputs, every),
            *_step_files(inputs, every),
            *_deadline_files(inputs),
            *_workload_files(inputs),
            *_kernel_files(inputs),
            *_soc_files(inputs, every),
            *programs.items(),
        ],
    )
    carried = library_files(libraries(inputs.kernels))
    texts = {**runtime_files(inputs), **carried, **own}
    number = program_number(weights, {path: texts[path] for path in texts if path not in programs})
    return _finished(inputs, manifest, texts, weights, number)


def soc_file(soc: SoC) -> str:
    """The path of the SoC file that a bundle carries, without the comments of the file it was read from."""
    return f"{soc.name}.toml"


def _finished(
    inputs: EmitInputs,
    manifest: Manifest,
    texts: dict[str, str],
    weights: Sequence[EmittedWeights],
    program: int,
) -> BundleFiles:
    """The bundle of these sources and weights, which fit the `program` of that number, with the files that
    build, link and describe them.
    """
    for member in dict.fromkeys(one.member.name for one in weights):
        own = [one for one in weights if one.member.name == member]
        texts[constants_path(own[0].member)] = weights_source(inputs, own, program)
    made = {one.path: weights_file(one, program, loading(inputs, one)) for one in weights}
    paths = sorted((*texts, *made))
    contents = contents_of(inputs, paths)
    texts |= papers(inputs, contents) | firmware_projects(contents)
    texts |= cmake_config(inputs.stem, threads=inputs.port.hosted.threads)
    texts["Makefile"] = makefile(inputs, paths, [one.entry for one in made.values()])
    texts["CMakeLists.txt"] = cmake_lists(inputs, paths)
    texts[soc_file(inputs.soc)] = toml(inputs.soc)
    texts[f"{inputs.soc.name}.ld"] = linker_fragment(
        inputs.soc, inputs.soc.port(inputs.port.name), partitions(weights)
    )
    found = machine_of(inputs.soc, inputs.port)
    if found is not None:
        port, _, machine = found
        texts[f"{port.name}.ld"] = machine_script(inputs.soc, port, machine, inputs.port.prefix)
    files = {path: tagged(path, text).encode("utf-8") for path, text in texts.items()}
    files |= firmware_files(inputs, arenas(inputs))
    files |= {path: one.content for path, one in made.items()}
    files |= {path: text.encode("utf-8") for path, text in supply(inputs, files).items()}
    described = evolve(manifest, weights=weights_entry(inputs, tuple(made.values())))
    files[MANIFEST] = sealed_text(with_files(to_json(described), files)).encode("utf-8")
    return BundleFiles(name=inputs.stem, files={path: files[path] for path in sorted(files)})


Files = list[tuple[str, str]]
"""Path in the bundle and text."""


def _arena_files(inputs: EmitInputs, every: Sequence[EmittedArena]) -> Files:
    """Constants by model, where they are text; the table of arenas where several models use it."""
    files = [
        (constants_path(member), constants_source(inputs, member, own))
        for member in inputs.members
        if inputs.constants is ConstantsForm.TEXT and (own := constants_of(member, every))
    ]
    if inputs.shares_arenas:
        files.append((f"src/{arenas_symbol(inputs)}.c", arenas_source(inputs, every)))
    return files


def constants_path(member: Member) -> str:
    """The path of the C file of a model's constants."""
    return f"src/{member.stem}_constants.c"


def _step_files(inputs: EmitInputs, every: Sequence[EmittedArena]) -> Files:
    files: Files = []
    for member in inputs.members:
        arenas, frames = placed(inputs, member, every), member.lowered.frames
        files.append((f"src/{member.stem}_steps.c", steps_source(inputs, member, arenas)))
        if frames is not None:
            files.append((f"src/{member.stem}_frames.c", frames_source(inputs, member, frames, arenas)))
    return files


def _deadline_files(inputs: EmitInputs) -> Files:
    return [(f"src/{inputs.stem}_deadline.c", deadline_source(inputs))] if has_deadlines(inputs) else []


def _workload_files(inputs: EmitInputs) -> Files:
    if inputs.timed is None:
        return []
    from target_arch.emit.model.workload import workload_source

    return [(f"src/{inputs.stem}_workload.c", workload_source(inputs, inputs.timed))]


def _kernel_files(inputs: EmitInputs) -> Files:
    """The kernels of every target_arch."""
    own = {module.kernels.arch: module for module in modules(inputs)}
    files = [
        (f"src/{inputs.stem}_{of.arch}_kernels.c", kernels_source(inputs, of))
        for of in kernels(inputs)
        if of.arch not in own
    ]
    for module in own.values():
        files.append((f"src/{module.symbol}.c", module_source(inputs, module)))
        files.append((f"src/{module.symbol}.cu", module.text))
    return files


def _soc_files(inputs: EmitInputs, every: Sequence[EmittedArena]) -> Files:
    """The chip, and on the host port its simulation."""
    soc = inputs.soc.name
    files = [(f"src/{soc}_soc.c", soc_source(inputs))]
    if inputs.port.hosted.simulates:
        files.append((f"src/{soc}_simulation.c", simulation_source(inputs, every)))
        if any(backend.runtime.stand_ins for backend in inputs.backends.values()):
            files.append((f"src/{inputs.stem}_stand_ins.c", stand_ins_source(inputs)))
    return files


def _distinct(inputs: EmitInputs, files: Files) -> dict[str, str]:
    """The files by path. DiagnosticError where the bundle's name makes two of one name."""
    texts: dict[str, str] = {}
    for path, text in files:
        if path in texts:
            message = f"the model's name gives two files the name `{path}`"
            hint = "give the model another name"
            place = f"model {inputs.name}"
            raise DiagnosticError([Diagnostic(rule="file-clash", place=place, message=message, hint=hint)])
        texts[path] = text
    return texts


def _internal_header(
    inputs: EmitInputs, every: Sequence[EmittedArena], weights: Sequence[EmittedWeights]
) -> str:
    """The header that the sources of a bundle share."""
    guard = f"{inputs.stem.upper()}_INTERNAL_H"
    out = Emitter()
    out.line(f"/* Shared by the sources of `{comment(inputs.name)}`. */")
    out.lines((f"#ifndef {guard}", f"#define {guard}", "", '#include "target_arch/abi.h"', ""))
    out.lines(('#include "integrity/integrity.h"', ""))
    if inputs.port.hosted.simulates:
        out.lines(('#include "ports/host/simulator.h"', ""))
    if inputs.lends:
        out.lines(('#include "lent/lent.h"', ""))
    if weights:
        out.lines(('#include "weights/weights.h"', ""))
    if inputs.has_frames:
        out.lines(('#include "target_arch/frames.h"', ""))
    if inputs.several:
        out.line('#include "models/models.h"')
        out.line()
        out.line(f"extern ta_models {inputs.stem}_models;")
    if inputs.shares_arenas:
        out.line(f"extern const ta_arena {arenas_symbol(inputs)}[{len(every)}];")
    out.lines(f"extern const ta_bundle {bundle_symbol(member)};" for member in inputs.members)
    out.lines(f"extern const ta_seals {seals_symbol(member)};" for member in inputs.members)
    with_frames = [member for member in inputs.members if member.lowered.frames is not None]
    out.lines(f"extern const ta_pipeline {pipeline_symbol(member)};" for member in with_frames)
    out.lines(f"extern const ta_bundle {pipeline_symbol(member)}_bundle;" for member in with_frames)
    out.lines(f"extern const ta_seals {frames_seals_symbol(member)};" for member in with_frames)
    with_residents = sealed_residents(inputs, every)
    residents = [member for member in inputs.members if member.name in with_residents]
    out.lines(f"extern const ta_seals {resident_seals_symbol(member)};" for member in residents)
    out.line(f"extern const ta_soc {soc_symbol(inputs)};")
    if inputs.port.hosted.simulates:
        out.line(f"extern const ta_simulation {simulation_symbol(inputs)};")
    constant = (arena.symbol for arena in every if arena.pool.constant and not weights)
    out.lines(weights_declarations(inputs, weights))
    out.lines(f"extern const struct {symbol}_layout {symbol};" for symbol in constant)
    out.lines(f"extern const uint8_t {module.declaration};" for module in modules(inputs))
    for of in kernels(inputs):
        out.line()
        names = sorted(of.called)
        out.lines(f"ta_status {entry(inputs, of.arch, name)}(void *const *p);" for name in names)
    out.line()
    out.line("#endif")
    return out.text()
