"""Linked programs in a manifest: how much of every memory they take, predicted and linked."""

from collections.abc import Sequence
from typing import Annotated

from attrs import field, frozen


@frozen(kw_only=True)
class CoreSectionEntry:
    """A section of a core's firmware, whose sections are all in one memory."""

    section: str
    what: Annotated[str, "its contents"]
    predicted: Annotated[int, "bytes"]
    linked: Annotated[int | None, "bytes"]


@frozen(kw_only=True)
class SectionEntry(CoreSectionEntry):
    """An output section: its memory, its contents, its bytes as predicted and as linked."""

    memory: str


@frozen(kw_only=True)
class FillEntry:
    """How full a memory is: bytes up to the end of the last section in it, gaps included."""

    memory: str
    capacity: int
    predicted: int
    linked: int | None


@frozen(kw_only=True)
class StackEntry:
    """The stack of a program."""

    reserved: Annotated[int, "bytes"]
    predicted: Annotated[int, "the most that the call graph can need"]
    path: Annotated[tuple[str, ...], "the calls that need it"]
    unknown: Annotated[tuple[str, ...], "library functions that are not counted"]


@frozen(kw_only=True)
class ImageEntry:
    """A program on its machine. `libraries` are the members taken from libraries, in the order of linking."""

    sections: Annotated[
        tuple[SectionEntry, ...], "for each section: its memory, its contents, bytes predicted and linked"
    ]
    memories: Annotated[
        tuple[FillEntry, ...],
        "for each memory: its capacity, and bytes up to the end of the last section, gaps included",
    ]
    stack: Annotated[
        StackEntry,
        "bytes reserved; the most that the call graph can need, the path that needs it, and library "
        "functions that are not counted",
    ]
    libraries: Annotated[tuple[str, ...], "the members linked from libraries"]
    differences: Annotated[
        tuple[str, ...], "each size that was predicted wrongly; empty if there is none"
    ] = field(init=False)

    @differences.default
    def _differences(self) -> tuple[str, ...]:
        return size_differences(self.sections, self.memories)


@frozen(kw_only=True)
class FirmwareEntry:
    """The firmware of one core."""

    target_arch: Annotated[str, "the core"]
    core: Annotated[str, "the backend that names its kind"]
    image: Annotated[str, "the name of the ELF file"]
    functions: Annotated[tuple[str, ...], "its kernels, in the order of their numbers"]
    sections: Annotated[
        tuple[CoreSectionEntry, ...],
        "for each section its contents, and its bytes as predicted and as linked",
    ]
    memory: Annotated[
        FillEntry, "the memory with its capacity, and the bytes up to the end of the stack, gaps included"
    ]
    stack: Annotated[StackEntry, "as in `image`"]
    differences: Annotated[tuple[str, ...], "as in `image`"] = field(init=False)

    @differences.default
    def _differences(self) -> tuple[str, ...]:
        return size_differences(self.sections, (self.memory,))


def size_differences(sections: Sequence[CoreSectionEntry], memories: Sequence[FillEntry]) -> tuple[str, ...]:
    """Each size that the linker made otherwise, in words; none of what is not linked yet."""
    sizes = (
        *((f"section {section.section}", section.predicted, section.linked) for section in sections),
        *((f"memory {memory.memory}", memory.predicted, memory.linked) for memory in memories),
    )
    return tuple(
        f"{what}: predicted {predicted} B, linked {linked} B"
        for what, predicted, linked in sizes
        if linked is not None and linked != predicted
    )
