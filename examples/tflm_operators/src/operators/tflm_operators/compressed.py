"""Compressed constants, as TFLite Micro's TFLM_DECODE reads them: tables, Huffman codes, zeros left out.

A constant is a tensor of bytes, with another that says how to read it: a head of 16 bytes, then tables or
values. Bits are read from the highest of each byte. Source: TFLite Micro `micro/kernels/decode_state*`.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from attrs import frozen

Array = np.ndarray[Any, Any]

_HEAD = 16
_KIND, _VERSION, _OWN_VERSION, _FORM, _STRIDE = 0, 1, 4, 5, 6


@frozen(kw_only=True)
class TableChannels:
    """The channels of a constant that have tables and zero points of their own: along the last dimension
    where `last`, else along the first.
    """

    zero_points: tuple[int, ...]
    last: bool

    def of(self, count: int) -> Array:
        """The channel of each of so many elements."""
        number = len(self.zero_points)
        return np.arange(count) % number if self.last else np.arange(count) // (count // number)


@frozen(kw_only=True, eq=False)
class Compressed:
    """A constant of that shape and type. ValueError for bytes that do not say it, with the reason."""

    encoded: Array
    head: Array
    body: bytes
    shape: tuple[int, ...]
    dtype: str
    channels: TableChannels

    @classmethod
    def of(
        cls, encoded: Array, ancillary: Array, shape: tuple[int, ...], dtype: str, channels: TableChannels
    ) -> "Compressed":
        """From the two tensors of bytes."""
        content = ancillary.reshape(-1).view(np.uint8)
        if len(content) < _HEAD or content[_VERSION] != 1 or content[_OWN_VERSION] != 1:
            raise ValueError("its head is of another version")
        return cls(
            encoded=encoded.reshape(-1).view(np.uint8),
            head=content[:_HEAD],
            body=content[_HEAD:].tobytes(),
            shape=shape,
            dtype=dtype,
            channels=channels,
        )

    @property
    def count(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    def value(self) -> Array:
        """The constant."""
        kind = int(self.head[_KIND])
        if kind not in _KINDS:
            raise ValueError(f"its kind of compression is {kind}")
        return _KINDS[kind](self).reshape(self.shape)

    def bits(self, count: int) -> Array:
        """The first bits of the encoded bytes."""
        found = np.unpackbits(self.encoded, count=min(count, 8 * len(self.encoded)))
        if len(found) < count:
            raise ValueError(f"{len(found)} bits where {count} are needed")
        return found

    def values(self) -> Array:
        """The elements that follow the head."""
        size = np.dtype(self.dtype).itemsize
        return np.frombuffer(self.body[: len(self.body) // size * size], self.dtype)


def _looked_up(constant: Compressed) -> Array:
    """Indices of 1 to 7 bits into a table, or into one for each channel."""
    width, stride = int(constant.head[_FORM]) & 7, int(constant.head[_STRIDE])
    channels = len(constant.channels.zero_points)
    if not width or not stride or len(constant.values()) // stride != channels:
        raise ValueError(f"its tables are not those of {channels} channels")
    digits = constant.bits(constant.count * width).reshape(-1, width)
    indices = digits @ (1 << np.arange(width)[::-1])
    if indices.max(initial=0) >= stride:
        raise ValueError("an index is beyond its table")
    tables = constant.values()[: channels * stride].reshape(channels, stride)
    found: Array = tables[constant.channels.of(constant.count), indices]
    return found


def _pruned(constant: Compressed) -> Array:
    """A bit for each element says whether it is stored; the others are zero points."""
    there = constant.bits(constant.count).astype(bool)
    stored, zeros = constant.values(), np.array(constant.channels.zero_points)
    if len(stored) < there.sum():
        raise ValueError(f"{len(stored)} values where {there.sum()} are stored")
    if constant.dtype != "int8" and zeros.any():
        raise ValueError("a zero point that is not 0")
    found = zeros[constant.channels.of(constant.count)].astype(constant.dtype)
    found[there] = stored[: there.sum()]
    return found


_WIDE = 1
_INITIAL_SHIFT = 4


def _huffman(constant: Compressed) -> Array:
    """Codes of any length. An entry of a table is a symbol, or says which table the next bits are for."""
    form = int(constant.head[_FORM])
    kind, count_shift = (np.uint32, 27) if form & _WIDE else (np.uint16, 11)
    if constant.dtype not in ("int8", "int16") or (constant.dtype == "int16" and not form & _WIDE):
        raise ValueError(f"elements of type {constant.dtype}")
    size = np.dtype(kind).itemsize
    tables = np.frombuffer(constant.body[: len(constant.body) // size * size], kind)
    codes = _Codes(
        tables=tuple(tables.tolist()), digits=constant.bits(8 * len(constant.encoded)), shift=count_shift
    )
    symbols, place = [], 0
    for _ in range(constant.count):
        symbol, place = codes.symbol(place, (form >> _INITIAL_SHIFT) + 1)
        symbols.append(symbol)
    return np.array(symbols, np.uint32).astype(constant.dtype)


@frozen(kw_only=True, eq=False)
class _Codes:
    """Tables whose entries have a mark, a number of bits from `shift` on, and a symbol or a distance."""

    tables: tuple[int, ...]
    digits: Array
    shift: int

    def symbol(self, place: int, width: int) -> tuple[int, int]:
        """The symbol from a bit on, and the bit after it; the first table is for so many bits."""
        at = 0
        while True:
            at += int(self._bits(place, width))
            if at >= len(self.tables):
                raise ValueError("a code is beyond its tables")
            entry = self.tables[at]
            count = entry >> self.shift & 0xF
            if entry >> (self.shift + 4):
                place += min(count, width)
                break
            at, place, width = at + (entry & ((1 << self.shift) - 1)), place + width, count + 1
        if place > len(self.digits):
            raise ValueError("its codes go on behind its end")
        return entry & 0xFFFF, place

    def _bits(self, place: int, width: int) -> int:
        """A number of bits from a place on; zeros after the end."""
        found = 0
        for digit in self.digits[place : place + width]:
            found = found << 1 | int(digit)
        return found << max(0, place + width - max(len(self.digits), place))


_KINDS: Mapping[int, Callable[[Compressed], Array]] = {0: _looked_up, 1: _huffman, 2: _pruned}
