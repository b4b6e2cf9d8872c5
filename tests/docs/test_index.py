"""The list in docs/index.md has every page once; no page is a dead end. The README tests links."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "index.md"
GENERATED = {"what-works.md"}


def links(page: Path) -> list[str]:
    return linked(page.read_text())


def linked(text: str) -> list[str]:
    return [target for target in re.findall(r"\]\(([^)#:]+)\)", text) if target.endswith(".md")]


def test_every_page_once() -> None:
    pages = sorted(page.name for page in DOCS.glob("*.md") if page != INDEX)
    _, _, everything = INDEX.read_text().partition("\n## All documents\n")
    assert sorted(target for target in linked(everything) if "/" not in target) == pages


def test_titles_are_those_of_the_pages() -> None:
    for title, target in re.findall(r"^- \[(.*?)\]\((\w[^)]*)\)", INDEX.read_text(), re.MULTILINE):
        assert (DOCS / target).read_text().startswith(f"# {title}\n"), target


def test_every_page_leads_on() -> None:
    written = {page for page in DOCS.glob("*.md") if page.name not in GENERATED}
    assert [page.name for page in sorted(written) if not links(page)] == []
