"""The contents of object files and libraries: sections, symbols, and which members of a library a linker
takes.
"""

import io
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

_ARCHIVE_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60


@frozen(kw_only=True)
class Section:
    """A section of an object file that takes memory in the image."""

    name: str
    bytes: int
    alignment: int


@frozen(kw_only=True)
class Object:
    """An object file: `path`, or `library(member)`.

    `defined` and `undefined` are its global symbols, undefined ones without the weak. `pointed_at` are the
    functions whose addresses stand in its data, the vector table left out.
    """

    name: str
    sections: tuple[Section, ...]
    defined: frozenset[str] = field(repr=False)
    undefined: tuple[str, ...] = field(repr=False)
    pointed_at: tuple[str, ...] = field(repr=False)


def read_object(name: str, content: bytes) -> Object:
    """The object file with that content."""
    elf = ELFFile(io.BytesIO(content))
    sections = tuple(
        Section(name=each.name, bytes=each["sh_size"], alignment=max(1, each["sh_addralign"]))
        for each in elf.iter_sections()
        if each["sh_flags"] & SH_FLAGS.SHF_ALLOC and each["sh_size"]
    )
    table = elf.get_section_by_name(".symtab")
    symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    visible = [each for each in symbols if each["st_info"]["bind"] != "STB_LOCAL" and each.name]
    return Object(
        name=name,
        sections=sections,
        defined=frozenset(each.name for each in visible if each["st_shndx"] != "SHN_UNDEF"),
        undefined=tuple(
            each.name
            for each in visible
            if each["st_shndx"] == "SHN_UNDEF" and each["st_info"]["bind"] == "STB_GLOBAL"
        ),
        pointed_at=_pointed_at(elf, [each.name for each in symbols]),
    )


def _pointed_at(elf: ELFFile, names: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection) and section.name.startswith((".rel.rodata", ".rel.data")):
            for relocation in section.iter_relocations():
                found[names[relocation["r_info_sym"]]] = None
    return tuple(name for name in found if name)


@frozen(kw_only=True)
class ArchiveFile:
    """A static library: the symbols of its index with the offset of the member that defines each, in
    order."""

    name: str
    content: bytes = field(repr=False)
    index: tuple[tuple[str, int], ...] = field(repr=False)

    def member(self, offset: int) -> Object:
        """The member whose header is at that offset."""
        header = self.content[offset : offset + _HEADER_BYTES]
        start = offset + _HEADER_BYTES
        content = self.content[start : start + int(header[48:58])]
        return read_object(f"{self.name}({self._name(header[:16].decode().rstrip())})", content)

    def _name(self, written: str) -> str:
        """`memcpy.o/`, or `/123`: an offset into the table of long names."""
        if not written.startswith("/"):
            return written.rstrip("/")
        names = _members(self.content).get("//", b"")
        return names[int(written[1:]) :].split(b"/\n", 1)[0].decode()


def read_library(path: Path) -> ArchiveFile:
    """The library in a file. ValueError where it is none, or has no index."""
    content = path.read_bytes()
    if not content.startswith(_ARCHIVE_MAGIC):
        raise ValueError(f"{path} is not a static library")
    index = _members(content).get("/", b"")
    (count,) = struct.unpack_from(">I", index)
    offsets = struct.unpack_from(f">{count}I", index, 4)
    names = index[4 + 4 * count :].split(b"\0")[:count]
    pairs = tuple((name.decode(), offset) for name, offset in zip(names, offsets, strict=True))
    return ArchiveFile(name=path.name, content=content, index=pairs)


def _members(content: bytes) -> Mapping[str, bytes]:
    """The special members at the start of a library: `/` the index, `//` long names."""
    found: dict[str, bytes] = {}
    at = len(_ARCHIVE_MAGIC)
    while content[at : at + 1] == b"/" and len(found) < 2:
        header = content[at : at + _HEADER_BYTES]
        size = int(header[48:58])
        found[header[:16].decode().rstrip()] = content[at + _HEADER_BYTES : at + _HEADER_BYTES + size]
        at += _HEADER_BYTES + size + size % 2
    return found


def members_taken(objects: Iterable[Object], groups: Sequence[Sequence[ArchiveFile]]) -> tuple[Object, ...]:
    """The members that GNU ld takes of libraries, in the order in which it takes them.

    Each group is searched until nothing more is found in it, before the next one.
    """
    link = _Link(list(objects))
    for group in groups:
        before = -1
        while before != len(link.taken):
            before = len(link.taken)
            for library in group:
                link.search(library)
    return tuple(link.taken)


class _Link:
    """Symbols of a link under way."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.taken: list[Object] = []
        self._seen: set[tuple[str, int]] = set()
        self._defined = {name for each in objects for name in each.defined}
        self._wanted = {name for each in objects for name in each.undefined}

    def search(self, library: ArchiveFile) -> None:
        """Take the wanted members, going through the index until a whole round finds nothing."""
        found = True
        while found:
            found = False
            for symbol, offset in library.index:
                wanted = symbol in self._wanted and symbol not in self._defined
                if wanted and (library.name, offset) not in self._seen:
                    self._seen.add((library.name, offset))
                    self._take(library.member(offset))
                    found = True

    def _take(self, member: Object) -> None:
        self.taken.append(member)
        self._defined |= member.defined
        self._wanted |= set(member.undefined)
