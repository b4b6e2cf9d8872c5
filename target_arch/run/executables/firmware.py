"""The firmware of a bundle's cores: ELF images, the boot ROMs of their emulators, and the host's flags to
load them.

Kernels are the object files that the bundle brings; clang compiles the rest and `ld.lld` links, for any core.
The sizes of an image are predicted from its object files, as the linker script lays them out, before it is
linked, and read from it afterwards.
"""

import io
import json
import shutil
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from elftools.elf.elffile import ELFFile

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import FLAGS
from target_arch.emit.build.firmware import DESCRIPTION, FOLDER, STACK_OPTION
from target_arch.plan.manifest.image import CoreSectionEntry, FillEntry, FirmwareEntry
from target_arch.run.executables.elf_objects import Object, Section, read_object
from target_arch.run.executables.emulated import require_room
from target_arch.run.executables.image import stack_entry
from target_arch.run.executables.stack_depth import INDIRECT, Calls, Depth, depth
from target_arch.run.executables.stack_frames import read_frames
from target_arch.run.tools.toolchain import missing
from target_arch.soc.cores import CORES, Core
from target_arch.soc.rounding import round_up

PACKAGES = {"clang": "clang", "ld.lld": "lld", "llvm-objdump": "llvm"}
EMULATOR_PACKAGE = "qemu-user"

_SOURCES = ("firmware", "library")
_MAIN = "ta_firmware_main"  # the entry gives it an empty stack
_SECTIONS = {
    ".note": ("resource table", 4),
    ".text": ("code", 1),
    ".rodata": ("read-only data", 1),
    ".data": ("variables", 64),
    ".bss": ("zeroed variables", 64),
}
"""Output sections in their order, their contents, and the alignment the linker script gives them."""
_INPUTS = {".note.target_arch": ".note", ".sdata": ".data", ".sbss": ".bss"}
_UNUSED = ".text.tvm.fp16.conv"
_TIMEOUT = 120.0
_SHOWN_LINES = 20
_IMAGE_MEMBERS = 20


@frozen(kw_only=True)
class FirmwareImage:
    """The image of one target_arch. `path` is the ELF file, `boot` the ROM its emulator starts with; `parts`
    and `fill` are the sections in the memory, the stack among them; `stack` is how deep that can get.
    """

    target_arch: str
    core: Core
    path: Path
    boot: Path
    parts: tuple[CoreSectionEntry, ...]
    fill: FillEntry
    stack: Depth
    description: Mapping[str, Any] = field(repr=False)

    @property
    def reserved(self) -> int:
        """Bytes that the stack has."""
        return next(part.predicted for part in self.parts if part.section == ".stack")

    @property
    def entry(self) -> FirmwareEntry:
        """The value as it stands in the manifest."""
        return FirmwareEntry(
            target_arch=self.target_arch,
            core=self.core.name,
            image=self.path.name,
            functions=tuple(self.description["functions"]),
            sections=self.parts,
            memory=self.fill,
            stack=stack_entry(self.stack, self.reserved),
        )

    def flags(self) -> tuple[str, ...]:
        """Flags for the host's compiler, so that the bundle loads this image."""
        about, image = self.description, self.path.read_bytes()
        macro = f"{about['prefix']}_IMAGE_{about['macro']}"
        return (
            "-DTA_FIRMWARE",
            f"-D{macro}={_symbol(self.target_arch)}",
            f"-D{macro}_BYTES={len(image)}u",
            f"-D{macro}_CRC32=0x{zlib.crc32(image):08x}u",
            f'-DTA_EMULATOR_{about["macro"]}="{self.core.emulator}"',
            f'-DTA_BOOT_{about["macro"]}="{self.boot.absolute()}"',
        )

    def source(self) -> str:
        """The image as C."""
        image = self.path.read_bytes()
        rows = [
            "    " + ", ".join(str(byte) for byte in image[start : start + _IMAGE_MEMBERS]) + ","
            for start in range(0, len(image), _IMAGE_MEMBERS)
        ]
        symbol = _symbol(self.target_arch)
        head = ("#include <stdint.h>", f"extern const uint8_t {symbol}[];", f"const uint8_t {symbol}[] = {{")
        return "\n".join((*head, *rows, "};")) + "\n"


def _symbol(arch: str) -> str:
    return f"ta_image_{arch}"


def described(directory: Path) -> tuple[Mapping[str, Any], ...]:
    """The description of the firmware of the bundle in a folder; empty where it has none."""
    path = directory / DESCRIPTION
    return tuple(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else ()


def kernels_fill(files: Mapping[str, bytes]) -> dict[str, FillEntry]:
    """The bytes that kernels and stack of every firmware take of its memory, by target_arch, from the files
    of a bundle with firmware that is not built yet.
    """
    found = {}
    for about in json.loads(files[DESCRIPTION]):
        arch, memory = about["target_arch"], about["memory"]
        paths = [f"{FOLDER}/{arch}/{name}.o" for name in about["functions"]]
        _, used = _predict([read_object(path, files[path]) for path in paths], about)
        found[arch] = _fill(memory, used)
    return found


def build_firmware(directory: Path, folder: Path) -> tuple[FirmwareImage, ...]:
    """Compile and link the firmware of every core of the bundle in `directory` into `folder`.

    DiagnosticError where it has none, or one that does not fit or that a compiler refuses, and where the
    emulator has no room for a memory of the core; ToolMissing without clang, lld or the emulator of a core.
    """
    found = described(directory)
    if not found:
        hint = "it needs a target_arch with a backend such as `hexagon` and the load process `firmware`"
        raise _refused(directory, "no core of this bundle takes firmware", hint, "no-firmware")
    for about in found:
        if about["not_shared"]:
            message = f"`{about['target_arch']}` works in {about['not_shared']}, of the host's own process"
            raise _refused(directory, message, None, "no-firmware")
    return tuple(_build(directory.absolute(), folder.absolute(), about) for about in found)


def _build(directory: Path, folder: Path, about: Mapping[str, Any]) -> FirmwareImage:
    core, arch = CORES[about["core"]], about["target_arch"]
    _, linker, reader = (_tool(name, package) for name, package in PACKAGES.items())
    _tool(core.emulator, EMULATOR_PACKAGE)
    work = folder / f"firmware_{arch}"
    work.mkdir(parents=True, exist_ok=True)
    made = [_compiled(directory, work, core, about, name) for name in (*_SOURCES, f"../../{arch}")]
    kernels = [directory / "firmware" / arch / f"{name}.o" for name in about["functions"]]
    objects = [read_object(path.name, path.read_bytes()) for path in (*made, *kernels)]
    parts, used = _predict(objects, about)
    memory = about["memory"]
    fill = _fill(memory, used)
    stack = _stack([*made, *kernels], directory, reader, about)
    _require_fit(directory, arch, parts, fill, stack)
    image = folder / (about["image"] or f"{arch}.elf")
    inputs = [str(path.absolute()) for path in (*made, *kernels)]
    script = str((directory / "firmware" / f"{arch}.ld").absolute())
    link = (linker, "-O0", "-static", "--orphan-handling=error", "-z", "max-page-size=64", "-T", script)
    _run((*link, *inputs, "-o", str(image.absolute())), directory)
    boot = folder / f"{arch}_boot.elf"
    rom = _compiled(directory, work, core, about, "boot")
    _run((linker, "-static", f"--image-base=0x{core.rom:x}", str(rom), "-o", str(boot.absolute())), directory)
    require_room(directory, core, boot.absolute(), about)
    return _linked(
        FirmwareImage(
            target_arch=arch,
            core=core,
            path=image,
            boot=boot,
            parts=parts,
            fill=fill,
            stack=stack,
            description=about,
        )
    )


def compile_command(core: Core) -> tuple[str, ...]:
    """The command that compiles a C file of a firmware, but for its macros and paths."""
    warnings = FLAGS.split()
    alone = ("-ffreestanding", "-fno-pic", "-fno-builtin", "-fno-asynchronous-unwind-tables")
    return ("clang", f"--target={core.triple}", *core.flags, *warnings, "-O2", *alone)


def _compiled(directory: Path, work: Path, core: Core, about: Mapping[str, Any], name: str) -> Path:
    made = work / f"{Path(name).name}.o"
    source = f"firmware/runtime/firmware/{name}.c"
    macros = (
        f"-DTA_FIRMWARE_FUNCTIONS={len(about['functions'])}u",
        f"-DTA_FIRMWARE_ABI_HASH={about['abi_hash']}ULL",
    )
    include = ("-Iinclude", "-Ifirmware/runtime")
    _run((*compile_command(core), *macros, *include, "-c", source, "-o", str(made.absolute())), directory)
    return made.absolute()


def _fill(memory: Mapping[str, Any], used: int) -> FillEntry:
    return FillEntry(memory=memory["name"], capacity=memory["bytes"], predicted=used, linked=None)


def _predict(objects: Sequence[Object], about: Mapping[str, Any]) -> tuple[tuple[CoreSectionEntry, ...], int]:
    """Every section, and how far the memory is filled behind the last."""
    held = _by_output(objects)
    at, parts = 0, []
    for name, (what, least) in _SECTIONS.items():
        inputs = held.get(name, [])
        if not inputs:
            continue
        start = round_up(at, max(least, *(each.alignment for each in inputs)))
        end = start
        for each in inputs:
            end = round_up(end, each.alignment) + each.bytes
        parts.append(CoreSectionEntry(section=name, what=what, predicted=end - start, linked=None))
        at = end
    stack = round_up(about["stack"], 64)
    parts.append(CoreSectionEntry(section=".stack", what="stack", predicted=stack, linked=None))
    return tuple(parts), round_up(at, 64) + stack


def _stack(objects: Sequence[Path], directory: Path, reader: str, about: Mapping[str, Any]) -> Depth:
    """How deep the stack gets below the main loop, which calls every function of the table."""
    functions = tuple(about["functions"])
    files = [Calls(source="src/table", frames={}, edges=((_MAIN, INDIRECT),), points_at=functions)]
    for path in objects:
        listing = _run((reader, "-dr", "--no-show-raw-insn", str(path)), directory)
        files.append(read_frames(about["core"], f"src/{path.stem}", listing, ()))
    try:
        return depth(files, _MAIN)
    except ValueError as error:
        message = f"the stack of the firmware of `{about['target_arch']}` has no bound: {error}"
        raise _refused(directory, message, None, "stack-unbounded") from None


def _by_output(objects: Sequence[Object]) -> dict[str, list[Section]]:
    held: dict[str, list[Section]] = {}
    for each in objects:
        for section in each.sections:
            output = _output(section.name)
            if output is not None:
                held.setdefault(output, []).append(section)
    return held


def _output(name: str) -> str | None:
    if name == _UNUSED or name.startswith(".eh_frame"):
        return None
    if name in _INPUTS:
        return _INPUTS[name]
    return next((known for known in _SECTIONS if name == known or name.startswith(f"{known}.")), name)


def _require_fit(
    directory: Path, arch: str, parts: Sequence[CoreSectionEntry], fill: FillEntry, stack: Depth
) -> None:
    reserved = parts[-1].predicted
    if stack.bytes > reserved:
        message = (
            f"the stack of the firmware of `{arch}` has {reserved:,} B, it needs up to {stack.bytes:,} B: "
            + " -> ".join(stack.path)
        )
        hint = f"give `{arch}` a larger `{STACK_OPTION}` in the SoC file; nothing was linked"
        raise _refused(directory, message, hint, "stack-too-small")
    if fill.predicted <= fill.capacity:
        return
    sizes = ", ".join(f"{part.what} {part.predicted:,} B" for part in parts if part.predicted)
    message = (
        f"memory `{fill.memory}` has {fill.capacity:,} B, the firmware of `{arch}` takes "
        f"{fill.predicted:,} B: {sizes}"
    )
    raise _refused(directory, message, None, "image-too-large")


def _linked(image: FirmwareImage) -> FirmwareImage:
    """The image with the sizes that the linked file has."""
    elf = ELFFile(io.BytesIO(image.path.read_bytes()))
    sizes = {section.name: section["sh_size"] for section in elf.iter_sections()}
    base = image.description["memory"]["device"]
    ends = [each["p_vaddr"] + each["p_memsz"] for each in elf.iter_segments() if each["p_type"] == "PT_LOAD"]
    return evolve(
        image,
        parts=tuple(evolve(part, linked=sizes.get(part.section, 0)) for part in image.parts),
        fill=evolve(image.fill, linked=max(ends) - base),
    )


def _tool(name: str, package: str) -> str:
    if shutil.which(name) is None:
        hint = f"install it (`apt-get install {package}`), or run `make simulators` in a checkout"
        raise missing(name, f"`{name}` not found; firmware needs it", hint)
    return name


def _run(command: Sequence[str], directory: Path) -> str:
    try:
        answer = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"`{command[0]}` did not end within {_TIMEOUT:.0f} s"
        raise _refused(directory, message, None, "firmware-failed") from None
    if answer.returncode != 0:
        said = "\n".join(answer.stderr.strip().splitlines()[:_SHOWN_LINES])
        raise _refused(directory, f"`{command[0]}` refuses the firmware:\n{said}", None, "firmware-failed")
    return answer.stdout


def _refused(directory: Path, message: str, hint: str | None, rule: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place=str(directory), message=message, hint=hint)])
