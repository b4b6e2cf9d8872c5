"""Pages on files have a table of keys for each of their records.

`pytest --update-golden` writes them again.
"""

from pathlib import Path
from typing import Any

import pytest

from target_arch.explore.space_document import SpaceDocument, VariationTable
from target_arch.plan.tuning import TuningFile, TuningRecord
from target_arch.plan.workloads.workload_file import ModelTable, WorkloadDocument
from target_arch.soc.chip.chip import Chip
from target_arch.soc.costs import (
    Calibration,
    CoreCost,
    Costs,
    FittedCosts,
    LoadCost,
    MeasuredOperator,
    OrderCost,
    PathCost,
    PowerCost,
    StatedError,
    WorstOrder,
    WorstPath,
)
from target_arch.soc.document import CostTable, LoweringOrders, SocDocument
from target_arch.soc.model import (
    CopyPath,
    DeclaredCores,
    DeclaredMemory,
    DLDevice,
    Dma,
    LoadProcess,
    MemoryMode,
    PartitioningRules,
    Port,
    TargetArch,
)
from target_arch.soc.schema.records import default_table, key_table
from tests.docs.record_tables import check_tables

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[str, dict[str, Any]] = {
    "cost-file": {
        "# The cost file": Costs,
        "### `copies[]`": PathCost,
        "### `copies[].worst`": WorstPath,
        "### `loads.NAME`": LoadCost,
        "### `orders.NAME`": OrderCost,
        "### `orders.NAME.worst`": WorstOrder,
        "### `cores.NAME`": CoreCost,
        "### `energy.NAME`": PowerCost,
        "### `calibration`": Calibration,
        "### `measured.NAME.SIGNATURE`": MeasuredOperator,
        "### `fitted.NAME`": FittedCosts,
        "### `fitted.NAME.error`": StatedError,
    },
    "tuning": {"## The file": TuningFile, "### `records[]`": TuningRecord},
}
"""The headings with a table in each page on a JSON file, and the record of each."""
TOML_PAGES: dict[str, dict[str, Any]] = {
    "soc-file": {
        "## Top level": SocDocument,
        "## `[memory.NAME]`": DeclaredMemory,
        "## `[dma.NAME]`": Dma,
        "## `[[copy]]`": CopyPath,
        "## `[target_arch.NAME]`": TargetArch,
        "### DLDevice": DLDevice,
        "### Load processes": LoadProcess,
        "### Cores": DeclaredCores,
        "## `[memory_mode.NAME]`": MemoryMode,
        "## `[port.NAME]`": Port,
        "## `[chip]`": Chip,
        "## `[cost]`": CostTable,
        "## `[partitioning]`": PartitioningRules,
        "## `[lowering]`": LoweringOrders,
    },
    "workloads": {"## The file": WorkloadDocument, "### `[model.NAME]`": ModelTable},
    "explore": {"## A space file": SpaceDocument, "### `[vary.NAME]`": VariationTable},
}
"""As PAGES, of TOML files: people write them, so the tables say what is there without a key."""


@pytest.mark.parametrize("page", list(PAGES))
def test_every_record_has_its_table(page: str, pytestconfig: pytest.Config) -> None:
    update = pytestconfig.getoption("--update-golden")
    check_tables(DOCS / f"{page}.md", PAGES[page], key_table, update=update)


@pytest.mark.parametrize("page", list(TOML_PAGES))
def test_every_record_of_a_toml_file_has_its_table(page: str, pytestconfig: pytest.Config) -> None:
    update = pytestconfig.getoption("--update-golden")
    check_tables(DOCS / f"{page}.md", TOML_PAGES[page], default_table, update=update)
