"""Read space files: TOML that names models and chips, and says what varies and what is wanted.

The form is in `docs/explore.md`. Every mistake of a file is reported at once, at its place. Tests:
`tests/explore/test_space_file.py`.
"""

from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from attrs import define, field

from target_arch.diagnostics import DiagnosticError, listed, name_hint
from target_arch.explore.bases import base_chip
from target_arch.explore.formula import Formula, FormulaError, formula
from target_arch.explore.keys import has_table, key_kind, key_path, known_keys
from target_arch.explore.measures import measure, measures
from target_arch.explore.space import (
    CHIP,
    MODE,
    OPTIMIZE,
    BaseChip,
    Limit,
    Space,
    SpaceModel,
    Tie,
    Variation,
    VariedValue,
)
from target_arch.explore.values import RANGE, settings
from target_arch.plan.goal import Goal
from target_arch.soc.faults import Path
from target_arch.soc.files.presence import is_file
from target_arch.soc.files.tables import TableDraft, named_tables, required_value, table_values, unknown_keys
from target_arch.soc.files.toml_file import document, placed, read_text
from target_arch.soc.schema.fields import Key
from target_arch.soc.schema.kinds import Kind, OneOf, OneOrMore, Text, wrong_type

SPACE_FILE = "space file"
SCHEMA = 1
_TOP = ("schema", "soc", "model", "vary", "ties", "where", "formulas", "minimize", "limits")
_MODEL = (Key(name="file", kind=OneOrMore(), required=True, help="a model file; several are variants"),)
_VARY = (Key(name="key", kind=OneOrMore(), help="the keys of the SoC file that have the value together"),)
_PROGRAM: Mapping[str, Kind] = {MODE: Text(), OPTIMIZE: OneOf(words=tuple(Goal))}
"""What varies beside keys of the SoC file."""


def read_space(file: File) -> Space:
    """The space of a file. Raises DiagnosticError with every mistake in it."""
    hint = "write a space file that names the model in a table `[model.NAME]`"
    text = read_text(file, str(file), SPACE_FILE, None, hint)
    return parse_space(text, str(file), file.parent)


def parse_space(text: str, path: str, folder: File = File()) -> Space:
    """The space that a text describes; `path` is its name in messages, files are relative to `folder`. Raises
    DiagnosticError.
    """
    values = document(text, path, SPACE_FILE)
    reading = _Reading(values=values, folder=folder, name=File(path).stem)
    space = reading.space()
    if reading.faults or space is None:
        raise DiagnosticError(placed(reading.faults, path, text, SPACE_FILE))
    return space


@define(kw_only=True)
class _Reading(TableDraft):
    """A document, and what is known of it so far."""

    values: Mapping[str, Any]
    folder: File
    name: str
    chips: tuple[BaseChip, ...] = ()
    models: tuple[SpaceModel, ...] = ()
    formulas: dict[str, Formula] = field(factory=dict)
    varied: dict[Path, Path] = field(factory=dict)
    """Where in the space file each key of the SoC file gets its values."""

    def space(self) -> Space | None:
        """The space; faults are collected."""
        if self.values.get("schema") != SCHEMA:
            self.fault(
                "schema-version",
                ("schema",),
                "this file has no `schema` that is read here",
                f"this version reads `schema = {SCHEMA}`",
            )
            return None
        unknown_keys((), self.values, _TOP, self)
        self.chips, self.models = self._chips(), self._models()
        if not self.chips or not self.models:
            return None
        variations = (*self._of_program(), *self._variations())
        names = {each.name for each in variations} | set(_table_of(self.values, "vary"))
        ties = self._ties(names)
        self.formulas = {name: each for name, each in self._formulas(names).items() if each is not None}
        return Space(
            name=self.name,
            models=self.models,
            chips=self.chips,
            variations=variations,
            ties=ties,
            where=self._where(names),
            formulas=self.formulas,
            minimize=self._minimize(),
            limits=self._limits(),
        )

    def _chips(self) -> tuple[BaseChip, ...]:
        given = required_value((), self.values, "soc", self)
        names = None if given is None else OneOrMore().read(("soc",), given, self.faults)
        chips = [
            self._chip(name, ("soc",) if isinstance(given, str) else ("soc", number))
            for number, name in enumerate(names or ())
        ]
        return tuple(each for each in chips if each is not None)

    def _chip(self, name: str, path: Path) -> BaseChip | None:
        beside = self.folder / name
        try:
            return base_chip(beside if is_file(beside) else name)
        except DiagnosticError as error:
            first = error.diagnostics[0]
            hint = "`target-arch check` says all that is wrong with it"
            self.fault("bad-base", path, f"{first.place}: {first.message}", hint)
            return None

    def _models(self) -> tuple[SpaceModel, ...]:
        tables = named_tables(self.values, "model", self, required=True)
        if not tables and not self.faults:
            self.fault("no-models", ("model",), "the file names no model", "`[model.NAME]` with `file = …`")
        return tuple(self._model(name, table) for name, table in tables)

    def _model(self, name: str, table: Mapping[str, Any]) -> SpaceModel:
        path: Path = ("model", name)
        files = tuple(self.folder / each for each in table_values(path, table, _MODEL, self).get("file", ()))
        several = isinstance(table.get("file"), list)
        for number, file in enumerate(files):
            if not is_file(file):
                place = (*path, "file", number) if several else (*path, "file")
                self.fault("model-not-found", place, f"there is no file `{file}`")
        return SpaceModel(name=name, files=files)

    def _of_program(self) -> tuple[Variation, ...]:
        """The variations that lists of chips and of model files are."""
        chips = {each.name: each.name for each in self.chips}
        found = [_words(CHIP, chips)] if len(self.chips) > 1 else []
        if len(chips) < len(self.chips):
            self.fault("taken-name", ("soc",), "two SoC files have one name")
        for model in self.models:
            if len(model.files) > 1:
                found.append(_words(model.name, {file.stem: file.name for file in model.files}))
        return tuple(found)

    def _variations(self) -> tuple[Variation, ...]:
        taken = {CHIP, *(model.name for model in self.models)}
        found = []
        for name, table in named_tables(self.values, "vary", self):
            path: Path = ("vary", name)
            if name in taken:
                self.fault("taken-name", path, f"`{name}` is the name of something else here", at_key=True)
            variation = self._variation(path, name, table)
            found += [variation] if variation is not None else []
        return tuple(found)

    def _variation(self, path: Path, name: str, table: Mapping[str, Any]) -> Variation | None:
        keys = table_values(path, {k: v for k, v in table.items() if k == "key"}, _VARY, self).get("key")
        unknown_keys(path, table, ("key", *RANGE), self)
        if name in _PROGRAM and keys is None:
            return self._settled(path, name, (), _PROGRAM[name], table)
        if keys is None:
            required_value(path, table, "key", self)
            return None
        several = isinstance(table["key"], list)
        kinds = [
            self._varied((*path, "key", number) if several else (*path, "key"), key)
            for number, key in enumerate(keys)
        ]
        if None in kinds:
            return None
        return self._settled(path, name, tuple(key_path(key) or () for key in keys), kinds[0], table)

    def _settled(
        self, path: Path, name: str, paths: tuple[Path, ...], kind: Kind | None, table: Mapping[str, Any]
    ) -> Variation | None:
        found = settings(path, kind, table, self.faults) if kind is not None else ()
        if not found:
            return None
        return Variation(name=name, paths=paths, settings=found)

    def _varied(self, place: Path, key: str) -> Kind | None:
        """The kind of a key that every chip has a place for; a fault where one has none, or where the key
        already varies.
        """
        path = key_path(key)
        kind = None if path is None else key_kind(path)
        without = [each for each in self.chips if kind is None or not has_table(each.document, path or ())]
        if without:
            known = sorted({each for chip in without for each in known_keys(chip.document)})
            hint = name_hint(key, known, "keys of it") if len(known) < 20 else _near(key, known)
            self.fault("unknown-soc-key", place, f"`{without[0].name}` has no key `{key}`", hint)
            return None
        assert path is not None
        if path in self.varied:
            self.fault("varied-twice", place, f"`{key}` gets values twice")
            return None
        self.varied[path] = place
        return kind

    def _ties(self, names: set[str]) -> tuple[Tie, ...]:
        found = []
        for key, text in self._texts("ties").items():
            place: Path = ("ties", key)
            kind = self._varied(place, key)
            read = self._formula(place, text, names)
            if kind is not None and read is not None:
                found.append(Tie(path=key_path(key) or (), kind=kind, formula=read))
        return tuple(found)

    def _formulas(self, names: set[str]) -> dict[str, Formula | None]:
        texts = self._texts("formulas")
        taken = {*names, *(model.name for model in self.models), *_memories(self.chips)}
        for name in texts:
            if name in taken or measure(name, ()) is not None:
                self.fault(
                    "taken-name",
                    ("formulas", name),
                    f"`{name}` is the name of something else here",
                    at_key=True,
                )
        return {name: self._formula(("formulas", name), text, names) for name, text in texts.items()}

    def _where(self, names: set[str]) -> tuple[Formula, ...]:
        given = self.values.get("where", [])
        texts = OneOrMore().read(("where",), given, self.faults) if given else ()
        places: list[Path] = (
            [("where",)] if isinstance(given, str) else [("where", n) for n in range(len(texts or ()))]
        )
        read = [self._formula(place, text, names) for place, text in zip(places, texts or (), strict=True)]
        return tuple(each for each in read if each is not None)

    def _formula(self, place: Path, text: str, names: set[str]) -> Formula | None:
        try:
            found = formula(text)
        except FormulaError as error:
            self.fault("bad-formula", place, str(error), error.hint)
            return None
        for name in found.names:
            path = key_path(name)
            if name in names or (path is not None and key_kind(path) is not None):
                continue
            hint = name_hint(name, names, "what varies") if names else None
            self.fault(
                "unknown-name", place, f"`{name}` is neither a name in `vary` nor a key of a SoC file", hint
            )
            return None
        return found

    def _minimize(self) -> tuple[str, ...]:
        given = required_value((), self.values, "minimize", self)
        names = None if given is None else OneOrMore().read(("minimize",), given, self.faults)
        for number, name in enumerate(names or ()):
            place: Path = ("minimize",) if isinstance(given, str) else ("minimize", number)
            self._require_measure(place, name)
        return tuple(names or ())

    def _limits(self) -> tuple[Limit, ...]:
        table = self.values.get("limits", {})
        if not isinstance(table, dict):
            wrong_type(("limits",), "a table", table, self.faults)
            return ()
        found = [self._limit(("limits", name), name, value) for name, value in table.items()]
        return tuple(each for each in found if each is not None)

    def _limit(self, place: Path, name: str, value: object) -> Limit | None:
        if not self._require_measure(place, name):
            return None
        known = measure(name, [model.name for model in self.models])
        if known is not None:
            most = known.kind.read(place, value, self.faults)
            return None if most is None else Limit(measure=name, most=float(most), shown=str(value))
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong_type(place, "a number", value, self.faults)
            return None
        return Limit(measure=name, most=float(value), shown=str(value))

    def _require_measure(self, place: Path, name: str) -> bool:
        """A fault, and False, for a name that is neither a measure nor a formula."""
        models, memories = [each.name for each in self.models], _memories(self.chips)
        known = {*measures(models, memories), *_table_of(self.values, "formulas")}
        if name not in known:
            hint = name_hint(name, known, "there are")
            at_key = place[0] == "limits"
            self.fault("unknown-measure", place, f"`{name}` is nothing that is measured", hint, at_key=at_key)
        return name in known

    def _texts(self, section: str) -> dict[str, str]:
        """A table from names to text."""
        table = self.values.get(section, {})
        if not isinstance(table, dict):
            wrong_type((section,), "a table", table, self.faults)
            return {}
        found = {name: Text().read((section, name), text, self.faults) for name, text in table.items()}
        return {name: text for name, text in found.items() if text is not None}


def _table_of(values: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """A table of the file; an empty one where the value is none."""
    table = values.get(section)
    return table if isinstance(table, dict) else {}


def _words(name: str, words: Mapping[str, str]) -> Variation:
    settings = tuple(VariedValue(literal="", shown=word, number=word) for word in words)
    return Variation(name=name, settings=settings)


def _memories(chips: tuple[BaseChip, ...]) -> set[str]:
    return {name for chip in chips for name in chip.document.get("memory", {})}


def _near(key: str, known: list[str]) -> str:
    """A hint that names the nearest key, or those of the same table."""
    hint = name_hint(key, known, "")
    if hint.startswith("did you mean"):
        return hint
    table = key.rpartition(".")[0]
    same = [each for each in known if each.startswith(f"{table}.")]
    return f"keys there: {listed(same)}" if same else "`target-arch show` prints what a SoC file has"
