"""The table of the core's sizes is what its command finds, and on a Cortex-M it keeps the promise."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.core_size import COLUMNS, markdown, rows

PAGE = Path(__file__).parents[2] / "docs" / "port-the-runtime.md"
PROMISED_BYTES = 2048


@pytest.fixture(scope="module")
def tools(needs_tool: Callable[[str], str]) -> None:
    for name in ("arm-none-eabi-gcc", "clang"):
        needs_tool(name)


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_the_page_has_the_table(pytestconfig: pytest.Config) -> None:
    found, page = markdown(), PAGE.read_text()
    start = page.index(f"| {' | '.join(COLUMNS)} |")
    stood = page[start:].partition("\n\n")[0]
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(page.replace(stood, found))
        return
    assert stood == found


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_a_core_that_trusts_its_tables_takes_at_most_2_kib_on_a_cortex_m() -> None:
    trusted = {row[0]: int(row[4].replace(",", "")) for row in rows() if row[0].startswith("Cortex-M")}
    assert sorted(trusted) == ["Cortex-M3", "Cortex-M4", "Cortex-M55", "Cortex-M7"]
    assert max(trusted.values()) <= PROMISED_BYTES, trusted
