"""Plain words: no private ones where the field has its own, and no docstring whose subject is a pronoun."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.syntax import documented, tree

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "target_arch").rglob("*.py"))
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
C = sorted(path for ending in ("c", "h") for path in (ROOT / "runtime_c").rglob(f"*.{ending}"))

PRIVATE = re.compile(r"\b(anew|told|lies|lie|whoever|witness(?:es)?)\b", re.IGNORECASE)
SUBJECT = re.compile(r"(?:What|Who|Those)\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string and comment of a Python file."""
    kinds = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def found(path: Path, line: int, text: str) -> list[str]:
    """The private words of a text that begins in this line."""
    return [
        f"{path.relative_to(ROOT)}:{line + text.count(chr(10), 0, word.start())}: {word[0]}"
        for word in PRIVATE.finditer(text)
    ]


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every comment of a file in C."""
    text = path.read_text()
    for comment in COMMENT.finditer(text):
        yield text.count("\n", 0, comment.start()) + 1, comment[0]


def test_strings_and_comments() -> None:
    assert [each for path in SOURCES for line, text in texts(path) for each in found(path, line, text)] == []


def test_comments_in_c() -> None:
    assert [each for path in C for line, text in comments(path) for each in found(path, line, text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages(page: Path) -> None:
    assert found(page, 1, CODE.sub(lambda code: "\n" * code[0].count("\n"), page.read_text())) == []


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    begun = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in SOURCES
        for node in documented(tree(path))
        if (text := ast.get_docstring(node)) and SUBJECT.match(text)
    ]
    assert begun == []
