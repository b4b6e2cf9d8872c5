"""Mutants of files: the same seeds and number give the same mutant.

A mutant has one to six changes. Changes of bytes know no format; those of JSON and of lines keep enough of it
that a reader gets past its parser.
"""

import copy
import io
import json
import random
import struct
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

Mutate = Callable[[Sequence[bytes], int], bytes]
"""From the seeds and the number of the mutant to its bytes."""

_NUMBERS = (0, 1, -1, 2, 7, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    *_NUMBERS,
    2**64,
    10**4000,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\0",
    "\ud800",
    "../../x",
    "/etc/passwd",
    "a" * 10_000,
    "é\n\t`'\"\\",
    [],
    {},
    [[]],
    [None],
    {"": {}},
    ["a", 1, {}],
)
_SEPARATORS = ((", ", ": "), (",", ":"), ("\n,", "\t:\r\n"))
"""Spellings of JSON: behind elements, and behind keys."""
_WORDS = (
    b"", b"\0", b"\xff", b"\n", b'"', b"'", b'"""', b"[", b"]", b"[[", b"{", b"}", b"=", b".", b",", b":",
    b"#", b"-1", b"0", b"1e999", b"nan", b"inf", b"true", b"null", b"\"\"", b"9" * 5000, b"0x0",
    b"2026-01-01", b"\\ud800", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"[" * 2000, b"{" * 2000, b"a." * 2000,
    b"a" * 10_000,
)  # fmt: skip


def of_bytes(seeds: Sequence[bytes], number: int) -> bytes:
    """Changes without regard to the format."""
    draw = random.Random(number)
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        _change_bytes(data, seeds, draw)
    return bytes(data)


def of_text(seeds: Sequence[bytes], number: int) -> bytes:
    """Half of the changes are of whole lines and of values behind `=`, `:` and `,`."""
    draw = random.Random(number)
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        if draw.random() < 0.5:
            _change_bytes(data, seeds, draw)
        else:
            _change_line(data, seeds, draw)
    return bytes(data)


def of_json(seeds: Sequence[bytes], number: int) -> bytes:
    """Most changes are of values and keys of the parsed JSON."""
    draw = random.Random(number)
    if draw.random() < 0.2:
        return of_text(seeds, number)
    value = json.loads(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        value = _changed_json(value, draw)
    return json.dumps(value, separators=draw.choice(_SEPARATORS)).encode()


def of_toml(seeds: Sequence[bytes], number: int) -> bytes:
    """Half of the mutants have values, keys and tables changed, and each table in one line."""
    draw = random.Random(number)
    if draw.random() < 0.5:
        return of_text(seeds, number)
    value = json.loads(json.dumps(tomllib.loads(draw.choice(seeds).decode()), default=str))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        value = _changed_json(value, draw)
    table = value if isinstance(value, dict) else {"value": value}
    lines = (f"{_toml(str(key))} = {_toml(each)}" for key, each in table.items())
    return "\n".join(lines).encode(errors="surrogatepass")


def _toml(value: Any) -> str:
    """A value in the notation of TOML, which is that of JSON but for tables, no value and odd numbers."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) or value is None:
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > 2**70 else json.dumps(value)


def of_archive(seeds: Sequence[bytes], number: int) -> bytes:
    """Most changes are within one member, mostly the largest JSON; checksums are right again."""
    draw = random.Random(number)
    if draw.random() < 0.1:
        return of_bytes(seeds, number)
    with zipfile.ZipFile(io.BytesIO(draw.choice(seeds))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = max(members, key=lambda each: (each.endswith(".json"), len(members[each])))
    if draw.random() < 0.4:
        name = draw.choice(sorted(members))
    change = of_json if name.endswith(".json") else of_bytes
    if draw.random() < 0.1:
        del members[name]
    else:
        members[name] = change([members[name]], number)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for each, content in members.items():
            archive.writestr(zipfile.ZipInfo(each), content)
    return made.getvalue()


def _change_bytes(data: bytearray, seeds: Sequence[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(data) + 1)
    size = min(draw.choice((1, 1, 2, 4, 8, 32, 400)), len(data) - at)
    match draw.randrange(8):
        case 0:
            data[at : at + 1] = bytes((draw.randrange(256),))
        case 1:
            data[at : at + 1] = bytes(byte ^ 1 << draw.randrange(8) for byte in data[at : at + 1])
        case 2:
            layout = draw.choice("bhiq")
            mask = 2 ** (8 * struct.calcsize(layout)) - 1
            data[at : at + struct.calcsize(layout)] = struct.pack(
                f"<{layout.upper()}", draw.choice(_NUMBERS) & mask
            )
        case 3:
            del data[at : at + size]
        case 4:
            data[at:at] = data[at : at + size]
        case 5:
            other = draw.choice(seeds)
            start = draw.randrange(len(other) + 1)
            data[at : at + size] = other[start : start + draw.choice((1, 4, 32, 400))]
        case 6:
            data[at:at] = draw.choice(_WORDS)
        case _:
            del data[at:]


def _change_line(data: bytearray, seeds: Sequence[bytes], draw: random.Random) -> None:
    lines = bytes(data).split(b"\n")
    at = draw.randrange(len(lines))
    match draw.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, draw.choice(lines))
        case 2:
            lines.insert(at, draw.choice(draw.choice(seeds).split(b"\n")))
        case 3:
            lines[at] = _with_other_value(lines[at], draw.choice(_WORDS))
        case _:
            donor = draw.choice(lines).rpartition(b"=")[2]
            lines[at] = _with_other_value(lines[at], donor)
    data[:] = b"\n".join(lines)


def _with_other_value(line: bytes, value: bytes) -> bytes:
    for mark in (b"=", b":", b","):
        before, found, _ = line.partition(mark)
        if found:
            return before + found + value
    return value


def _changed_json(value: Any, draw: random.Random) -> Any:
    """With one value, key or element changed, somewhere below."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.02:
        return _other_value(value, draw)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw.choice(keys)
    deeper = isinstance(value[key], dict | list) and draw.random() < 0.8
    if deeper:
        value[key] = _changed_json(value[key], draw)
        return value
    match draw.randrange(4):
        case 0:
            del value[key]
        case 1 if isinstance(value, dict):
            value[str(_other_value("", draw))[:50]] = copy.deepcopy(value[key])
        case 1:
            value.insert(draw.randrange(len(value) + 1), copy.deepcopy(value[key]))
        case 2:
            value[key] = copy.deepcopy(value[draw.choice(keys)])
        case _:
            value[key] = _other_value(value[key], draw)
    return value


def _other_value(value: Any, draw: random.Random) -> Any:
    if isinstance(value, int | float) and abs(value) < 2**70 and draw.random() < 0.5:
        return value + draw.choice((1, -1, 1000, -1000))
    if isinstance(value, str) and value and draw.random() < 0.5:
        at = draw.randrange(len(value))
        return value[:at] + str(draw.choice(_VALUES))[:20] + value[at + draw.randrange(2) :]
    if draw.random() < 0.02:
        return json.loads("[" * 200 + "]" * 200)
    return copy.deepcopy(draw.choice(_VALUES))
