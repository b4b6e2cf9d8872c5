"""Pages with tables of numbers that tests write; a number may move a little before its page is wrong."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

NUMBER = re.compile(r"\b\d[\d,]*\b")
DRIFT = 0.1
"""How far another version of a compiler may move a number before the page is wrong."""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: int) -> str:
    """A table whose last `numbers` columns are aligned to the right."""
    rule = ("---",) * (len(head) - numbers) + ("---:",) * numbers
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))


def check_page(page: Path, text: str, config: pytest.Config) -> None:
    """The page says the same, with numbers at most DRIFT apart; `--update-golden` writes it."""
    if config.getoption("--update-golden"):
        page.write_text(text)
    written = page.read_text()
    assert NUMBER.sub("#", text) == NUMBER.sub("#", written)
    pairs = zip(NUMBER.findall(text), NUMBER.findall(written), strict=True)
    apart = [(now, then) for now, then in pairs if not math.isclose(_value(now), _value(then), rel_tol=DRIFT)]
    assert apart == [], "the numbers moved; read them, and write the page again with --update-golden"


def _value(number: str) -> int:
    return int(number.replace(",", ""))
