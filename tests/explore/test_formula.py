"""Formulas: their values, their names, and what is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_arch.explore.formula import FormulaError, formula

NAMES = {"tcm": 65536, "engines": 2, "mode": "default", "memory.sram.size": 524288, "copy[2].bandwidth": 4e8}


def value(text: str) -> object:
    return formula(text).value(NAMES.__getitem__)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2 * engines + 1", 5),
        ("tcm <= memory.sram.size", True),
        ("memory.sram.size / 1024", 512.0),
        ('tcm == "64 KiB"', True),
        ('copy[2].bandwidth >= "400 MB/s" and not engines > 2', True),
        ('mode == "default" or engines == 9', True),
        ("min(tcm, 3, engines)", 2),
        ("ceil(engines / 3) + floor(engines / 3)", 1),
        ("0 < engines <= 2 < tcm", True),
        ("-engines % 3 + 7 // engines - True", 3),
        ('"60 ns" * 1', 6e-08),
    ],
)
def test_values(text: str, result: object) -> None:
    assert value(text) == result


def test_names_are_told_once_and_functions_are_none() -> None:
    assert formula("max(tcm, tcm, memory.sram.size) + copy[2].bandwidth").names == (
        "tcm",
        "memory.sram.size",
        "copy[2].bandwidth",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 *", "`2 *` is no formula"),
        ("__import__('os')", "`__import__('os')` is nothing that a formula has"),
        ("(1).real", "`1 .real` is nothing that a formula has"),
        ("[tcm]", "`[tcm]` is nothing that a formula has"),
        ("tcm ** 2", "`tcm ** 2` is nothing that a formula has"),
        ("max(1, key=tcm)", "`max(1, key=tcm)` is nothing that a formula has"),
        ("lambda: 1", "`lambda: 1` is nothing that a formula has"),
        ("tcm in mode", "`tcm in mode` is nothing that a formula has"),
        ("1 + " * 400 + "1", "a formula has at most 1,000 characters"),
    ],
)
def test_what_is_none(text: str, said: str) -> None:
    with pytest.raises(FormulaError) as caught:
        formula(text)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / (engines - 2)", "`1 / (engines - 2)` has no value here: division by zero"),
        ("mode * 3", "`mode * 3` has no value here: `default` is no number"),
        ("mode < 3", "`mode < 3` has no value here: '<' not supported between instances of 'str' and 'int'"),
        ("1e308 * 10", "`1e308 * 10` has no value here: it is inf"),
    ],
)
def test_what_has_no_value(text: str, said: str) -> None:
    with pytest.raises(FormulaError) as caught:
        value(text)
    assert str(caught.value) == said


TREES: Any = st.recursive(
    st.integers(-9, 9).map(str) | st.sampled_from(["tcm", "engines"]),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=20,
)


@given(TREES)
def test_arithmetic_is_pythons(text: str) -> None:
    assert value(text) == eval(text, {"tcm": 65536, "engines": 2})
