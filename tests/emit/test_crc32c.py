"""CRC-32C is that of its definition, bit by bit, at any length: lanes begin at 16 KiB, more at 1 MiB."""

from functools import cache

import numpy as np
import pytest

from target_arch.emit.crc32c import crc32c


@cache
def shifted_out(register: int) -> int:
    """A register after eight bits."""
    for _ in range(8):
        register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register = register >> 8 ^ shifted_out((register ^ byte) & 0xFF)
    return register ^ 0xFFFFFFFF


def test_the_check_value_of_the_catalogue() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


@pytest.mark.parametrize("length", [1, 100, 16_383, 16_384, 16_385, 20_480, 40_001, 1_048_609])
def test_as_defined(length: int) -> None:
    data = np.random.default_rng(length).bytes(length)
    assert crc32c(data) == bit_by_bit(data)
