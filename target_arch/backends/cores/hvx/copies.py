"""Runs of bytes, copied or filled in the widest pieces that their addresses allow.

Most runs are written out piece by piece, and values to fill with come from an instruction that LLVM does not
fold: it turns loops that copy, and stores of one constant, into calls of functions that are slower than they.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import word_of
from target_arch.backends.cores.hvx.writer import (
    BYTE,
    BYTES,
    WORD,
    WORDS,
    Pointer,
    Writer,
    element,
    store,
    store_vector,
    vector,
)

_WRITTEN_OUT = 32
"""The most pieces of a run that no loop copies."""


@frozen(kw_only=True, eq=False)
class Place:
    """A byte offset behind a pointer; it is a multiple of `multiple`."""

    pointer: Pointer
    offset: Any
    multiple: int

    def plus(self, offset: Any, multiple: int) -> "Place":
        """A place further on by a multiple of that number."""
        return Place(
            pointer=self.pointer, offset=self.offset + offset, multiple=common(self.multiple, multiple)
        )


def common(*numbers: int) -> int:
    """The widest integer, of at most 8 bytes, that divides all."""
    return next(width for width in (8, 4, 2, 1) if not any(number % width for number in numbers))


def copy(to: Writer, target: Place, source: Place, size: int) -> None:
    """Copies so many bytes."""

    if size >= BYTES:
        _by_vectors(to, target, size, lambda at: vector(to.view(source.pointer, 1), source.offset + at))
        return
    width = common(target.multiple, source.multiple, size)
    read = to.view(source.pointer, width)
    _each(to, size // width, lambda i: element(read, _index(source, i, width)), target, width)


def fill(to: Writer, target: Place, value: int, size: int) -> None:
    """Sets so many bytes to one value."""
    held = tirx.call_llvm_pure_intrin(WORD, "llvm.hexagon.A2.tfrsi", tirx.const(word_of(value), WORD))
    if size >= BYTES:
        vectors = tirx.reinterpret(f"{BYTE}x{BYTES}", tirx.Broadcast(held, WORDS))
        _by_vectors(to, target, size, lambda at: vectors)
        return
    width = min(common(target.multiple, size), 4)
    _each(to, size // width, lambda i: held.astype(f"int{8 * width}"), target, width)


def _by_vectors(to: Writer, target: Place, size: int, value: Callable[[Any], Any]) -> None:
    """The last vector ends where the run ends, over a part of the one before."""
    buffer, count = to.view(target.pointer, 1), -(-size // BYTES)
    if count > _WRITTEN_OUT:
        with to.loop(count) as i:
            at = tirx.min(i * BYTES, size - BYTES)
            store_vector(to, buffer, target.offset + at, value(at))
        return
    for i in range(count):
        at = min(i * BYTES, size - BYTES)
        store_vector(to, buffer, target.offset + at, value(at))


def _each(to: Writer, count: int, value: Callable[[Any], Any], target: Place, width: int) -> None:
    """Stores so many values one behind the other."""
    buffer = to.view(target.pointer, width)
    if count > _WRITTEN_OUT:
        with to.loop(count) as i:
            store(to, buffer, _index(target, i, width), value(i))
        return
    for i in range(count):
        store(to, buffer, _index(target, i, width), value(i))


def _index(place: Place, number: Any, width: int) -> Any:
    return tirx.floordiv(place.offset, width) + number
