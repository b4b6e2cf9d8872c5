"""Read space files: TOML that names models and chips, and says what varies and what is wanted.

The form is in `docs/explore.md`. Every mistake of a file is reported at once, at its place. Tests:
`tests/explore/test_space_file.py`.
"""

from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.space import Space
from target_arch.explore.space_bases import SpaceBases
from target_arch.explore.space_document import SCHEMA, SpaceDocument
from target_arch.explore.space_formulas import SpaceFormulas
from target_arch.explore.space_variations import SpaceVariations
from target_arch.explore.space_wishes import SpaceWishes
from target_arch.soc.files.toml_file import document, placed, read_text
from target_arch.soc.schema.records import record_keys
from target_arch.soc.schema.tables import TableDraft, unknown_keys

SPACE_FILE = "space file"


def read_space(file: File) -> Space:
    """The space of a file. Raises DiagnosticError with every mistake in it."""
    hint = "write a space file that names the model in a table `[model.NAME]`"
    text = read_text(file, str(file), SPACE_FILE, None, hint)
    return parse_space(text, str(file), file.parent)


def parse_space(text: str, path: str, folder: File = File()) -> Space:
    """The space that a text describes; `path` is its name in messages, files are relative to `folder`. Raises
    DiagnosticError.
    """
    values, draft = document(text, path, SPACE_FILE), TableDraft()
    space = _space(values, folder, File(path).stem, draft)
    if draft.faults or space is None:
        raise DiagnosticError(placed(draft.faults, path, text, SPACE_FILE))
    return space


def _space(values: Mapping[str, Any], folder: File, name: str, draft: TableDraft) -> Space | None:
    """The space of a document; None where too little is known of it. Faults go to the draft."""
    if values.get("schema") != SCHEMA:
        draft.fault(
            "schema-version",
            ("schema",),
            "this file has no `schema` that is read here",
            f"this version reads `schema = {SCHEMA}`",
        )
        return None
    unknown_keys((), values, tuple(key.name for key in record_keys(SpaceDocument)), draft)
    bases = SpaceBases.read(values, folder, draft)
    if not bases.chips or not bases.models:
        return None
    varied = SpaceVariations(bases=bases, draft=draft)
    variations = varied.read(values)
    formulas = SpaceFormulas(bases=bases, varied=varied, draft=draft).read(values)
    wishes = SpaceWishes(bases=bases, values=values, draft=draft)
    return Space(
        name=name,
        models=bases.models,
        chips=bases.chips,
        variations=variations,
        ties=formulas.ties,
        where=formulas.where,
        formulas=formulas.named,
        objective=wishes.objective(variations),
        minimize=wishes.minimize(),
        limits=wishes.limits(),
    )
