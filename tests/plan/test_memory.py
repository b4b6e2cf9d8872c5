"""Arenas as values."""

import ast
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import target_arch
from target_arch.plan.memory import Arena, Buffer, BufferKind

ROOT = Path(target_arch.__file__).parent
_FIRST, _REST = string.ascii_letters + "_", string.ascii_letters + string.digits + "_"
NAMES = st.builds(str.__add__, st.sampled_from(_FIRST), st.text(_REST, max_size=4))
"""Names of memories: identifiers of C, as SoC files must have them."""
KINDS = st.sampled_from(({}, {"constant": True}, {"state": True}, {"resident": True}))
ARENAS = st.builds(lambda name, kind: Arena(name, **kind), NAMES, KINDS)


@pytest.mark.parametrize("kind", BufferKind)
def test_constants_states_and_residents_have_an_arena_of_their_own(kind: BufferKind) -> None:
    buffer = Buffer(name="b", kind=kind, memory="sram", bytes=4, alignment=4, first=0, last=0)
    constant, state = kind is BufferKind.CONSTANT, kind in (BufferKind.STATE, BufferKind.NEXT)
    resident = kind is BufferKind.RESIDENT
    assert buffer.arena == Arena("sram", state=state, constant=constant, resident=resident)
    part = ".constants" if constant else ".states" if state else ".residents" if resident else ""
    assert str(buffer.arena) == f"sram{part}"
    assert buffer.arena.shareable == (not kind.settled)


@given(st.lists(ARENAS, max_size=12))
def test_arenas_are_in_the_order_of_their_text(arenas: list[Arena]) -> None:
    assert [str(arena) for arena in sorted(arenas)] == sorted(map(str, arenas))


@given(NAMES, st.data())
def test_a_name_that_begins_alike_comes_after_both_arenas(name: str, data: st.DataObject) -> None:
    longer = name + data.draw(st.text(_REST, min_size=1, max_size=3))
    there = [Arena(name), Arena(name, constant=True), Arena(longer), Arena(longer, constant=True)]
    assert sorted(there) == there == sorted(there, key=str)


def suffixes(text: str) -> list[int]:
    """Lines with a text that ends as that of an arena of constants."""
    texts = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [
        each.lineno for each in texts if isinstance(each.value, str) and each.value.endswith(".constants")
    ]


@pytest.mark.slow
def test_the_text_of_an_arena_is_made_in_one_place() -> None:
    assert suffixes('a.removesuffix(".constants")\nf"{memory}.constants"\n') == [1, 2]
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sorted(ROOT.rglob("*.py"))
        if (lines := suffixes(path.read_text()))
    }
    assert found.keys() == {"plan/memory.py"}, found
    assert len(found["plan/memory.py"]) == 1
