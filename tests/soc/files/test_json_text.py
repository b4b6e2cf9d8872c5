"""JSON from outside is parsed within limits."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.soc.files.json_text import DEEPEST, parsed


@pytest.mark.parametrize("text", ["null", "[]", '{"a": [1, -1.5, "b", true, null]}', "9223372036854775807"])
def test_json(text: str) -> None:
    assert parsed(text, "a.json") == parsed(f" {text} ", "a.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a.json:1:2: error: not JSON: expecting property name enclosed in double quotes [json-syntax]"),
        ("NaN", "a.json:1:1: error: not JSON: `NaN` is no number [json-syntax]"),
        (
            '{"a": 1, "a": 1}',
            "a.json:1:10: error: not JSON: `a` stands twice in one table [json-syntax]",
        ),
        ("1e999", "a.json: error: not JSON: the number 1e999 is too large [json-syntax]"),
        ("9" * 5000, f"a.json: error: not JSON: the number {'9' * 20}… has more than 63 bits [json-syntax]"),
        (
            '["\\ud800"]',
            "a.json: error: not JSON: an escape `\\ud800` to `\\udfff` that has no partner [json-syntax]",
        ),
    ],
)
def test_no_json(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parsed(text, "a.json")
    assert str(caught.value).splitlines()[0] == message


@pytest.mark.parametrize("depth", [DEEPEST + 1, 500, 100_000])
def test_too_deep(depth: int) -> None:
    assert parsed("[" * DEEPEST + "]" * DEEPEST, "a.json")
    with pytest.raises(DiagnosticError) as caught:
        parsed('{"a":' * depth + "0" + "}" * depth, "a.json")
    assert str(caught.value) == "a.json: error: the file nests deeper than 64 tables and lists [too-deep]"
