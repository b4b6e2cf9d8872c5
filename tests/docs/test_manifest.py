"""docs/manifest.md has a table for every part of a manifest, as the classes of `plan.manifest` say it.

`pytest --update-golden` writes the tables again.
"""

from pathlib import Path
from typing import Any

import pytest

from target_arch.plan.manifest.bundle import (
    BundlePool,
    CoreStackEntry,
    LibraryEntry,
    MachineEntry,
    Manifest,
    ToolchainEntry,
)
from target_arch.plan.manifest.image import FirmwareEntry, ImageEntry
from target_arch.plan.manifest.model import (
    AttemptEntry,
    BoundedEntry,
    BudgetEntry,
    BufferEntry,
    CostsEntry,
    ExecutionEntry,
    FramesEntry,
    FramesPoint,
    InputShapesEntry,
    ModelEntry,
    ObjectiveEntry,
    OptionsEntry,
    PlacementEntry,
    PoolEntry,
    RangeEntry,
    SelfTestEntry,
    SlotEntry,
    SpanEntry,
    StateEntry,
    StepEntry,
    TensorEntry,
    TimingEntry,
    TimingSpan,
    TuningEntry,
)
from target_arch.plan.manifest.operators import (
    CandidateEntry,
    DividedEntry,
    OperatorEntry,
    PartitionEntry,
    ShareEntry,
    SliceEntry,
)
from target_arch.plan.manifest.verification import (
    AccuracyEntry,
    ExpectedEntry,
    FloatsEntry,
    LayerEntry,
    LayersEntry,
    VerificationEntry,
)
from target_arch.plan.manifest.weights import WeightEntry, WeightsFileEntry
from target_arch.plan.memory import BufferKind
from target_arch.soc.schema.records import key_table
from tests.docs.record_tables import check_tables

PAGE = Path(__file__).parents[2] / "docs" / "manifest.md"
PARTS: dict[str, Any] = {
    "# The manifest": Manifest,
    "### `machine`": MachineEntry,
    "### `toolchain`": ToolchainEntry,
    "### `libraries[]`": LibraryEntry,
    "### `pools.NAME`": BundlePool,
    "### `stacks[]`": CoreStackEntry,
    "### `weights[]`": WeightsFileEntry,
    "### `weights[].tensors[]`": WeightEntry,
    "### `image`": ImageEntry,
    "### `firmware[]`": FirmwareEntry,
    "## Each model": ModelEntry,
    "### `tuning`": TuningEntry,
    "### `input_shapes`": InputShapesEntry,
    "### `options`": OptionsEntry,
    "### `self_test`": SelfTestEntry,
    "### `inputs[]`, `outputs[]`": TensorEntry,
    "### `outputs[].bounded`": BoundedEntry,
    "### `inputs[].range`": RangeEntry,
    "### `states[]`": StateEntry,
    "### `operators[]`": OperatorEntry,
    "### `operators[].candidates[]`": CandidateEntry,
    "### `operators[].slice_of`": SliceEntry,
    "### `divided[]`": DividedEntry,
    "### `divided[].shares[]`": ShareEntry,
    "### `partitions[]`": PartitionEntry,
    "### `lowering_order[]`": SlotEntry,
    "### `placement`": PlacementEntry,
    "### `costs`": CostsEntry,
    "### `execution`": ExecutionEntry,
    "### `execution.entries[]`, `execution.waits[]`": SpanEntry,
    "### `objective`": ObjectiveEntry,
    "### `frames`": FramesEntry,
    "### `frames.curve[]`": FramesPoint,
    "### `timing`": TimingEntry,
    "### `timing.spans[]`": TimingSpan,
    "### `budgets[]`": BudgetEntry,
    "### `attempts[]`": AttemptEntry,
    "### `pools.NAME` of a model": PoolEntry,
    "### `buffers[]`": BufferEntry,
    "### `steps[]`": StepEntry,
    "### `verification`": VerificationEntry,
    "### `verification.floats`": FloatsEntry,
    "### `verification.expected`": ExpectedEntry,
    "### `verification.accuracy`": AccuracyEntry,
    "### `verification.layers`": LayersEntry,
    "### `verification.layers.layers[]`": LayerEntry,
}
"""The headings with a table, and the record of each."""


def test_every_part_has_its_table(pytestconfig: pytest.Config) -> None:
    check_tables(PAGE, PARTS, key_table, update=pytestconfig.getoption("--update-golden"))


def test_the_words_of_buffers() -> None:
    text = PAGE.read_text()
    assert [kind for kind in BufferKind if f"`{kind}`" not in text] == []
