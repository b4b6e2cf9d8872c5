"""The documents as a site: it builds strictly, and every link and picture of it is there."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [link for key in ("href", "src") if (link := given.get(key))]
        self.ids |= {id for key in ("id", "name") if (id := given.get(key))}


def _read(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


@pytest.mark.slow
def test_the_site_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra `docs`: `pip install mkdocs-material`")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    pages = {page: _read(page) for page in (tmp_path / "site").rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 30
    lost = [
        (page.name, link)
        for page, links in pages.items()
        for link in links.found
        if not urlsplit(link).scheme and not _leads(page, link, pages)
    ]
    assert lost == []
    assert {"command-line", "manifest", "python", "rules", "soc-file"} == {
        page.stem for page in pages if page.parent.name == "reference"
    }
    assert "no-host" in pages[tmp_path / "site" / "reference" / "rules.html"].ids


def _leads(page: Path, link: str, pages: dict[Path, _Links]) -> bool:
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not parts.fragment or target.suffix != ".html":
        return target.exists()
    return target in pages and unquote(parts.fragment) in pages[target].ids | {"__top"}
