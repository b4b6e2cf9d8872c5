"""The C function of a region that computes patch by patch: the C of rows for each, one after the other."""

from collections.abc import Iterator

from target_arch.backends.plain_c.kernels.text import function
from target_arch.backends.plain_c.patches.regions import PatchCode
from target_arch.backends.plain_c.stripes.rows_text import Part, RowsText
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model


def patches_function(code: PatchCode, model: Model) -> CFunction:
    """The function of all patches: all have the same parameters."""
    texts = [*_texts(code, model)]
    body = [line for text in texts for line in ("{", *(f"    {each}" for each in text.body()), "}")]
    headers = dict.fromkeys(header for text in texts for header in text.headers())
    most = max(texts, key=lambda text: text.plan.scratch)
    return function("patches", most.parameters(), body, tuple(headers))


def _texts(code: PatchCode, model: Model) -> Iterator[RowsText]:
    output = code.plan.output
    for patch, units, rows in zip(code.plan.patches, code.units, code.rows, strict=True):
        columns = patch.columns[output.name]
        part = Part(
            first=columns.start * (output.row_bytes // columns.of),
            row_bytes=output.row_bytes,
            skipped=tuple(unit.skipped for unit in units),
        )
        yield RowsText(plan=patch.stripes, units=rows, model=model, part=part)
