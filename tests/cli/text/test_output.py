"""Colour is for people, and only where they want it; a log hears of long work now and then."""

import io
import sys
import time

import pytest

from target_arch.cli.text.output import QUIET, ProgressLines, rendered
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


def test_progress_is_seen_at_once_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = ProgressLines(every=10.0)
    progress("layer 1")
    progress("layer 2")
    assert terminal.getvalue() == "target-arch: layer 1 …\ntarget-arch: layer 2 …\n"


def test_a_file_has_a_line_of_progress_after_some_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    progress = ProgressLines(every=10.0)
    progress.begin()
    for now, text in ((109.0, "layer 1"), (112.0, "layer 2"), (121.0, "layer 3"), (122.5, "layer 4")):
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        progress(text)
    assert file.getvalue() == "target-arch: layer 2 …\ntarget-arch: layer 4 …\n"
    monkeypatch.setenv(QUIET, "1")
    monkeypatch.setattr(time, "monotonic", lambda: 200.0)
    progress("layer 5")
    assert "layer 5" not in file.getvalue()
