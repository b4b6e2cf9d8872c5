"""Replays patches: the rows of each, and the columns, all of which must be there when they are read."""

from collections.abc import Iterator

from target_arch.plan.regions.patches import Columns, Patch, Patches
from target_arch.plan.regions.stripes import TensorRows
from target_arch.stages.regions import replay_rows


def faults(plan: Patches) -> Iterator[str]:
    """All that is wrong with patches."""
    end = 0
    for patch in plan.patches:
        yield from replay_rows.faults(patch.stripes)
        yield from _columns_faults(patch)
        name = patch.stripes.output.name
        made = patch.columns[name]
        if made.start != end or name != plan.output.name:
            yield f"columns {made} of `{name}` follow column {end} of `{plan.output.name}`"
        if not _has(patch.stripes.output, made, plan.output):
            yield f"a row of `{name}` has {patch.stripes.output.row_bytes} B in columns {made}"
        end = made.end
    if end != plan.patches[0].columns[plan.output.name].of:
        yield f"{end} columns of `{plan.output.name}` are made"


def _columns_faults(patch: Patch) -> Iterator[str]:
    """Columns that are read and are not there, and given tensors that are not whole."""
    for image in patch.stripes.given:
        if patch.columns[image.name] != patch.columns[image.name].whole:
            yield f"only columns {patch.columns[image.name]} of `{image.name}` are known"
    for producer, windows in zip(patch.stripes.producers, patch.reads, strict=True):
        read = [window.tensor.name for window in producer.reads]
        if read != [window.tensor for window in windows]:
            yield f"`{producer.image.name}` reads rows of {read}, and columns of others"
        for window in windows:
            there = patch.columns[window.tensor]
            needed = window.needed(patch.columns[producer.image.name])
            if needed.start < there.start or needed.end > there.end:
                yield f"`{producer.image.name}` reads columns {needed} of `{window.tensor}`, not {there}"


def _has(part: TensorRows, made: Columns, whole: TensorRows) -> bool:
    """Whether the rows of a part are those columns of the whole rows."""
    return part.rows == whole.rows and part.row_bytes * made.of == whole.row_bytes * made.count
