"""No message has a character that a terminal obeys or that turns text around, whatever it quotes."""

from target_arch.diagnostics import Diagnostic, Keyword, Note, Span, advice, refusal, render

NAME = "a\x1b[31m\u202eb\u2066\x85\u2028\ud800"
WRITTEN = r"a\x1b[31m\u202eb\u2066\x85\u2028\ud800"


def test_every_text_of_a_message() -> None:
    note = Note(place=NAME, message=NAME)
    assert render(Diagnostic(rule="r", place=NAME, message=NAME, hint=NAME, notes=(note,))) == (
        f"{WRITTEN}: error: {WRITTEN} [r]\n{WRITTEN}: note: {WRITTEN}\nhint: {WRITTEN}"
    )
    assert refusal("r", "p", NAME).diagnostics[0].message == WRITTEN


def test_a_line_keeps_its_length() -> None:
    place = Span(path=NAME, line=1, column=5, length=1, text="x\u202ey\t=")
    assert render(Diagnostic(rule="r", place=place, message="m")) == (
        f"{WRITTEN}:1:5: error: m [r]\n    1 | x\ufffdy\t=\n      |    \t^"
    )


def test_advice() -> None:
    said = advice(f"{NAME} ", Keyword("model.name", NAME))
    assert str(said) == f"{WRITTEN} `model.name='{WRITTEN}'`"
    assert str(advice(NAME)) == WRITTEN


def test_text_of_all_languages_stays() -> None:
    for text in ("größe \u6a21\u578b\u3000\u0645\u062b\u0627\u0644", "two\nlines\tand tabs", "a\u00a0b"):
        assert Diagnostic(rule="r", place="p", message=text).message == text
