"""Bytes of a vector in other places, by `vdelta` and `vrdelta`: at each of seven stages an output takes the
byte at its own place or the one whose place differs in one bit, as a bit of the control at that place says.

`vdelta` begins with the highest bit of a place, `vrdelta` with the lowest: the first takes what is spread,
the second what comes closer together.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.instructions import intrinsic, kept, word_of
from target_arch.backends.cores.hvx.writer import BYTES, VECTOR, WORD, WORDS, Pointer, Writer, vector

_BITS = tuple(1 << bit for bit in range(BYTES.bit_length() - 1))
_STAGES = {"vrdelta": _BITS, "vdelta": _BITS[::-1]}
BIT = 0x80
"""The bit of a control that no stage reads: the byte is from this vector."""


@frozen(kw_only=True, eq=False)
class ByteRoute:
    """The instruction that moves bytes of a vector, and its control, uint8 [128]."""

    instruction: str
    control: Any


def route(sources: Sequence[int | None], instruction: str) -> Any:
    """The control by which output k is the input with the number `sources[k]`, whatever it is at None; None
    where two outputs want different bytes at one place.
    """
    control = np.zeros(BYTES, np.uint8)
    wanted: dict[tuple[int, int], int] = {}
    for output, source in enumerate(sources):
        if source is None:
            continue
        place = output
        for stage in reversed(_STAGES[instruction]):
            before = place & ~stage | source & stage
            if wanted.setdefault((stage, place), before) != before:
                return None
            control[place] |= stage if before != place else 0
            place = before
    return control


def routes_of_all(places: Sequence[Sequence[int]]) -> tuple[tuple[ByteRoute, ...], ...] | None:
    """For each list of places what makes of adjacent vectors the one whose byte k is byte `places[k]` of
    them: as many routes as the longest needs, with BIT where a byte is from that vector; all by one
    instruction. None where neither does it.
    """
    vectors = max(place for each in places for place in each) // BYTES + 1
    for instruction in _STAGES:
        made = [_routes(each, vectors, instruction) for each in places]
        if all(each is not None for each in made):
            return tuple(each for each in made if each is not None)
    return None


def _routes(places: Sequence[int], vectors: int, instruction: str) -> tuple[ByteRoute, ...] | None:
    made = []
    for number in range(vectors):
        own = [place % BYTES if place // BYTES == number else None for place in places]
        own += [None] * (BYTES - len(own))
        control = route(own, instruction)
        if control is None:
            return None
        mark = np.where([place is not None for place in own], BIT, 0).astype(np.uint8)
        made.append(ByteRoute(instruction=instruction, control=control | mark))
    return tuple(made)


def moved(
    to: Writer, table: Pointer, source: tuple[Pointer, Any], by: Sequence[ByteRoute], first: Any = 0
) -> Any:
    """The vector that routes make of adjacent ones, which begin at a place; their controls are in the table
    from the vector with the number `first` on.
    """
    pointer, place = source
    controls = [kept(to, vector(to.view(table, 4), (first + number) * WORDS)) for number in range(len(by))]
    marks = tirx.const(word_of(BIT), WORD)
    value = None
    for number, (control, each) in enumerate(zip(controls, by, strict=True)):
        some = tirx.reinterpret(VECTOR, vector(to.view(pointer, 1), place + number * BYTES))
        part = intrinsic(each.instruction, some, control)
        own = intrinsic("vandvrt", control, marks, dtype="boolx128")
        value = part if value is None else intrinsic("vmux", own, part, value)
    return kept(to, value)
