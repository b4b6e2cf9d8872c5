"""docs/index.md lists every page once, and no page is a dead end. Links are tested with the README's."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "index.md"
GENERATED = {"what-works.md"}


def links(page: Path) -> list[str]:
    return [target for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()) if target.endswith(".md")]


def test_every_page_once() -> None:
    pages = sorted(page.name for page in DOCS.glob("*.md") if page != INDEX)
    assert sorted(target for target in links(INDEX) if "/" not in target) == pages


def test_titles_are_those_of_the_pages() -> None:
    for title, target in re.findall(r"^- \[(.*?)\]\((\w[^)]*)\)", INDEX.read_text(), re.MULTILINE):
        assert (DOCS / target).read_text().startswith(f"# {title}\n"), target


def test_every_page_leads_on() -> None:
    written = {page for page in DOCS.glob("*.md") if page.name not in GENERATED}
    assert [page.name for page in sorted(written) if not links(page)] == []
