"""The page of a search while it runs: the front so far, at most a twentieth of the time."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.live import EVERY, LivePage, write_page
from target_arch.explore.search import SpaceSearch
from target_arch.explore.shown import shown_space
from target_arch.report import space_page
from target_arch.report.facts.space import ShownProgress
from tests.explore.in_process import InProcess, by_size
from tests.explore.spaces import ZYNQ, space

SPACE = space(ZYNQ.replace('where = ["tcm <= sram"]\n', ""))


def test_pages_while_a_search_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("target_arch.explore.live.EVERY", 0)
    monkeypatch.setattr("target_arch.explore.live._SHARE", 0)
    file = tmp_path / "below" / "x.html"
    live = LivePage(file=file, dashboard="http://host:8787/status")
    search = SpaceSearch(SPACE, InProcess(by_size), "p")
    pages = []

    def heard(done: int, every: int) -> None:
        live.heard(done, every, lambda progress: page(search, progress))
        pages.append(file.read_text())

    search.said = heard
    search.whole()
    assert len(pages) == 12
    assert "3 of 12 points. The front so far" in pages[2]
    assert '<meta http-equiv="refresh" content="0">' in pages[2]
    assert '<a href="http://host:8787/status">The workers, by Dask</a>' in pages[2]
    assert list(file.parent.iterdir()) == [file]
    assert "refresh" not in page(search, None)


def page(search: SpaceSearch, progress: ShownProgress | None) -> str:
    return space_page(shown_space(search.exploration(), "chips.toml", ["x.onnx"]), progress)


def test_a_page_waits_for_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 1.0 + EVERY, 19.0, 21.5, 22.0])
    monkeypatch.setattr("target_arch.explore.live.time.monotonic", lambda: next(times))
    live, shown = LivePage(file=tmp_path / "x.html"), list[int]()

    def noted(progress: ShownProgress) -> str:
        shown.append(progress.done)
        return ""

    for done in range(1, 5):
        live.heard(done, 9, noted)
    assert shown == [1, 4]


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(DiagnosticError) as caught:
        write_page(tmp_path / "x" / "y.html", "")
    assert str(caught.value).endswith(
        "x/y.html: error: cannot be written: file exists [page-unwritable]"
    ) or (str(caught.value).endswith("x/y.html: error: cannot be written: not a directory [page-unwritable]"))
