"""The seals of a model: what of its bytes never changes, and its CRC-32C.

Tables that hold addresses have none, since only the linker knows their bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from target_arch.emit.model.arenas import EmittedArena, constants_of
from target_arch.emit.model.constants import constant_bytes
from target_arch.emit.model.inputs import Member
from target_arch.emit.model.naming import seals_symbol
from target_arch.emit.text.emitter import Emitter

_POLYNOMIAL = 0x82F63B78
"""Castagnoli's, reflected."""

_LEAST_LANE = 512
"""Bytes from which on dividing them into lanes is worth the joining."""


def seals(
    out: Emitter,
    member: Member,
    every: Sequence[EmittedArena],
    fixed: Mapping[str, bytes],
    linked: Sequence[str],
) -> None:
    """The `ta_seals` of a model: its constants, the tables `fixed` without addresses by name, and those with
    addresses by where they start, `linked`.
    """
    constants = {arena.symbol: constant_bytes(member, arena) for arena in constants_of(member, every)}
    sealed = {f"&{symbol}": (f"{len(content)}u", content) for symbol, content in constants.items()}
    sealed |= {name: (f"sizeof {name}", content) for name, content in fixed.items() if content}
    rows = [f"{{{start}, {size}, 0x{crc32c(content):08x}u, 0}}," for start, (size, content) in sealed.items()]
    rows += [f"{{{start}, sizeof {start.lstrip('&')}, 0, 1}}," for start in linked]
    out.table("static const ta_seal seals", rows)
    out.line()
    out.line(f"const ta_seals {seals_symbol(member)} = {{seals, {len(rows)}}};")


def crc32c(content: bytes) -> int:
    """CRC-32C of bytes, as `ta_crc32c` computes it: of many lanes at once, which are then joined."""
    head, rest = content[:4], content[4:]
    start = _bytewise(0xFFFFFFFF, head)
    lanes = len(rest) // _LEAST_LANE
    if lanes < 2:
        return _bytewise(start, rest) ^ 0xFFFFFFFF
    length = len(rest) // lanes
    begin, end = rest[: len(rest) - lanes * length], rest[len(rest) - lanes * length :]
    start = _bytewise(start, begin)
    return _joined(start, _lane_by_lane(end, lanes, length), length) ^ 0xFFFFFFFF


def _tables() -> np.ndarray:
    """The CRC of each byte, from a start of 0."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


_TABLE = _tables()


def _bytewise(start: int, content: bytes) -> int:
    crc = start
    for byte in content:
        crc = int(_TABLE[(crc ^ byte) & 255]) ^ crc >> 8
    return crc


def _lane_by_lane(content: bytes, lanes: int, length: int) -> np.ndarray:
    """The CRC of each lane, from a start of 0."""
    columns = np.frombuffer(content, dtype=np.uint8).reshape(lanes, length).T
    crcs = np.zeros(lanes, dtype=np.uint32)
    for column in columns:
        crcs = _TABLE[(crcs ^ column) & 255] ^ crcs >> 8
    return crcs


def _joined(start: int, lanes: np.ndarray, length: int) -> int:
    """The CRC of all lanes, one behind the other: what was in front of a lane counts as if `length` zeros
    came behind it, which change every bit of a CRC for itself.
    """
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(length):
        bits = _TABLE[bits & 255] ^ bits >> 8
    crc = np.uint32(start)
    for lane in lanes:
        set_bits = bits[(crc >> np.arange(32, dtype=np.uint32) & 1).astype(bool)]
        crc = np.bitwise_xor.reduce(set_bits, initial=np.uint32(0)) ^ lane
    return int(crc)
