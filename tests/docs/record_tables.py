"""Tables of keys in pages, as the classes of records say them."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_TABLE = re.compile(r"^\| key \|.*\n(?:\|.*\n)+", re.MULTILINE)
_HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)


def check_tables(page: Path, parts: Mapping[str, Any], table: Callable[[Any], str], *, update: bool) -> None:
    """Assert that a page has a table of keys below just these headings, each as `table` says of its record;
    the tables are written first where `update`.
    """
    text = page.read_text()
    if update:
        page.write_text(text := _written(text, parts, table))
    with_table = {section.partition("\n")[0] for section in _HEADING.split(text) if _TABLE.search(section)}
    assert with_table == parts.keys()
    assert text == _written(text, parts, table)


def _written(text: str, parts: Mapping[str, Any], table: Callable[[Any], str]) -> str:
    """The page with the tables of the records."""
    sections = _HEADING.split(text)
    for number, section in enumerate(sections):
        record = parts.get(section.partition("\n")[0])
        if record is not None:
            keys = table(record)
            sections[number] = _TABLE.sub(lambda _, keys=keys: keys, section, count=1)
    return "".join(sections)
