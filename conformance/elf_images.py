"""ELF files made by hand: what a loader takes, and what it must refuse, in both classes."""

import struct
from collections.abc import Mapping

from attrs import frozen

LOAD, NOTE, OTHER = 1, 4, 6
MACHINE, PHYSICAL, DEVICE, ROOM = 243, 0x4000_0000, 0x8000_0000, 4096
"""The machine of the images, and the room of their segments: two addresses, and its size."""


@frozen(kw_only=True)
class Segment:
    """A program header and its bytes; addresses count from the start of the room."""

    kind: int
    content: bytes
    at: int = 0
    bytes: int | None = None
    flags: int = 5
    apart: int = 0
    """How far the two addresses are from naming the same byte."""


def note(name: bytes, kind: int, content: bytes) -> bytes:
    """A note with its padding."""
    head = struct.pack("<III", len(name), len(content), kind)
    return head + name + bytes(-len(name) % 4) + content + bytes(-len(content) % 4)


def image(segments: tuple[Segment, ...], *, wide: bool, entry: int = DEVICE) -> bytes:
    """An executable with these segments."""
    head, size = (64, 56) if wide else (52, 32)
    start = head + size * len(segments)
    ident = b"\x7fELF" + bytes((2 if wide else 1, 1, 1)) + bytes(9)
    fields = (2, MACHINE, 1, entry, head, 0, 0, head, size, len(segments), 0, 0, 0)
    made = ident + struct.pack("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", *fields)
    offset, headers, contents = start, b"", b""
    for each in segments:
        count = len(each.content) if each.bytes is None else each.bytes
        places = (DEVICE + each.at, PHYSICAL + each.at + each.apart, len(each.content), count)
        if wide:
            headers += struct.pack("<IIQQQQQQ", each.kind, each.flags, offset, *places, 16)
        else:
            headers += struct.pack("<IIIIIIII", each.kind, offset, *places, each.flags, 16)
        contents += each.content
        offset += len(each.content)
    return made + headers + contents


def images() -> Mapping[str, bytes]:
    """Images by name, in both classes."""
    code = Segment(kind=LOAD, content=bytes(range(64)), bytes=128)
    data = Segment(kind=LOAD, content=b"data" * 8, at=256, flags=6)
    own = note(b"GNU\0", 1, b"abc") + note(b"TA\0", 2, b"x") + note(b"TA\0", 1, bytes(range(16)))
    notes = Segment(kind=NOTE, content=own, at=2048, flags=4)
    odd = note(b"TAB\0", 1, b"y") + note(b"TA", 1, b"z") + note(b"", 1, b"")
    variants: dict[str, tuple[Segment, ...]] = {
        "whole": (Segment(kind=OTHER, content=b"phdr"), notes, code, data),
        "empty-segment": (code, Segment(kind=LOAD, content=b"", at=512), notes),
        "no-note": (code, data),
        "other-notes": (code, Segment(kind=NOTE, content=odd)),
        "note-too-long": (code, Segment(kind=NOTE, content=own[:-12])),
        "nothing-to-execute": (data,),
        "larger-than-memory": (Segment(kind=LOAD, content=bytes(64), bytes=32),),
        "outside-the-room": (code, Segment(kind=LOAD, content=b"far", at=ROOM), notes),
        "too-long-for-the-room": (code, Segment(kind=LOAD, content=b"far", at=256, bytes=ROOM), notes),
        "before-the-room": (code, Segment(kind=LOAD, content=b"far", at=-64), notes),
        "addresses-disagree": (code, Segment(kind=LOAD, content=b"far", at=256, apart=16), notes),
    }
    made = {}
    for wide in (False, True):
        for name, segments in variants.items():
            made[f"{name}-{64 if wide else 32}"] = image(segments, wide=wide)
        made[f"entry-elsewhere-{64 if wide else 32}"] = image((code, notes), wide=wide, entry=DEVICE + 100)
        made[f"entry-before-{64 if wide else 32}"] = image((code, notes), wide=wide, entry=DEVICE - 4)
        last = Segment(kind=LOAD, content=b"end", at=2**31 - 2 if not wide else 2**63)
        far = (2**64 if wide else 2**32) - 2 - PHYSICAL - 256
        apart = Segment(kind=LOAD, content=b"end", at=256, apart=far)
        made[f"end-of-physical-addresses-{64 if wide else 32}"] = image((code, apart, notes), wide=wide)
        made[f"end-of-addresses-{64 if wide else 32}"] = image((code, last, notes), wide=wide)
    return made
