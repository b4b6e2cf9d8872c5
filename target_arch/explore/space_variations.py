"""Variations of a space file: keys of the SoC file, and what the program is asked for."""

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from target_arch.diagnostics import listed, name_hint
from target_arch.explore.keys import has_table, key_kind, key_path, known_keys
from target_arch.explore.space import CHIP, MODE, OBJECTIVE, OPTIMIZE, Variation
from target_arch.explore.space_bases import SpaceBases
from target_arch.explore.space_document import VariationTable
from target_arch.explore.values import settings
from target_arch.plan.goal import Goal
from target_arch.plan.objective import Objective
from target_arch.soc.faults import Path
from target_arch.soc.schema.kinds import Kind, OneOf, Text
from target_arch.soc.schema.records import table_values
from target_arch.soc.schema.tables import TableDraft, named_tables, required_value

_PROGRAM: Mapping[str, Kind] = {
    MODE: Text(),
    OPTIMIZE: OneOf(words=tuple(Goal)),
    OBJECTIVE: OneOf(words=tuple(Objective)),
}
"""What varies beside keys of the SoC file."""
_MANY = 20
"""Keys from which on a hint names the near ones alone."""


@define(kw_only=True)
class SpaceVariations:
    """The variations, and the keys of the SoC file that have got their values so far, each at most once."""

    bases: SpaceBases
    draft: TableDraft
    names: set[str] = field(factory=set)
    """The names of variations, those that are wrong included: formulas may name them."""
    _places: dict[Path, Path] = field(factory=dict, init=False)
    """Where in the space file each key of the SoC file gets its values."""

    def read(self, values: Mapping[str, Any]) -> tuple[Variation, ...]:
        """All variations of a document."""
        variations = list(self.bases.variations(self.draft))
        taken = {CHIP, *self.bases.model_names}
        for name, table in named_tables(values, "vary", self.draft):
            path: Path = ("vary", name)
            self.names.add(name)
            if name in taken:
                said = f"`{name}` is the name of something else here"
                self.draft.fault("taken-name", path, said, at_key=True)
            variation = self._variation(path, name, table)
            variations += [variation] if variation is not None else []
        self.names |= {variation.name for variation in variations}
        return tuple(variations)

    def kind(self, place: Path, key: str) -> Kind | None:
        """The kind of a key that every chip has a place for, which gets its values here; a fault, and None,
        where a chip has none, or where the key already has values.
        """
        path = key_path(key)
        kind = None if path is None else key_kind(path)
        without = [c for c in self.bases.chips if kind is None or not has_table(c.document, path or ())]
        if without:
            known = sorted({known for chip in without for known in known_keys(chip.document)})
            hint = name_hint(key, known, "keys of it") if len(known) < _MANY else _near(key, known)
            self.draft.fault("unknown-soc-key", place, f"`{without[0].name}` has no key `{key}`", hint)
            return None
        assert path is not None
        if path in self._places:
            self.draft.fault("varied-twice", place, f"`{key}` gets values twice")
            return None
        self._places[path] = place
        return kind

    def _variation(self, path: Path, name: str, table: Mapping[str, Any]) -> Variation | None:
        keys = table_values(path, table, VariationTable, self.draft).get("key")
        if name in _PROGRAM and keys is None:
            return self._settled(path, name, (), _PROGRAM[name], table)
        if keys is None:
            required_value(path, table, "key", self.draft)
            return None
        several = isinstance(table["key"], list)
        kinds = [
            self.kind((*path, "key", number) if several else (*path, "key"), key)
            for number, key in enumerate(keys)
        ]
        if None in kinds or not kinds:
            return None
        return self._settled(path, name, tuple(key_path(key) or () for key in keys), kinds[0], table)

    def _settled(
        self, path: Path, name: str, paths: tuple[Path, ...], kind: Kind | None, table: Mapping[str, Any]
    ) -> Variation | None:
        values = settings(path, kind, table, self.draft.faults) if kind is not None else ()
        return Variation(name=name, paths=paths, settings=values) if values else None


def _near(key: str, known: list[str]) -> str:
    """A hint that names the nearest key, or those of the same table."""
    hint = name_hint(key, known, "")
    if hint.startswith("did you mean"):
        return hint
    table = key.rpartition(".")[0]
    same = [other for other in known if other.startswith(f"{table}.")]
    return f"keys there: {listed(same)}" if same else "`target-arch show` prints what a SoC file has"
