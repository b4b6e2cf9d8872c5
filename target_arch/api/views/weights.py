"""The weights files of a bundle as a table."""

from functools import partial
from pathlib import Path

from target_arch.api.shown import Shown
from target_arch.plan.manifest.weights import WeightsEntry, WeightsFileEntry
from target_arch.plan.printed.text import table
from target_arch.run.bundles.weights import weights_in
from target_arch.soc.schema.records import to_json


def weights_table(directory: Path) -> Shown[WeightsEntry]:
    """The weights files of the bundle in a folder. Raises as `run.bundles.weights.weights_in` does."""
    weights = weights_in(directory)
    return Shown(
        title=f"weights of {directory}",
        value=weights,
        text="\n".join(map(_file, weights.weights)),
        json=partial(to_json, weights),
    )


def _file(weights: WeightsFileEntry) -> str:
    address = "" if weights.address is None else f" at 0x{weights.address:08x}"
    head = (
        f"{weights.file}: {weights.bytes:,} B{address}, aligned to {weights.alignment} B, "
        f"{len(weights.tensors)} tensors of {weights.model} in {weights.pool}, program {weights.program}"
    )
    rows = [(f"{one.offset:,}", f"{one.bytes:,}", one.crc32c, one.name) for one in weights.tensors]
    return f"{head}\n{table(('offset', 'bytes', 'CRC-32C', 'tensor'), rows, right=(0, 1))}"
