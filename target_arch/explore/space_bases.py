"""The chips and the models that a space file names."""

from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from attrs import frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.bases import base_chip
from target_arch.explore.space import CHIP, BaseChip, SpaceModel, Variation, VariedValue
from target_arch.explore.space_document import SpaceModelTable
from target_arch.soc.faults import Path
from target_arch.soc.files.presence import is_file
from target_arch.soc.schema.kinds import OneOrMore
from target_arch.soc.schema.records import table_values
from target_arch.soc.schema.tables import TableDraft, named_tables, required_value


@frozen(kw_only=True)
class SpaceBases:
    """The chips that points are made from, and the models; neither where the file names none that is good."""

    chips: tuple[BaseChip, ...]
    models: tuple[SpaceModel, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any], folder: File, draft: TableDraft) -> "SpaceBases":
        """The chips and models of a document; files are relative to the folder. Faults go to the draft."""
        return cls(chips=_chips(values, folder, draft), models=_models(values, folder, draft))

    @property
    def model_names(self) -> list[str]:
        """The names of the models."""
        return [model.name for model in self.models]

    @property
    def memories(self) -> set[str]:
        """The names of the memories of all chips."""
        return {name for chip in self.chips for name in chip.document.get("memory", {})}

    def variations(self, draft: TableDraft) -> tuple[Variation, ...]:
        """The variations that lists of chips and of model files are."""
        chips = [each.name for each in self.chips]
        found = [_words(CHIP, chips)] if len(chips) > 1 else []
        if len(set(chips)) < len(chips):
            draft.fault("taken-name", ("soc",), "two SoC files have one name")
        for model in self.models:
            if len(model.files) > 1:
                found.append(_words(model.name, [file.stem for file in model.files]))
        return tuple(found)


def _chips(values: Mapping[str, Any], folder: File, draft: TableDraft) -> tuple[BaseChip, ...]:
    stated = required_value((), values, "soc", draft)
    names = None if stated is None else OneOrMore().read(("soc",), stated, draft.faults)
    chips = [
        _chip(name, ("soc",) if isinstance(stated, str) else ("soc", number), folder, draft)
        for number, name in enumerate(names or ())
    ]
    return tuple(chip for chip in chips if chip is not None)


def _chip(name: str, path: Path, folder: File, draft: TableDraft) -> BaseChip | None:
    beside = folder / name
    try:
        return base_chip(beside if is_file(beside) else name)
    except DiagnosticError as error:
        first = error.diagnostics[0]
        hint = "`target-arch check` says all that is wrong with it"
        draft.fault("bad-base", path, f"{first.place}: {first.message}", hint)
        return None


def _models(values: Mapping[str, Any], folder: File, draft: TableDraft) -> tuple[SpaceModel, ...]:
    tables = named_tables(values, "model", draft, required=True)
    if not tables and not draft.faults:
        draft.fault("no-models", ("model",), "the file names no model", "`[model.NAME]` with `file = …`")
    return tuple(_model(name, table, folder, draft) for name, table in tables)


def _model(name: str, table: Mapping[str, Any], folder: File, draft: TableDraft) -> SpaceModel:
    path: Path = ("model", name)
    files = tuple(folder / file for file in table_values(path, table, SpaceModelTable, draft).get("file", ()))
    several = isinstance(table.get("file"), list)
    for number, file in enumerate(files):
        if not is_file(file):
            place = (*path, "file", number) if several else (*path, "file")
            draft.fault("model-not-found", place, f"there is no file `{file}`")
    return SpaceModel(name=name, files=files)


def _words(name: str, words: list[str]) -> Variation:
    settings = tuple(VariedValue(literal="", shown=word, number=word) for word in dict.fromkeys(words))
    return Variation(name=name, settings=settings)
