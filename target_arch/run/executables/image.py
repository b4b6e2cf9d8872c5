"""How much of every memory a program takes: predicted from its object files, read from the linked program.

The layout is that of the linker scripts of `target_arch.emit.build.machine` and
`target_arch.emit.build.linker`, computed again from the sections of the object files and of the library
members the linker will take. So a program that does not fit is refused before it is linked, and a linked
program that differs shows a mistake in one of the two.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from elftools.elf.elffile import ELFFile

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.machine import ALIGNMENT, ARENA_ALIGNMENT
from target_arch.plan.manifest.bundle import MachineEntry, MachineMemory
from target_arch.plan.manifest.image import FillEntry, ImageEntry, SectionEntry, StackEntry
from target_arch.run.executables.elf_objects import Object, Section, members_taken, read_library, read_object
from target_arch.run.executables.stack_depth import Depth, depth, read_calls
from target_arch.soc.rounding import round_up

CALL_GRAPH = "-fcallgraph-info=su"
"""The compiler's flag to write a call graph with stack usage beside an object file, as `.ci`."""

_WORD = 4
_CONSTANT_ALIGNMENT = 16
_KINDS = {
    ".vectors": "vector table",
    ".text": "code",
    ".rodata": "read-only data",
    ".stack": "stack",
    ".data": "variables",
    ".bss": "zeroed variables",
}


def predict(
    machine: MachineEntry, objects: Mapping[str, Path], command: Sequence[str], start: str
) -> ImageEntry:
    """The image that linking the objects will give, which are in the order of the link and by their sources.

    `command` is the compiler's, with the flags the objects were compiled with, CALL_GRAPH among them;
    `start` is the first function with a stack frame (a reset that is written in assembly has none).
    """
    own = {source: read_object(source, path.read_bytes()) for source, path in objects.items()}
    taken = members_taken(own.values(), _libraries(command))
    layout = _Layout(machine, _by_output((*own.values(), *taken)))
    calls = [
        read_calls(source, path.with_suffix(".ci").read_text(encoding="utf-8"), own[source].pointed_at)
        for source, path in objects.items()
    ]
    return ImageEntry(
        stack=stack_entry(depth(calls, start), machine.stack),
        sections=tuple(layout.sections),
        memories=tuple(
            FillEntry(
                memory=memory.name,
                capacity=memory.bytes,
                predicted=layout.used.get(memory.name, 0),
                linked=None,
            )
            for memory in machine.memories
        ),
        libraries=tuple(member.name for member in taken),
    )


def stack_entry(deepest: Depth, reserved: int) -> StackEntry:
    """The stack of a program for its manifest."""
    return StackEntry(reserved=reserved, predicted=deepest.bytes, path=deepest.path, unknown=deepest.unknown)


def require_fit(image: ImageEntry, place: str) -> None:
    """DiagnosticError with every memory that the image does not fit into, and a stack that is too small."""
    refused = [
        Diagnostic(
            rule="image-too-large",
            place=place,
            message=f"memory `{fill.memory}` has {fill.capacity:,} B, the image takes {fill.predicted:,} B: "
            + ", ".join(
                f"{part.what} {part.predicted:,} B"
                for part in image.sections
                if part.memory == fill.memory and part.predicted
            ),
            hint=f"{fill.predicted - fill.capacity:,} B too many; it was not linked",
        )
        for fill in image.memories
        if fill.predicted > fill.capacity
    ]
    if image.stack.predicted > image.stack.reserved:
        stack = image.stack
        text = (
            f"the stack has {stack.reserved:,} B, the program needs up to {stack.predicted:,} B: "
            + " -> ".join(stack.path)
        )
        hint = "give the port's table in the SoC file a larger `stack`"
        refused.append(Diagnostic(rule="stack-too-small", place=place, message=text, hint=hint))
    if refused:
        raise DiagnosticError(refused)


def as_linked(image: ImageEntry, machine: MachineEntry, program: Path) -> ImageEntry:
    """The image with the sizes of the linked program."""
    with program.open("rb") as file:
        elf = ELFFile(file)
        sizes = {each.name: int(each["sh_size"]) for each in elf.iter_sections()}
        symbols = {
            each.name: int(each["st_value"]) for each in elf.get_section_by_name(".symtab").iter_symbols()
        }
    bases = {memory.name: memory.base for memory in machine.memories}
    return evolve(
        image,
        sections=tuple(evolve(part, linked=sizes.get(part.section, 0)) for part in image.sections),
        memories=tuple(
            evolve(fill, linked=symbols[f"ta_{fill.memory}_end"] - bases[fill.memory])
            for fill in image.memories
        ),
    )


def _libraries(command: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    """libm, then libgcc and libc as one group: as the compiler's driver passes them to the linker, after the
    objects.
    """
    paths = [_asked(command, f"-print-file-name={name}") for name in ("libm.a", "libgcc.a", "libc.a")]
    libm, libgcc, libc = (read_library(Path(path)) for path in paths)
    return ((libm,), (libgcc, libc))


def _asked(command: Sequence[str], question: str) -> str:
    answer = subprocess.run((*command, question), capture_output=True, text=True, timeout=60, check=True)
    return answer.stdout.strip()


def output_section(name: str) -> str | None:
    """The output section that the linker scripts put an input section in; None where they leave it out."""
    for prefix in (".rodata.ta_", ".bss.ta_"):
        if name.startswith(prefix):
            return f".ta_{name.removeprefix(prefix)}"
    if name.startswith((".ARM.exidx", ".ARM.extab")):
        return None
    return next((known for known in _KINDS if name == known or name.startswith(f"{known}.")), name)


def _by_output(objects: Iterable[Object]) -> dict[str, list[Section]]:
    held: dict[str, list[Section]] = {}
    for each in objects:
        for section in each.sections:
            output = output_section(section.name)
            if output is not None:
                held.setdefault(output, []).append(section)
    return held


def _size(sections: Iterable[Section]) -> int:
    end = 0
    for section in sections:
        end = round_up(end, section.alignment) + section.bytes
    return end


class _Layout:
    """The scripts, section by section. `used` is how far each memory is filled."""

    def __init__(self, machine: MachineEntry, held: Mapping[str, list[Section]]) -> None:
        self.sections: list[SectionEntry] = []
        self.used: dict[str, int] = {}
        self._held = held
        code, data = machine.code, machine.data
        for name in (".vectors", ".text", ".rodata"):
            self._add(name, code, _KINDS[name], _size(held.get(name, ())), self._alignment(name))
        self._reserve(data, ".stack", machine.stack)
        variables = round_up(_size(held.get(".data", ())), _WORD)
        self._add(".data", data, _KINDS[".data"], variables, ALIGNMENT)
        self._add(".data", code, "initial values", variables, ALIGNMENT, shown=False)
        zeroed = round_up(_size(held.get(".bss", ())), _WORD)
        self._add(".bss", data, _KINDS[".bss"], zeroed, ALIGNMENT)
        for memory in machine.memories:
            self._arenas(memory, shared=memory.name in (code, data))

    def _alignment(self, name: str) -> int:
        return max((section.alignment for section in self._held.get(name, ())), default=1)

    def _reserve(self, memory: str, name: str, size: int) -> None:
        self._add(name, memory, _KINDS[name], size, 1)

    def _arenas(self, memory: MachineMemory, *, shared: bool) -> None:
        name, first = memory.name, ARENA_ALIGNMENT if shared else 1
        arenas, constants = f".ta_{name}", f".ta_{name}_constants"
        self._add(arenas, name, "arenas", 0, first)
        if self._held.get(arenas):
            self._add(arenas, name, "arenas", _size(self._held[arenas]), self._alignment(arenas))
        if self._held.get(constants):
            least = _CONSTANT_ALIGNMENT if memory.writable else 1
            size = _size(self._held[constants])
            self._add(constants, name, "constants", size, max(least, self._alignment(constants)))

    def _add(
        self, section: str, memory: str, what: str, size: int, alignment: int, *, shown: bool = True
    ) -> None:
        start = round_up(self.used.get(memory, 0), alignment)
        self.used[memory] = start + size
        if shown and size:
            self.sections.append(
                SectionEntry(section=section, memory=memory, what=what, predicted=size, linked=None)
            )
