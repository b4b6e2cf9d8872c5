"""The scanner against `tomllib`: the text at each place must mean the value that is there."""

import tomllib
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from target_arch.resources import soc_configs
from target_arch.soc.faults import Path
from target_arch.soc.files.positions import Positions

BROKEN_TEXT = {"duplicate-key", "not-utf-8", "too-deep", "toml-syntax"}
FILES = sorted(soc_configs().glob("*.toml")) + sorted(
    file for file in (File(__file__).parents[1] / "bad").glob("*.toml") if file.stem not in BROKEN_TEXT
)

ODD = (File(__file__).parents[1] / "odd.toml").read_text()


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


@pytest.mark.parametrize("text", [ODD, *(file.read_text() for file in FILES)])
def test_every_value_is_where_it_is_said_to_be(text: str) -> None:
    lines = text.split("\n")
    positions = Positions("x.toml", text)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    count = 0
    for path, value in leaves(tomllib.loads(text)):
        span = positions.value(path)
        start = offsets[span.line - 1] + span.column - 1
        assert tomllib.loads(f"v = {text[start : start + span.length]}")["v"] == value, path
        assert span.text == lines[span.line - 1]
        count += 1
    assert count > 0 or text == ""


def test_keys_headers_and_what_is_missing() -> None:
    positions = Positions("x.toml", "[memory.ddr]\nsize = 1\n[[copy]]\n[[copy]]\nto = 'a'\n")
    assert str(positions.key(("memory", "ddr", "size"))) == "x.toml:2:1"
    assert str(positions.value(("memory", "ddr", "size"))) == "x.toml:2:8"
    assert str(positions.value(("memory", "ddr"))) == "x.toml:1:9"
    assert str(positions.value(("memory", "ddr", "base"))) == "x.toml:1:9"
    assert str(positions.value(("copy", 1, "from"))) == "x.toml:4:3"
    assert str(positions.value(("nothing",))) == "x.toml:1:1"
