"""Functions that differ in numbers alone, as those of one kind of operator in several layers may, as one body
with a table of numbers for each, which takes fewer bytes than its code would.

Tests: `tests/emit/test_shared_bodies.py`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from target_arch.plan.kernels import CFunction

_NAME = "its_name"
"""In the place of a function's own name, by which texts that are alike differ."""
SIZES = "sizes"
"""The name of the parameter that has the numbers."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_EXTENT = re.compile(r"(?m)^ *\w+ \w+\[(\d+)\];$")
_COMMENT = re.compile(r"\A/\*.*?\*/\n", re.DOTALL)
_HEAD = re.compile(r"\)\n\{\n")
_OWN = re.compile(
    r"\b(?:static|case)\b"  # has constants of its own
    r"|\b(?:uint32_t|uint64_t|size_t|unsigned)\b"  # compilers warn of a comparison with a sign
    r"|_C\(|\d[eE][+-]"  # a number is part of another one
    r"|\b(?:sizes|size_\d+)\b"  # our own names
    r"|/\*|[\"'#]"
)
"""What keeps a function from sharing its body."""

_GREATEST = 2**31 - 1
_STUB = 12
"""Bytes of an entry that calls a shared body on a Cortex-M, where a token of C takes about one byte."""


@frozen(kw_only=True)
class SharedBody:
    """The definition of a function that has the numbers of another one as its last parameter: `numbers` has
    those of each function that it stands for, by name.
    """

    name: str
    text: str
    numbers: Mapping[str, tuple[int, ...]]


@frozen
class _Place:
    """A number in a text: from where to where, and its value in each function of a group."""

    start: int
    end: int
    values: tuple[int, ...]


def shared_bodies(functions: Sequence[CFunction]) -> tuple[SharedBody, ...]:
    """The bodies that take fewer bytes than what they stand for, in the order of their first functions."""
    groups: dict[tuple[object, ...], list[CFunction]] = {}
    for function in functions:
        text = _plain(function)
        if function.parameters and not _OWN.search(text):
            same = (_NUMBER.sub(_masked, text), function.parameters, function.in_place, function.fails)
            groups.setdefault(same, []).append(function)
    return tuple(body for group in groups.values() for body in _shared(group))


def _plain(function: CFunction) -> str:
    """The text without the comment in front of it, under a name that all functions have."""
    return _COMMENT.sub("", function.text).replace(function.name, _NAME)


def _masked(number: re.Match[str]) -> str:
    """Greater numbers are of another type."""
    return "0" if int(number[0]) <= _GREATEST else number[0]


def _shared(group: Sequence[CFunction]) -> Iterator[SharedBody]:
    """One body, or none. A local array has the elements of the largest one."""
    text = _plain(group[0])
    extents = {found.start(1) for found in _EXTENT.finditer(text)}
    places = _places(group)
    sizes = list(dict.fromkeys(p.values for p in places if p.start not in extents and len(set(p.values)) > 1))
    if not sizes or not _pays(text, len(group), len(sizes)):
        return
    parts, end = [], 0
    for place in places:
        own = f"size_{sizes.index(place.values)}" if place.values in sizes else str(place.values[0])
        parts += [text[end : place.start], str(max(place.values)) if place.start in extents else own]
        end = place.end
    yield _named(group, _with_sizes("".join((*parts, text[end:])), len(sizes)), sizes)


def _places(group: Sequence[CFunction]) -> list[_Place]:
    """The numbers of the first function, with those at the same places of the others."""
    values = zip(*(map(int, _NUMBER.findall(_plain(each))) for each in group), strict=True)
    found = _NUMBER.finditer(_plain(group[0]))
    return [_Place(at.start(), at.end(), of) for at, of in zip(found, values, strict=True)]


def _pays(text: str, functions: int, sizes: int) -> bool:
    """Whether half of the bytes are saved: numbers that are not constants cost time."""
    body = len(_TOKEN.findall(text))
    return body + functions * (_STUB + 4 * sizes) < functions * body / 2


def _with_sizes(text: str, count: int) -> str:
    """The definition with the numbers as its last parameter: as variables, so that stores do not seem to
    change them.
    """
    variables = ", ".join(f"size_{number} = {SIZES}[{number}]" for number in range(count))
    return _HEAD.sub(f", const int32_t *{SIZES})\n{{\n    const int32_t {variables};\n", text, count=1)


def _named(group: Sequence[CFunction], text: str, sizes: Sequence[tuple[int, ...]]) -> SharedBody:
    kind = group[0].name.rpartition("_")[0]
    name = f"{kind}_shared_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return SharedBody(
        name=name,
        text=text.replace(_NAME, name, 1),
        numbers={each.name: tuple(of[at] for of in sizes) for at, each in enumerate(group)},
    )
