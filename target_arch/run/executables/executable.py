"""Build a bundle on this machine.

Objects are kept by the hash of everything that went into them, so that a second build, or one of a bundle
that differs in a line, compiles only what changed. A project that takes a bundle along uses its Makefile or
CMakeLists.txt instead.
"""

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import FLAGS, library_sources, programs
from target_arch.emit.build.libraries import QUIET
from target_arch.emit.digests import FILES
from target_arch.run.bundles.errors import unwritable
from target_arch.run.bundles.manifest import has_vectors, tensors_in, unchanged
from target_arch.run.executables import rtl as verilated
from target_arch.run.executables.firmware import FirmwareImage, build_firmware
from target_arch.run.executables.image import CALL_GRAPH, Image, as_linked, predict, require_fit
from target_arch.run.executables.libraries import Libraries, libraries_of
from target_arch.run.executables.machine import CrossMachine, machine_in
from target_arch.run.tools.toolchain import Compiler, find_compiler, find_cross_compiler

_TIMEOUT = 600.0
_SHOWN_LINES = 20


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
    machine: CrossMachine | None
    image: Image | None = field(repr=False)
    firmware: tuple[FirmwareImage, ...] = field(repr=False)
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    tracer: Path | None
    manifest: Mapping[str, Any] = field(repr=False)


def build(
    directory: Path,
    *,
    sanitize: Sequence[str] = (),
    compiler: Compiler | None = None,
    optimize: str = "-O2",
    cache: Path | None = None,
    rtl: bool = False,
    firmware: bool = False,
    tracer: str | None = None,
) -> Executable:
    """Compile and link the bundle in `directory` into its folder `build`; objects go to `cache`, there by
    default.

    `sanitize` are names for `-fsanitize`, such as `address` and `undefined`. Warnings are errors. With `rtl`
    the devices that have RTL are simulated by it, Verilated; with `firmware` cores that take firmware are
    processes of their own that execute it, under an emulator. `tracer` is the text of one more program,
    linked with the bundle's objects. DiagnosticError where this is no bundle, has no such device, is replaced
    meanwhile, or the compiler refuses it; ToolMissing without a compiler, Verilator or an emulator.
    """
    with unchanged(directory) as manifest:
        machine = machine_in(manifest)
        cc = compiler or _compiler(machine)
        folder = directory / "build"
        images = build_firmware(directory, folder) if firmware else ()
        foreign = libraries_of(directory, manifest)
        machines = _host_flags(sanitize) if machine is None else (*machine.flags, CALL_GRAPH)
        command = (*cc.command, *_flags(optimize, foreign, machines, images))
        files = _sources(directory, manifest)
        paths = sorted(path.relative_to(directory).as_posix() for path in files)
        engines = _engines(directory, paths) if rtl else ()
        objects = _prepared(cache or folder / "objects", folder)
        simulated = set(map(verilated.simulator_source, engines))
        library = [each for each in (*library_sources(paths), *foreign.elsewhere) if each not in simulated]
        mains = {program: f"src/{program}.c" for program in programs(paths)}
        if tracer is not None:
            mains |= {"tracer": _written(folder / "tracer.c", tracer)}
        sources = (*library, *mains.values())
        made = _compile_all(directory, sources, command, cc.version, objects, foreign, files)
        common = [made[source] for source in library]
        for engine in engines:
            common += verilated.objects(engine, directory, folder, _sanitizers(sanitize))
        common += [_image_object(image, cc, folder) for image in images]
        link = _Linking(
            directory=directory,
            manifest=manifest,
            machine=machine,
            command=command,
            libraries=_libraries(manifest, machine, cxx=bool(engines)),
            made=made,
        )
        linked = {
            program: link.program(program, [made[source], *common]) for program, source in mains.items()
        }
        runner, image = linked["runner"]
        return Executable(
            directory=directory,
            runner=runner,
            self_test=linked["selftest"][0] if has_vectors(manifest) else None,
            machine=machine,
            image=image,
            firmware=images,
            input_bytes=tuple(tensor["bytes"] for tensor in tensors_in(manifest, "inputs")),
            output_bytes=tuple(tensor["bytes"] for tensor in tensors_in(manifest, "outputs")),
            tracer=linked["tracer"][0] if tracer is not None else None,
            manifest=manifest,
        )


def _compiler(machine: CrossMachine | None) -> Compiler:
    return find_compiler() if machine is None else find_cross_compiler(machine.compiler, machine.packages)


def _flags(
    optimize: str, foreign: Libraries, machines: Sequence[str], images: Sequence[FirmwareImage]
) -> tuple[str, ...]:
    own = (flag for image in images for flag in image.flags())
    return (*FLAGS.split(), optimize, "-Iinclude", "-Iruntime", *foreign.flags, *machines, *own)


def _host_flags(sanitize: Sequence[str]) -> tuple[str, ...]:
    return ("-pthread", *_sanitizers(sanitize))


def _prepared(objects: Path, folder: Path) -> Path:
    try:
        folder.mkdir(exist_ok=True)
        objects.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return objects


def _written(path: Path, text: str) -> str:
    """The path of a source below the bundle's folder, written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path.parent, error) from error
    return path.relative_to(path.parent.parent).as_posix()


def _libraries(manifest: Mapping[str, Any], machine: CrossMachine | None, *, cxx: bool) -> tuple[str, ...]:
    """The libraries after the objects of a link."""
    system = tuple(f"-l{name}" for name in manifest["toolchain"]["libraries"])
    last = () if machine is None else machine.link
    return (*system, *(("-lstdc++",) if cxx else ()), *last)


@frozen(kw_only=True)
class _Linking:
    """How the programs of a bundle are linked. `made` are the objects by their sources."""

    directory: Path
    manifest: Mapping[str, Any]
    machine: CrossMachine | None
    command: tuple[str, ...]
    libraries: tuple[str, ...]
    made: Mapping[str, Path]

    def program(self, name: str, objects: Sequence[Path]) -> tuple[Path, Image | None]:
        """The program, and its image where it is for a machine: predicted, refused where it does not fit."""
        target = self.directory / "build" / name
        if self.machine is None:
            return _link(self.directory, self.command, objects, target, self.libraries), None
        by_source = _by_source(self.made, objects)
        predicted = predict(self.manifest, by_source, self.command, self.machine.start)
        require_fit(predicted, str(self.directory))
        linked = _link(self.directory, self.command, objects, target, self.libraries)
        return linked, as_linked(predicted, self.manifest, linked)


def _image_object(image: FirmwareImage, cc: Compiler, folder: Path) -> Path:
    """The object that holds a firmware image for the host's load process."""
    source, made = (folder / f"{image.target_arch}_image.{suffix}" for suffix in ("c", "o"))
    source.write_text(image.source(), encoding="utf-8")
    _run((*cc.command, *FLAGS.split(), "-c", "-o", made.name, source.name), folder, made)
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


def _sources(directory: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """The sources and headers that the manifest lists: the folder may hold foreign ones too."""
    roots = ("include/", "libraries/", "runtime/", "src/")
    paths = [directory / path for path in manifest.get(FILES, ()) if path.startswith(roots)]
    return [path for path in paths if path.suffix in {".c", ".h"} and path.is_file()]


def _compile_all(
    directory: Path,
    sources: Sequence[str],
    command: Sequence[str],
    version: str,
    objects: Path,
    foreign: Libraries,
    files: Sequence[Path],
) -> dict[str, Path]:
    """Object file of each source, compiled where it is not there yet; `files` are those of the bundle."""
    headers = hashlib.sha256("\0".join((*command, version)).encode())
    others = [path for folder in foreign.headers for path in folder.rglob("*.h")]
    for path in sorted((*files, *others)):
        if path.suffix == ".h":
            headers.update(str(path).removeprefix(str(directory)).encode() + b"\0" + path.read_bytes())

    def one(source: str) -> Path:
        key = headers.copy()
        key.update(source.encode() + b"\0" + (directory / source).read_bytes())
        made = objects / f"{Path(source).stem}-{key.hexdigest()[:24]}.o"
        if not made.exists():
            temporary = made.with_suffix(f".{os.getpid()}.tmp")
            own = (*command, QUIET) if foreign.is_foreign(source) else command
            _run((*own, "-c", "-o", str(temporary.absolute()), source), directory, temporary)
            calls = temporary.with_suffix(".ci")
            if calls.exists():
                calls.replace(made.with_suffix(".ci"))
            temporary.replace(made)
        return made

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(zip(sources, pool.map(one, sources), strict=True))


def _link(
    directory: Path,
    command: Sequence[str],
    objects: Sequence[Path],
    program: Path,
    libraries: Sequence[str],
) -> Path:
    temporary = program.with_suffix(f".{os.getpid()}.tmp")
    inputs = [str(path.absolute()) for path in objects]
    _run((*command, "-o", str(temporary.absolute()), *inputs, *libraries), directory, temporary)
    temporary.replace(program)
    return program


def _run(command: Sequence[str], directory: Path, output: Path) -> None:
    try:
        answer = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        output.unlink(missing_ok=True)
        raise _failed(directory, f"the C compiler did not end within {_TIMEOUT:.0f} s") from None
    if answer.returncode != 0:
        output.unlink(missing_ok=True)
        said = "\n".join(answer.stderr.strip().splitlines()[:_SHOWN_LINES])
        raise _failed(directory, f"the C compiler refuses the bundle:\n{said}")


def _failed(directory: Path, message: str) -> DiagnosticError:
    hint = "the files may have been edited, or mixed from two bundles; `compile` writes them anew"
    return DiagnosticError(
        [Diagnostic(rule="build-failed", place=str(directory), message=message, hint=hint)]
    )
