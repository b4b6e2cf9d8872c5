"""CRC-32C (Castagnoli), as `ta_crc32c` of the runtime computes it: of iSCSI, SSE4.2 and Armv8.

Many bytes are divided into lanes of equal length, whose CRCs are computed side by side, two bytes at a time,
and then joined: the CRC of two texts is that of the first, moved on by the length of the second, xor that of
the second, and moving on is a linear map over 32 bits. Tests: `tests/emit/test_crc32c.py`.
"""

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF
_SHORT = 1 << 14
"""Fewer bytes than these are not worth lanes."""
_LONG = 1 << 20
"""From so many on, more lanes are faster: what is done for a step of all takes longer than to begin it."""

_Words = NDArray[np.uint32]


def crc32c(data: bytes | memoryview) -> int:
    """The CRC-32C of the bytes; 0 of none."""
    rest = _ALL
    lanes = 1 << 14 if len(data) >= _LONG else 1 << 12
    pairs = len(data) // (2 * lanes) * lanes if len(data) >= _SHORT else 0
    whole = 2 * pairs
    if pairs:
        rest = _of_lanes(np.frombuffer(data, dtype="<u2", count=pairs).reshape(lanes, -1), rest)
    table = _TABLE.tolist()
    for byte in bytes(data[whole:]):
        rest = rest >> 8 ^ table[(rest ^ byte) & 0xFF]
    return rest ^ _ALL


def _of_lanes(lanes: NDArray[np.uint16], rest: int) -> int:
    """The register after all lanes of two bytes each, one behind the other, where it was `rest` before."""
    registers = np.zeros(len(lanes), dtype=np.uint32)
    registers[0] = rest
    for column in np.ascontiguousarray(lanes.T):
        registers = registers >> np.uint32(16) ^ _PAIRS.take((registers ^ column).astype(np.uint16))
    move = _moved_on(2 * lanes.shape[1])
    while len(registers) > 1:
        registers = _applied(move, registers[::2]) ^ registers[1::2]
        move = _applied(move, move)
    return int(registers[0])


def _moved_on(zeros: int) -> _Words:
    """The map that so many zero bytes are to a register: what becomes of each bit of it."""
    step = _ONE_BYTE
    move = _BITS
    while zeros:
        if zeros & 1:
            move = _applied(step, move)
        step = _applied(step, step)
        zeros >>= 1
    return move


def _applied(move: _Words, registers: _Words) -> _Words:
    """The map of each register: the sum, over its bits that are set, of what becomes of them."""
    bits = registers[:, None] & _BITS != 0
    total: _Words = np.bitwise_xor.reduce(np.where(bits, move, np.uint32(0)), axis=1)
    return total


def _table(bits: int) -> _Words:
    """The contribution of each value of the lowest bits to a register that they leave."""
    entries = np.arange(1 << bits, dtype=np.uint32)
    for _ in range(bits):
        odd = entries & np.uint32(1)
        entries = entries >> np.uint32(1) ^ odd * np.uint32(_POLYNOMIAL)
    return entries


_TABLE = _table(8)
_PAIRS = _table(16)
_BITS: _Words = np.uint32(1) << np.arange(32, dtype=np.uint32)
_ONE_BYTE: _Words = _BITS >> np.uint32(8) ^ np.where(
    _BITS < 256, _TABLE[_BITS & np.uint32(0xFF)], np.uint32(0)
)
