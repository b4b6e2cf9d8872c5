"""Pages on files have a table of keys for each of their records.

`pytest --update-golden` writes them again.
"""

from pathlib import Path
from typing import Any

import pytest

from target_arch.plan.tuning import TuningFile, TuningRecord
from target_arch.soc.costs import (
    Calibration,
    Costs,
    FittedCosts,
    LoadCost,
    MeasuredOperator,
    PathCost,
    PowerCost,
    StatedError,
)
from tests.docs.record_tables import check_tables

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[str, dict[str, Any]] = {
    "cost-file": {
        "# The cost file": Costs,
        "### `copies[]`": PathCost,
        "### `loads.NAME`": LoadCost,
        "### `energy.NAME`": PowerCost,
        "### `calibration`": Calibration,
        "### `measured.NAME.SIGNATURE`": MeasuredOperator,
        "### `fitted.NAME`": FittedCosts,
        "### `fitted.NAME.error`": StatedError,
    },
    "tuning": {"## The file": TuningFile, "### `records[]`": TuningRecord},
}
"""The headings with a table in each page, and the record of each."""


@pytest.mark.parametrize("page", list(PAGES))
def test_every_record_has_its_table(page: str, pytestconfig: pytest.Config) -> None:
    check_tables(DOCS / f"{page}.md", PAGES[page], update=pytestconfig.getoption("--update-golden"))
