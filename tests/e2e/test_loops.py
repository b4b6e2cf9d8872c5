"""Loops of generated C have constant bounds, as tools that compute worst-case times want them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import DIGITS
from tests.e2e.test_trace import models, traced

_LOOP = re.compile(r"\b(?:for|while) ?\([^\n]*|\bdo ?\{|\bgoto\b")
_NUMBER = r"-?\d+(?: \+ \d+)?"
_GROWTH = r"(?:\+\+(?P=name)|(?P=name) \+= \d+)"
_CONSTANT = re.compile(rf"for \(int\d+_t (?P<name>\w+) = {_NUMBER}; (?P=name) < {_NUMBER}; {_GROWTH}\) \{{")
"""Its counter is the loop's own, starts and ends at numbers, and grows by a number."""


def loops(path: Path) -> Iterator[str]:
    """Heads of the loops in the functions that are generated for a model on a microcontroller."""
    for name, content in traced(path, "mcu_m7").items():
        if name.endswith("_kernels.c"):
            yield from (match[0].strip() for match in _LOOP.finditer(content.decode()))


def unbounded(path: Path) -> list[str]:
    return [head for head in loops(path) if not _CONSTANT.fullmatch(head)]


@pytest.mark.parametrize(
    "head",
    [
        "for (int32_t k = 0; k < count; ++k) {",
        "for (int32_t k = 0; k < 4; ++j) {",
        "for (; k < 4; ++k) {",
        "while (k < 4) {",
        "do {",
        "goto again",
    ],
)
def test_other_loops_are_seen(head: str) -> None:
    (match,) = _LOOP.finditer(head)
    assert not _CONSTANT.fullmatch(match[0])


def test_loops_of_the_example_are_bounded() -> None:
    assert unbounded(DIGITS) == []


@pytest.mark.parametrize("name", ["ad01_int8", "ic_resnet_int8", "kws_int8", "vww_96_int8"])
def test_loops_of_the_tiny_models_are_bounded(name: str, shared: Path) -> None:
    assert unbounded(shared / "models" / f"{name}.tflite") == []


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_loops_of_every_operator_are_bounded(dtype: str, tmp_path: Path) -> None:
    """All operators of TFLite that have a case."""
    heads = 0
    for path in models(tmp_path, dtype):
        assert unbounded(path) == [], path
        heads += len(list(loops(path)))
    assert heads > 100
