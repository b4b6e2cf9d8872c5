"""Colour is for people, and only where they want it."""

import io
import sys

import pytest

from target_arch.cli.text.output import rendered
from target_arch.diagnostics import refusal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = rendered(refusal("rule", "here", "it is wrong", "mend it"))
    assert text == "here: \x1b[1;31merror\x1b[0m: it is wrong [rule]\n\x1b[1;32mhint\x1b[0m: mend it"


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert rendered(refusal("rule", "here", "it is wrong")) == "here: error: it is wrong [rule]"
