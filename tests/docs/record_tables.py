"""Tables of keys in pages, as the classes of records say them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.soc.schema.records import key_table

_TABLE = re.compile(r"^\| key \|.*\n(?:\|.*\n)+", re.MULTILINE)
_HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)


def check_tables(page: Path, parts: Mapping[str, Any], *, update: bool) -> None:
    """Assert that a page has a table of keys below just these headings, each that of its record; the tables
    are written first where `update`.
    """
    text = page.read_text()
    if update:
        page.write_text(text := _written(text, parts))
    with_table = {section.partition("\n")[0] for section in _HEADING.split(text) if _TABLE.search(section)}
    assert with_table == parts.keys()
    assert text == _written(text, parts)


def _written(text: str, parts: Mapping[str, Any]) -> str:
    """The page with the tables of the records."""
    sections = _HEADING.split(text)
    for number, section in enumerate(sections):
        record = parts.get(section.partition("\n")[0])
        if record is not None:
            table = key_table(record)
            sections[number] = _TABLE.sub(lambda _, table=table: table, section, count=1)
    return "".join(sections)
