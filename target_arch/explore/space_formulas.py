"""The formulas of a space file: keys that are computed, what a point must fulfil, and named values."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from target_arch.diagnostics import name_hint
from target_arch.explore.formula import Formula, FormulaError, formula
from target_arch.explore.keys import key_kind, key_path
from target_arch.explore.measures import measure
from target_arch.explore.space import Tie
from target_arch.explore.space_bases import SpaceBases
from target_arch.explore.space_document import SpaceDocument
from target_arch.explore.space_variations import SpaceVariations
from target_arch.soc.faults import Path
from target_arch.soc.schema.records import record_key
from target_arch.soc.schema.tables import TableDraft


@frozen(kw_only=True)
class ReadFormulas:
    """The good formulas of a file."""

    ties: tuple[Tie, ...]
    where: tuple[Formula, ...]
    named: Mapping[str, Formula]


@frozen(kw_only=True)
class SpaceFormulas:
    """Reads formulas over what varies and over the keys of the SoC files."""

    bases: SpaceBases
    varied: SpaceVariations
    draft: TableDraft = field(repr=False)

    def read(self, values: Mapping[str, Any]) -> ReadFormulas:
        """The formulas of a document; faults go to the draft."""
        return ReadFormulas(ties=self._ties(values), named=self._named(values), where=self._where(values))

    def _ties(self, values: Mapping[str, Any]) -> tuple[Tie, ...]:
        ties = []
        for key, text in self._texts(values, "ties").items():
            place: Path = ("ties", key)
            kind = self.varied.kind(place, key)
            read = self._formula(place, text)
            if kind is not None and read is not None:
                ties.append(Tie(path=key_path(key) or (), kind=kind, formula=read))
        return tuple(ties)

    def _named(self, values: Mapping[str, Any]) -> dict[str, Formula]:
        taken = {*self.varied.names, *self.bases.model_names, *self.bases.memories}
        texts = self._texts(values, "formulas")
        for name in texts:
            if name in taken or measure(name, ()) is not None:
                said = f"`{name}` is the name of something else here"
                self.draft.fault("taken-name", ("formulas", name), said, at_key=True)
        read = {name: self._formula(("formulas", name), text) for name, text in texts.items()}
        return {name: good for name, good in read.items() if good is not None}

    def _where(self, values: Mapping[str, Any]) -> tuple[Formula, ...]:
        stated = values.get("where", [])
        texts = self._read("where", stated) if stated else ()
        read = [
            self._formula(("where",) if isinstance(stated, str) else ("where", number), text)
            for number, text in enumerate(texts or ())
        ]
        return tuple(good for good in read if good is not None)

    def _formula(self, place: Path, text: str) -> Formula | None:
        try:
            read = formula(text)
        except FormulaError as error:
            self.draft.fault("bad-formula", place, str(error), error.hint)
            return None
        names = self.varied.names
        for name in read.names:
            path = key_path(name)
            if name in names or (path is not None and key_kind(path) is not None):
                continue
            hint = name_hint(name, names, "what varies") if names else None
            said = f"`{name}` is neither a name in `vary` nor a key of a SoC file"
            self.draft.fault("unknown-name", place, said, hint)
            return None
        return read

    def _texts(self, values: Mapping[str, Any], section: str) -> dict[str, str]:
        """A table from names to text."""
        read = self._read(section, values.get(section, {})) or {}
        return {name: text for name, text in read.items() if text is not None}

    def _read(self, key: str, stated: object) -> Any:
        return record_key(SpaceDocument, key).kind.read((key,), stated, self.draft.faults)
