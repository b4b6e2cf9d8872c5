"""The text form of messages."""

import pickle

import pytest

from target_arch.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Note,
    Span,
    in_order,
    listed,
    name_hint,
    nearest,
    render,
)

LINE = 'memory = ["l1"]'
PLACE = Span(path="soc_configs/duo.toml", line=10, column=11, length=4, text=LINE)
UNKNOWN = Diagnostic(
    rule="unknown-memory",
    place=PLACE,
    message="memory `l1` is not declared",
    hint="declared here: `l2`, `sram`",
)


def test_whole_message() -> None:
    assert render(UNKNOWN) == (
        "soc_configs/duo.toml:10:11: error: memory `l1` is not declared [unknown-memory]\n"
        '   10 | memory = ["l1"]\n'
        "      |           ^^^^\n"
        "hint: declared here: `l2`, `sram`"
    )


def test_a_conflict_shows_both_places() -> None:
    first = Span(path="a.toml", line=3, column=1, length=2, text="id = 0")
    place = Span(path="a.toml", line=1200, column=6, text="id = 0")
    note = Note(place=first, message="the other is here")
    conflict = Diagnostic(rule="same-device", place=place, message="two alike", notes=(note,))
    assert str(conflict) == (
        "a.toml:1200:6: error: two alike [same-device]\n"
        " 1200 | id = 0\n"
        "      |      ^\n"
        "a.toml:3:1: note: the other is here\n"
        "    3 | id = 0\n"
        "      | ^^"
    )


def test_a_place_in_words_has_no_source_line() -> None:
    place = "step 12 (dispatch conv3 on npu)"
    diagnostic = Diagnostic(rule="no-path", place=place, message="no way", level="warning")
    assert render(diagnostic) == "step 12 (dispatch conv3 on npu): warning: no way [no-path]"


def test_tabs_stay_tabs_and_carets_stay_below_the_line() -> None:
    place = Span(path="a", line=1, column=3, length=99, text="\tx = [")
    assert render(Diagnostic(rule="r", place=place, message="m")).split("\n")[2] == "      | \t ^^^^"


def test_of_a_very_long_line_a_part_is_shown() -> None:
    text = "-" * 5000 + "here" + "-" * 5000
    place = Span(path="a", line=1, column=5001, length=4, text=text)
    source, carets = render(Diagnostic(rule="r", place=place, message="m")).split("\n")[1:]
    assert len(source) < 200
    assert source[carets.index("^") : carets.index("^") + 4] == "here"


def test_order_is_that_of_places_and_each_is_told_once() -> None:
    later = Diagnostic(rule="r", place=Span(path="a", line=2, column=1), message="m")
    earlier = Diagnostic(rule="r", place=Span(path="a", line=1, column=9), message="m")
    nowhere = Diagnostic(rule="r", place="step 1", message="m")
    assert in_order([nowhere, later, earlier, later]) == (earlier, later, nowhere)


def test_the_error_is_the_text_of_all() -> None:
    error = DiagnosticError([UNKNOWN, Diagnostic(rule="r", place="step 1", message="m")])
    assert str(error) == f"{render(UNKNOWN)}\n\nstep 1: error: m [r]"


@pytest.mark.parametrize(
    ("name", "near"), [("sizze", "size"), ("SRAM", "sram"), ("ssram", "sram"), ("xyzzy", None), ("", None)]
)
def test_nearest_name(name: str, near: str | None) -> None:
    assert nearest(name, ("sram", "size")) == near


def test_hints_about_names() -> None:
    assert name_hint("sizze", ["size", "base"], "known here") == "did you mean `size`?"
    assert name_hint("xyzzy", ["size", "base"], "known here") == "known here: `base`, `size`"
    assert name_hint("xyzzy", [], "known here") == "known here: nothing"
    assert listed(["b", "a"]) == "`a`, `b`"


class Other(DiagnosticError):
    """Is made of something else than it holds."""

    def __init__(self, reason: str, *, number: int) -> None:
        super().__init__([UNKNOWN])
        self.reason, self.number = reason, number


def test_another_process_gets_the_same_error() -> None:
    found = pickle.loads(pickle.dumps(Other("none", number=3)))
    assert isinstance(found, Other)
    assert (found.diagnostics, found.reason, found.number) == ((UNKNOWN,), "none", 3)
