"""A reader of register command streams of Ethos-U55 and U65: how far into each region a stream reaches.

A stream is a list of 32-bit words. Bits 0 to 9 name the command, bits 14 and 15 say whether another word
follows (0: no, the value is in the upper half of the word; 1: yes, it is the value, and the upper half holds
its bits 32 to 47). `SET` commands fill registers, `OP` commands start what the registers describe. Names,
numbers and meanings: Arm's Ethos-U55 and U65 technical reference manuals, and the interface description that
Arm publishes with its driver.

This is a check of sizes, not a simulation: nothing is computed.
"""

import struct
from collections.abc import Iterator, Mapping

from attrs import define, field, frozen

from target_arch.soc.rounding import ceil_div

STOP, IRQ, CONV, DEPTHWISE, POOL, ELEMENTWISE = 0, 1, 2, 3, 5, 6
DMA_START, DMA_WAIT, KERNEL_WAIT, PMU_MASK = 0x10, 0x11, 0x12, 0x13
_WAITS = (IRQ, DMA_WAIT, KERNEL_WAIT, PMU_MASK)
_KERNELS = (CONV, DEPTHWISE, POOL, ELEMENTWISE)

_SHORT = {
    "IFM_PAD_TOP": 0x100,
    "IFM_PAD_LEFT": 0x101,
    "IFM_PAD_RIGHT": 0x102,
    "IFM_PAD_BOTTOM": 0x103,
    "IFM_DEPTH_M1": 0x104,
    "IFM_PRECISION": 0x105,
    "IFM_UPSCALE": 0x107,
    "IFM_WIDTH0_M1": 0x10A,
    "IFM_HEIGHT0_M1": 0x10B,
    "IFM_HEIGHT1_M1": 0x10C,
    "IFM_REGION": 0x10F,
    "OFM_WIDTH_M1": 0x111,
    "OFM_HEIGHT_M1": 0x112,
    "OFM_DEPTH_M1": 0x113,
    "OFM_PRECISION": 0x114,
    "OFM_WIDTH0_M1": 0x11A,
    "OFM_HEIGHT0_M1": 0x11B,
    "OFM_HEIGHT1_M1": 0x11C,
    "OFM_REGION": 0x11F,
    "KERNEL_WIDTH_M1": 0x120,
    "KERNEL_HEIGHT_M1": 0x121,
    "KERNEL_STRIDE": 0x122,
    "WEIGHT_REGION": 0x128,
    "SCALE_REGION": 0x129,
    "DMA0_SRC_REGION": 0x130,
    "DMA0_DST_REGION": 0x131,
    "IFM2_BROADCAST": 0x180,
    "IFM2_PRECISION": 0x185,
    "IFM2_WIDTH0_M1": 0x18A,
    "IFM2_HEIGHT0_M1": 0x18B,
    "IFM2_HEIGHT1_M1": 0x18C,
    "IFM2_REGION": 0x18F,
}
_LONG = {
    **{f"IFM_BASE{n}": n for n in range(4)},
    "IFM_STRIDE_X": 0x004,
    "IFM_STRIDE_Y": 0x005,
    "IFM_STRIDE_C": 0x006,
    **{f"OFM_BASE{n}": 0x010 + n for n in range(4)},
    "OFM_STRIDE_X": 0x014,
    "OFM_STRIDE_Y": 0x015,
    "OFM_STRIDE_C": 0x016,
    "WEIGHT_BASE": 0x020,
    "WEIGHT_LENGTH": 0x021,
    "SCALE_BASE": 0x022,
    "SCALE_LENGTH": 0x023,
    "DMA0_SRC": 0x030,
    "DMA0_DST": 0x031,
    "DMA0_LEN": 0x032,
    **{f"IFM2_BASE{n}": 0x080 + n for n in range(4)},
    "IFM2_STRIDE_X": 0x084,
    "IFM2_STRIDE_Y": 0x085,
    "IFM2_STRIDE_C": 0x086,
    "WEIGHT1_BASE": 0x090,
    "WEIGHT1_LENGTH": 0x091,
    "SCALE1_BASE": 0x092,
    "SCALE1_LENGTH": 0x093,
}
Code = tuple[int, int]
"""How many words follow, and the number of a command."""

NAMES: Mapping[Code, str] = {(0, code): name for name, code in _SHORT.items()} | {
    (1, code): name for name, code in _LONG.items()
}
CODES: Mapping[str, Code] = {name: code for code, name in NAMES.items()}

_BRICK = 16
"""Channels of one brick of the format NHCWB16."""
_UNARY = (5, 6, 7)
"""Elementwise modes with one operand: LRELU, ABS, CLZ."""
_SCALAR = 1 << 7
REGION, INTERNAL = 0x7, 1 << 8
"""Of a region register: the region's number, and the bit of memory inside the unit."""


class BadStream(Exception):
    """The words are no command stream; the text says why."""


@frozen(kw_only=True)
class Reach:
    """How far a stream goes: per region the first byte after all that is read, and after all written."""

    read: Mapping[int, int]
    written: Mapping[int, int]
    operations: int

    def ends(self) -> dict[int, int]:
        """Per region the first byte after all that is touched."""
        regions = sorted({*self.read, *self.written})
        return {region: max(self.read.get(region, 0), self.written.get(region, 0)) for region in regions}


def reach(stream: bytes) -> Reach:
    """The bytes that a stream touches. Raises BadStream where it does not end with STOP, or is cut short."""
    reader = _Reader()
    ended = False
    for code, value in commands(stream):
        if ended:
            raise BadStream("commands follow the command STOP")
        ended = code == (0, STOP)
        reader.command(code, value)
    if not ended:
        raise BadStream("it does not end with the command STOP")
    return Reach(read=reader.read, written=reader.written, operations=reader.operations)


def loads(stream: bytes, region: int, size: int) -> tuple[int, ...]:
    """Where in a region the parts of that size begin that a stream copies into the unit. Raises BadStream."""
    registers: dict[Code, int] = {}
    starts: list[int] = []
    for code, value in commands(stream):
        registers[code] = value
        if code == (0, DMA_START):
            source, target = (registers.get(CODES[f"DMA0_{end}_REGION"], 0) for end in ("SRC", "DST"))
            into = bool(target & INTERNAL) and not source & INTERNAL
            if into and source & REGION == region and registers.get(CODES["DMA0_LEN"]) == size:
                starts.append(registers.get(CODES["DMA0_SRC"], 0))
    return tuple(dict.fromkeys(starts))


def commands(stream: bytes) -> Iterator[tuple[Code, int]]:
    """Every command with its value. Raises BadStream."""
    if len(stream) % 4:
        raise BadStream(f"{len(stream)} B are no whole words")
    words = struct.unpack(f"<{len(stream) // 4}I", stream)
    at = 0
    while at < len(words):
        word, size = words[at], words[at] >> 14 & 3
        if size > 1 or word >> 10 & 0xF:
            raise BadStream(f"word {at} is 0x{word:08x}, no command")
        if at + size >= len(words):
            raise BadStream("its last command is cut short")
        yield (size, word & 0x3FF), (word >> 16 << 32 | words[at + 1]) if size else word >> 16
        at += 1 + size


@define
class _Reader:
    """The registers, and the bytes touched so far."""

    registers: dict[str, int] = field(factory=dict)
    read: dict[int, int] = field(factory=dict)
    written: dict[int, int] = field(factory=dict)
    operations: int = 0

    def command(self, code: Code, value: int) -> None:
        if code[0] == 1 or code[1] >= 0x100:
            name = NAMES.get(code)
            if name is not None:
                # Lengths, strides and steps have no upper half; addresses do.
                self.registers[name] = value
            return
        number = code[1]
        if number in _KERNELS:
            self.operations += 1
            self._kernel(number, value)
        elif number == DMA_START:
            self._dma()
        elif number != STOP and number not in _WAITS:
            raise BadStream(f"it has the unknown command 0x{number:03x}")

    def _get(self, name: str) -> int:
        if name not in self.registers:
            raise BadStream(f"an operation starts before {name} is set")
        return self.registers[name]

    def _kernel(self, number: int, mode: int) -> None:
        out = [self._get(f"OFM_{name}_M1") + 1 for name in ("HEIGHT", "WIDTH", "DEPTH")]
        self._map("OFM", out, self.written)
        depth = self._get("IFM_DEPTH_M1") + 1
        if number == ELEMENTWISE:
            self._map("IFM", [*out[:2], depth], self.read)
            self._second(out, mode)
            return
        self._map("IFM", [*self._window(out), depth], self.read)
        if number in (CONV, DEPTHWISE):
            for name in ("WEIGHT", "SCALE", "WEIGHT1", "SCALE1"):
                self._stream(name)

    def _window(self, out: list[int]) -> list[int]:
        """Height and width of the input that a window over the output reads."""
        word = self._get("KERNEL_STRIDE")
        steps = {
            "HEIGHT": 1 + ((word >> 1 & 1) | (word >> 9 & 7) << 1),
            "WIDTH": 1 + ((word & 1) | (word >> 6 & 7) << 1),
        }
        pads = {"HEIGHT": ("TOP", "BOTTOM"), "WIDTH": ("LEFT", "RIGHT")}
        found = []
        for extent, (name, step) in zip(out, steps.items(), strict=False):
            around = sum(self._get(f"IFM_PAD_{side}") for side in pads[name])
            size = (extent - 1) * step + self._get(f"KERNEL_{name}_M1") + 1 - around
            found.append(ceil_div(size, 2) if self.registers.get("IFM_UPSCALE", 0) else size)
        return found

    def _second(self, out: list[int], mode: int) -> None:
        """The second operand of an elementwise operation, which may be repeated or a number."""
        repeated = self._get("IFM2_BROADCAST")
        if mode in _UNARY or repeated & _SCALAR:
            return
        self._map("IFM2", [1 if repeated >> bit & 1 else out[bit] for bit in range(3)], self.read)

    def _stream(self, name: str) -> None:
        """Encoded weights or scales; a second core has its own."""
        if f"{name}_LENGTH" not in self.registers or self.registers[f"{name}_LENGTH"] == 0:
            return
        region = self._get(f"{name.rstrip('1')}_REGION") & REGION
        self._touch(self.read, region, self._get(f"{name}_BASE") + self._get(f"{name}_LENGTH"))

    def _map(self, name: str, sizes: list[int], into: dict[int, int]) -> None:
        """A feature map: up to four tiles, each at a base of its own."""
        height, width, depth = sizes
        precision = self._get(f"{name}_PRECISION")
        first = {
            "HEIGHT0": self._get(f"{name}_HEIGHT0_M1") + 1,
            "HEIGHT1": self._get(f"{name}_HEIGHT1_M1") + 1,
            "WIDTH0": self._get(f"{name}_WIDTH0_M1") + 1,
        }
        region = self._get(f"{name}_REGION") & REGION
        left, right = min(width, first["WIDTH0"]), width - first["WIDTH0"]
        tiles = (
            (min(height, first["HEIGHT0"]), left),
            (min(height, first["HEIGHT1"]), right),
            (height - first["HEIGHT0"], left),
            (height - first["HEIGHT1"], right),
        )
        for tile, (rows, columns) in enumerate(tiles):
            if rows > 0 and columns > 0:
                end = self._corner(name, rows, columns, depth, precision)
                self._touch(into, region, self._get(f"{name}_BASE{tile}") + end)

    def _corner(self, name: str, rows: int, columns: int, depth: int, precision: int) -> int:
        """The first byte after a tile, from its base."""
        size = _element_bytes(name, precision)
        down = (rows - 1) * self._get(f"{name}_STRIDE_Y")
        if precision >> 6 & 3 == 1:
            across = (columns - 1) * _BRICK * size + _BRICK * size
            return down + across + (ceil_div(depth, _BRICK) - 1) * self._get(f"{name}_STRIDE_C")
        return down + (columns - 1) * self._get(f"{name}_STRIDE_X") + depth * size

    def _dma(self) -> None:
        size = self._get("DMA0_LEN")
        for end, into in (("SRC", self.read), ("DST", self.written)):
            region = self._get(f"DMA0_{end}_REGION")
            if region >> 9 & 3:
                raise BadStream("it has a DMA transfer of more than one dimension")
            if not region & INTERNAL:
                self._touch(into, region & REGION, self._get(f"DMA0_{end}") + size)

    def _touch(self, into: dict[int, int], region: int, end: int) -> None:
        into[region] = max(into.get(region, 0), end)


def is_operation(code: Code) -> bool:
    """True for commands that start something, or wait for it."""
    return code[0] == 0 and code[1] < 0x100


def written(code: Code, value: int) -> bytes:
    """A command as words."""
    size, number = code
    if size == 0:
        return struct.pack("<I", value << 16 | number)
    return struct.pack("<II", value >> 32 << 16 | size << 14 | number, value & 0xFFFFFFFF)


def _element_bytes(name: str, precision: int) -> int:
    """Bytes of an element: input maps have the size in bits 2 and 3, output maps in bits 1 and 2."""
    bits = precision >> (1 if name == "OFM" else 2) & 3
    return 1 << bits
