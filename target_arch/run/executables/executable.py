"""Build a bundle on this machine. A project that takes a bundle along uses its Makefile or CMakeLists.txt
instead.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import FLAGS, library_sources, programs
from target_arch.emit.model.weights import FOLDER
from target_arch.emit.programs.tracer import TRACE_TABLE
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.manifest.bundle import CrossToolchain, Manifest
from target_arch.plan.manifest.image import ImageEntry
from target_arch.resources import runtime_c
from target_arch.run.bundles.errors import unwritable
from target_arch.run.bundles.manifest import inputs_of, outputs_of, unchanged
from target_arch.run.executables import rtl as verilated
from target_arch.run.executables.firmware import FirmwareImage, build_firmware
from target_arch.run.executables.image import CALL_GRAPH, as_linked, predict, require_fit
from target_arch.run.executables.libraries import Libraries, libraries_of
from target_arch.run.executables.objects import Objects, run_compiler
from target_arch.run.tools.toolchain import Compiler, find_compiler, find_cross_compiler


@frozen(kw_only=True)
class Executable:
    """The programs of a built bundle, and the sizes of a frame: of all models, where it has several.

    `self_test` is None where the bundle has no vector, `machine` and `image` (of the
    runner) where they run on this computer. `firmware` are the images of cores in processes of their own,
    `tracer` is the program of `emit.programs.tracer`, where one was asked for.
    """

    directory: Path
    runner: Path
    self_test: Path | None
    machine: CrossToolchain | None
    image: ImageEntry | None = field(repr=False)
    firmware: tuple[FirmwareImage, ...] = field(repr=False)
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    tracer: Path | None
    manifest: Manifest = field(repr=False)


def build(
    directory: Path,
    *,
    sanitize: Sequence[str] = (),
    compiler: Compiler | None = None,
    optimize: str | None = None,
    rtl: bool = False,
    firmware: bool = False,
    tracer: str | None = None,
) -> Executable:
    """Compile and link the bundle in `directory` into its folder `build`; objects of the C runtime, which all
    bundles share, go to the user's folder of caches.

    `sanitize` are names for `-fsanitize`, such as `address` and `undefined`; without `optimize` the compiler
    optimizes as the bundle's Makefile says. Warnings are errors. With `rtl` the devices that have RTL are
    simulated by it, Verilated; with `firmware` cores that take firmware are processes of their own that
    execute it, under an emulator. `tracer` is the table of one more program (`emit.programs.tracer`), linked
    with the bundle's objects. DiagnosticError where this is no bundle, has no such device, is replaced
    meanwhile, or the compiler refuses it; ToolMissing without a compiler, Verilator or an emulator.
    """
    with unchanged(directory) as manifest:
        folder, machine = _prepared(directory / "build"), manifest.cross
        cc = compiler or _compiler(machine)
        images = build_firmware(directory, folder) if firmware else ()
        foreign = libraries_of(directory, manifest)
        sources = _Sources.of(directory, manifest, foreign, rtl=rtl)
        machines = _host_flags(sanitize) if machine is None else (*machine.flags, CALL_GRAPH)
        level = optimize or manifest.optimize.flag
        command = (*cc.command, *_flags(level, foreign, machines, images, _weights_folders(manifest)))
        objects = Objects(
            directory=directory,
            command=command,
            version=cc.version,
            folder=folder / "objects",
            foreign=foreign,
            headers=sources.headers,
        )
        mains = {**sources.mains, **({} if tracer is None else {"tracer": _tracer(folder, tracer)})}
        made = objects.made((*sources.library, *mains.values()))
        common = [made[source] for source in sources.library]
        for engine in sources.engines:
            common += verilated.objects(engine, directory, folder, _sanitizers(sanitize))
        common += [_image_object(image, cc, folder) for image in images]
        link = _Linking(
            directory=directory,
            manifest=manifest,
            machine=machine,
            command=command,
            libraries=_libraries(manifest, machine, cxx=bool(sources.engines)),
            made=made,
        )
        linked = {name: link.program(name, [made[main], *common]) for name, main in mains.items()}
        return _executable(directory, manifest, machine, images, linked)


def _executable(
    directory: Path,
    manifest: Manifest,
    machine: CrossToolchain | None,
    images: tuple[FirmwareImage, ...],
    linked: Mapping[str, tuple[Path, ImageEntry | None]],
) -> Executable:
    runner, image = linked["runner"]
    return Executable(
        directory=directory,
        runner=runner,
        self_test=linked["selftest"][0] if manifest.has_vectors else None,
        machine=machine,
        image=image,
        firmware=images,
        input_bytes=tuple(tensor.bytes for tensor in inputs_of(manifest)),
        output_bytes=tuple(tensor.bytes for tensor in outputs_of(manifest)),
        tracer=linked["tracer"][0] if "tracer" in linked else None,
        manifest=manifest,
    )


@frozen(kw_only=True)
class _Sources:
    """The C files of a bundle, as paths in it: those of its library, and the main file of each program.

    `engines` are simulated by their RTL, in place of their C models.
    """

    library: tuple[str, ...]
    mains: Mapping[str, str]
    engines: tuple[str, ...]
    headers: tuple[Path, ...]

    @classmethod
    def of(cls, directory: Path, manifest: Manifest, foreign: Libraries, *, rtl: bool) -> "_Sources":
        """The sources that the manifest lists: the folder may hold foreign ones too."""
        roots = ("include/", "libraries/", "runtime/", "src/")
        listed = [directory / path for path in manifest.files if path.startswith(roots)]
        files = [path for path in listed if path.suffix in {".c", ".h"} and path.is_file()]
        paths = sorted(path.relative_to(directory).as_posix() for path in files)
        engines = _engines(directory, paths) if rtl else ()
        simulated = set(map(verilated.simulator_source, engines))
        elsewhere = [path for folder in foreign.headers for path in folder.rglob("*.h")]
        return cls(
            library=tuple(s for s in (*library_sources(paths), *foreign.elsewhere) if s not in simulated),
            mains={program: f"src/{program}.c" for program in programs(paths)},
            engines=engines,
            headers=tuple(sorted(path for path in (*files, *elsewhere) if path.suffix == ".h")),
        )


def _compiler(machine: CrossToolchain | None) -> Compiler:
    return find_compiler() if machine is None else find_cross_compiler(machine.compiler, machine.packages)


def _flags(
    optimize: str,
    foreign: Libraries,
    machines: Sequence[str],
    images: Sequence[FirmwareImage],
    folders: Sequence[str],
) -> tuple[str, ...]:
    own = (flag for image in images for flag in image.flags())
    include = tuple(f"-I{folder}" for folder in ("include", "runtime", *folders))
    return (*FLAGS.split(), optimize, *include, *foreign.flags, *machines, *own)


def _weights_folders(manifest: Manifest) -> tuple[str, ...]:
    """The folder that the assembler looks for weights in, where it puts them into programs."""
    linked = manifest.weights is not None and manifest.weights.constants is ConstantsForm.SECTION
    return (FOLDER,) if linked else ()


def _host_flags(sanitize: Sequence[str]) -> tuple[str, ...]:
    return ("-pthread", *_sanitizers(sanitize))


def _prepared(folder: Path) -> Path:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def _tracer(folder: Path, table: str) -> str:
    """The path in the bundle of the tracer's source, written beside its table to the folder of programs."""
    source = runtime_c() / "programs" / "tracer.c"
    try:
        (folder / TRACE_TABLE).write_text(table, encoding="utf-8")
        shutil.copyfile(source, folder / source.name)
    except OSError as error:
        raise unwritable(folder, error) from error
    return f"{folder.name}/{source.name}"


def _libraries(manifest: Manifest, machine: CrossToolchain | None, *, cxx: bool) -> tuple[str, ...]:
    """The libraries after the objects of a link."""
    system = tuple(f"-l{name}" for name in manifest.toolchain.libraries)
    last = () if machine is None else machine.link
    return (*system, *(("-lstdc++",) if cxx else ()), *last)


@frozen(kw_only=True)
class _Linking:
    """How the programs of a bundle are linked. `made` are the objects by their sources."""

    directory: Path
    manifest: Manifest
    machine: CrossToolchain | None
    command: tuple[str, ...]
    libraries: tuple[str, ...]
    made: Mapping[str, Path]

    def program(self, name: str, objects: Sequence[Path]) -> tuple[Path, ImageEntry | None]:
        """The program, and its image where it is for a machine: predicted, refused where it does not fit."""
        target = self.directory / "build" / name
        if self.machine is None:
            return _link(self.directory, self.command, objects, target, self.libraries), None
        by_source = _by_source(self.made, objects)
        described = self.manifest.machine
        assert described is not None
        predicted = predict(described, by_source, self.command, self.machine.start)
        require_fit(predicted, str(self.directory))
        linked = _link(self.directory, self.command, objects, target, self.libraries)
        return linked, as_linked(predicted, described, linked)


def _image_object(image: FirmwareImage, cc: Compiler, folder: Path) -> Path:
    """The object that holds a firmware image for the host's load process."""
    source, made = (folder / f"{image.target_arch}_image.{suffix}" for suffix in ("c", "o"))
    source.write_text(image.source(), encoding="utf-8")
    run_compiler((*cc.command, *FLAGS.split(), "-c", "-o", made.name, source.name), folder, made)
    return made


def _engines(directory: Path, paths: Sequence[str]) -> tuple[str, ...]:
    engines = verilated.with_rtl(paths)
    if not engines:
        message = "no device of this bundle has RTL to simulate"
        hint = "engines with RTL are the folders of `rtl`; the bundle must be for the port `host`"
        place = str(directory)
        raise DiagnosticError([Diagnostic(rule="no-rtl", place=place, message=message, hint=hint)])
    return engines


def _by_source(made: Mapping[str, Path], inputs: Sequence[Path]) -> dict[str, Path]:
    """The objects of a link in their order, by their sources."""
    sources = {path: source for source, path in made.items()}
    return {sources[path]: path for path in inputs}


def _sanitizers(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    return (f"-fsanitize={','.join(names)}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")


def _link(
    directory: Path,
    command: Sequence[str],
    objects: Sequence[Path],
    program: Path,
    libraries: Sequence[str],
) -> Path:
    temporary = program.with_suffix(f".{os.getpid()}.tmp")
    inputs = [str(path.absolute()) for path in objects]
    run_compiler((*command, "-o", str(temporary.absolute()), *inputs, *libraries), directory, temporary)
    temporary.replace(program)
    return program
