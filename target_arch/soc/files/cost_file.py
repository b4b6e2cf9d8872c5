"""Read cost files: JSON with costs measured on a chip. Form and rules: `docs/cost-file.md`.

Tests: `tests/soc/files/test_cost_file.py`.
"""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path as File
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError, Span, name_hint, refusal
from target_arch.soc.costs import (
    Calibration,
    Costs,
    FittedCosts,
    LoadCost,
    Measured,
    MeasuredOperator,
    PathCost,
    PowerCost,
    StatedError,
)
from target_arch.soc.faults import Fault, Path
from target_arch.soc.files.json_positions import JsonPositions
from target_arch.soc.model import HOST_ENGINE, SoC
from target_arch.soc.schema.fields import COPY, LOAD, SCHEMA, WATTS
from target_arch.soc.schema.kinds import Kind, OneOrMore, Quantity, Text, wrong_type
from target_arch.soc.units import TIME

_CYCLES = "cycles"
_PER = ("", "/element", "/mac")
_DURATION = {**TIME, _CYCLES: Fraction(1)}
_TIMES = {f"{unit}{per}": factor for per in _PER for unit, factor in _DURATION.items()}
_JOULES = {"pJ": Fraction(1, 10**12), "nJ": Fraction(1, 10**9), "uJ": Fraction(1, 10**6)}
_JOULES |= {"mJ": Fraction(1, 10**3), "J": Fraction(1)}
_TIME = Quantity(what="time", units=_TIMES, most=1e15, zero=True)
_ENERGY = Quantity(what="energy", units=_JOULES, most=1e6, zero=True)
_MEASURED: Mapping[str, Kind] = {"time": _TIME, "energy": _ENERGY}
_OF_FILES = {key.name: key.kind for key in (*COPY, *LOAD)}
_PATH: Mapping[str, Kind] = {
    "from": OneOrMore(),
    "to": OneOrMore(),
    "engine": Text(),
    "setup": _OF_FILES["setup"],
    "bandwidth": _OF_FILES["bandwidth"],
}
_LOAD: Mapping[str, Kind] = {"bytes": _OF_FILES["bytes"], "time": _OF_FILES["time"]}
_TOP = ("schema", "operators", "copies", "loads", "energy", "calibration", "measured", "fitted")
_WHOLE = Quantity(what="time", units=_DURATION, most=1e15, zero=True)
_MEASURED_OPERATOR: Mapping[str, Kind] = {"time": _WHOLE, "kernel": Text(), "energy": _ENERGY}
_ABOUT: Mapping[str, Kind] = {key: Text() for key in ("soc", "port", "counts", "tools")}
_POWER: Mapping[str, Kind] = {"active": WATTS, "idle": WATTS}
_FITTED = ("rates", "share", "error")
_ERROR = ("steps", "median", "worst", "low", "high")


def read_costs(file: File, soc: SoC) -> Costs:
    """The costs in a file, for a SoC. Raises DiagnosticError with everything that is wrong with it.

    Whether operators are known is judged where the model is.
    """
    shown = str(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        said = (getattr(error, "strerror", None) or str(error)).lower()
        raise refusal("cannot-read", shown, f"cannot read a cost file: {said}") from error
    return parse_costs(text, shown, soc)


def parse_costs(text: str, shown: str, soc: SoC) -> Costs:
    """As `read_costs`, of a text; `shown` is its name in messages."""
    document, positions = _document(text, shown)
    if document.get("schema") != SCHEMA or isinstance(document["schema"], bool):
        said = "has an unsupported `schema`" if "schema" in document else "does not say its `schema`"
        place, hint = positions.value(("schema",)), f'this version reads `"schema": {SCHEMA}`'
        raise refusal("schema-version", place, f"this file {said}", hint)
    reader = _Reader(soc)
    costs = reader.costs(document, shown)
    if reader.faults:
        raise DiagnosticError(_diagnostic(fault, positions) for fault in reader.faults)
    return costs


class _Reader:
    def __init__(self, soc: SoC) -> None:
        self._soc = soc
        self._archs = {arch.name for arch in soc.archs}
        self._replicas: dict[str, tuple[str, ...]] = {}
        for memory in soc.memories:
            name = memory.replica_of or memory.name
            self._replicas[name] = (*self._replicas.get(name, ()), memory.name)
        self.faults: list[Fault] = []

    def costs(self, document: Mapping[str, Any], origin: str) -> Costs:
        self._known_keys((), document, _TOP)
        copies = document.get("copies", [])
        if not isinstance(copies, list):
            wrong_type(("copies",), "a list of tables", copies, self.faults)
            copies = []
        paths = [self._path(("copies", number), table) for number, table in enumerate(copies)]
        self._twice(paths)
        owners = {arch.backend for arch in self._soc.archs} | self._archs
        return Costs(
            operators={
                owner: {
                    name: cost for name, value in table.items() if (cost := self._cost(path, name, value))
                }
                for owner, path, table in self._tables(document, "operators", owners)
            },
            copies=tuple(path for path in paths if path is not None),
            loads={
                arch: self._load(path, table)
                for arch, path, table in self._tables(document, "loads", self._archs)
            },
            energy={
                arch: self._power(path, table)
                for arch, path, table in self._tables(document, "energy", self._archs)
            },
            calibration=self._calibration(document),
            origin=origin,
        )

    def _calibration(self, document: Mapping[str, Any]) -> Calibration | None:
        """The tables that `calibrate` writes; None where none of its tables is there."""
        measured = {
            arch: {name: cost for name, value in table.items() if (cost := self._ran(path, name, value))}
            for arch, path, table in self._tables(document, "measured", self._archs)
        }
        fitted = {
            arch: rates
            for arch, path, table in self._tables(document, "fitted", self._archs)
            if (rates := self._rates(path, table))
        }
        path: Path = ("calibration",)
        if "calibration" not in document:
            if measured or fitted:
                said = "`measured` and `fitted` need `calibration`, which says of what and where"
                section: Path = ("measured" if measured else "fitted",)
                hint = "`target-arch calibrate` writes such files"
                self._fault("missing-key", section, said, hint, at_key=True)
            return None
        table = self._table(path, document["calibration"])
        self._known_keys(path, table, (*_ABOUT, "models"))
        about = self._required(path, {key: table[key] for key in table if key in _ABOUT}, _ABOUT)
        models = self._models(path, table)
        if about is None or models is None:
            return None
        self._same_chip(path, about["soc"])
        counted = about.pop("counts")
        return Calibration(**about, counted=counted, models=models, measured=measured, fitted=fitted)

    def _models(self, path: Path, table: Mapping[str, Any]) -> tuple[str, ...] | None:
        names = table.get("models", [])
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            said = "`models` must be a list of the models that were measured"
            self._fault("wrong-type", (*path, "models") if "models" in table else path, said)
            return None
        return tuple(names)

    def _same_chip(self, path: Path, soc: str) -> None:
        if soc != self._soc.name:
            said = f"these costs were calibrated for `{soc}`, not for `{self._soc.name}`"
            self._fault("another-soc", (*path, "soc"), said, "calibrate again with this SoC file")

    def _ran(self, path: Path, name: str, value: object) -> MeasuredOperator | None:
        here = (*path, name)
        table = self._table(here, value)
        values = self._required(here, table, _MEASURED_OPERATOR, optional=("energy",))
        if values is None:
            return None
        cycles = self._in_cycles(path, here, table["time"])
        return MeasuredOperator(
            amount=values["time"], cycles=cycles, kernel=values["kernel"], energy=values.get("energy")
        )

    def _rates(self, path: Path, table: Mapping[str, Any]) -> FittedCosts | None:
        self._known_keys(path, table, _FITTED)
        rates = self._table((*path, "rates"), table.get("rates", {}))
        read = {unit: _WHOLE.read((*path, "rates", unit), rate, self.faults) for unit, rate in rates.items()}
        if not rates or None in read.values():
            if not rates:
                self._fault(
                    "missing-key", path, "a fit needs `rates`: a time for each unit of work", at_key=True
                )
            return None
        cycles = {self._in_cycles(path, (*path, "rates", unit), rate) for unit, rate in rates.items()}
        if len(cycles) > 1:
            said = "some rates are cycles, some are times"
            self._fault("bad-unit", (*path, "rates"), said, at_key=True)
        share = self._number((*path, "share"), table.get("share", 1.0))
        error = self._error((*path, "error"), table["error"]) if "error" in table else None
        if share is None or ("error" in table and error is None):
            return None
        return FittedCosts(rates=read, cycles=cycles == {True}, share=share, error=error)

    def _error(self, path: Path, value: object) -> StatedError | None:
        table = self._table(path, value)
        self._known_keys(path, table, _ERROR)
        missing = [key for key in _ERROR if key not in table]
        if missing:
            self._fault("missing-key", path, f"an error has no `{missing[0]}`", at_key=True)
            return None
        numbers = {key: self._number((*path, key), table[key]) for key in _ERROR}
        if any(number is None for number in numbers.values()):
            return None
        values = {key: number or 0.0 for key, number in numbers.items()}
        return StatedError(steps=int(values.pop("steps")), **values)

    def _number(self, path: Path, value: object) -> float | None:
        """A number that is not negative."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong_type(path, "a number", value, self.faults)
            return None
        if not 0 <= value < float("inf"):
            self._fault("out-of-range", path, f"`{path[-1]}` must be at least 0")
            return None
        return float(value)

    def _in_cycles(self, owner: Path, path: Path, written: str) -> bool:
        cycles = written.strip().endswith(_CYCLES)
        if cycles:
            self._needs_clock((*owner, path[-1]))
        return cycles

    def _required(
        self, path: Path, table: Mapping[str, Any], kinds: Mapping[str, Kind], optional: tuple[str, ...] = ()
    ) -> dict[str, Any] | None:
        """The values of a table that needs all keys but the optional ones; None where one is missing or
        wrong.
        """
        missing = [key for key in kinds if key not in table and key not in optional]
        for key in missing:
            self._fault("missing-key", path, f"`{path[-1]}` has no `{key}`", at_key=True)
        values = self._values(path, table, kinds)
        complete = all(key in values for key in table if key in kinds)
        return values if complete and not missing else None

    def _tables(
        self, document: Mapping[str, Any], section: str, known: Iterable[str]
    ) -> list[tuple[str, Path, dict[str, Any]]]:
        """The tables of a section, by the name of a target_arch, or another known name."""
        names = set(known)
        found = []
        for name, table in self._table((section,), document.get(section, {})).items():
            path: Path = (section, name)
            if name not in names:
                hint = name_hint(name, names, "declared here")
                self._fault(
                    "unknown-target-arch", path, f"target_arch `{name}` is not declared", hint, at_key=True
                )
            else:
                found.append((name, path, self._table(path, table)))
        return found

    def _cost(self, path: Path, name: str, value: object) -> Measured | None:
        here = (*path, name)
        values = self._values(here, value if isinstance(value, dict) else {"time": value}, _MEASURED)
        written = value.get("time") if isinstance(value, dict) else value
        if "time" not in values or not isinstance(written, str):
            if isinstance(value, dict) and written is None:
                self._fault("missing-key", here, f"`{name}` has no `time`", at_key=True)
            return None
        unit, _, per = written.strip().partition("/")
        cycles = unit.endswith(_CYCLES)
        if cycles:
            self._needs_clock(here)
        return Measured(amount=values["time"], cycles=cycles, per=per, energy=values.get("energy"))

    def _load(self, path: Path, table: Mapping[str, Any]) -> LoadCost:
        if not table:
            self._fault("missing-key", path, "a load process needs `bytes` or `time`", at_key=True)
        return LoadCost(**self._values(path, table, _LOAD))

    def _power(self, path: Path, table: Mapping[str, Any]) -> PowerCost:
        if not table:
            self._fault("missing-key", path, "energy needs `active` or `idle`: a power", at_key=True)
        return PowerCost(**self._values(path, table, _POWER))

    def _needs_clock(self, path: Path) -> None:
        for arch in self._soc.archs:
            if path[1] in (arch.name, arch.backend) and not arch.clock:
                said = f"cycles tell no time: target_arch `{arch.name}` declares no `clock`"
                self._fault("missing-clock", path, said, "declare it, or give a time", at_key=True)

    def _path(self, path: Path, table: object) -> PathCost | None:
        before = len(self.faults)
        values = self._values(path, self._table(path, table), _PATH)
        ends = []
        for key in ("from", "to"):
            names = values.pop(key, None)
            if names is None and len(self.faults) == before:
                self._fault("missing-key", path, f"a copy path needs `{key}`")
            ends.append(self._memories((*path, key), names or ()))
        engines = {HOST_ENGINE, *(dma.name for dma in self._soc.dmas)}
        engine = values.get("engine")
        if engine is not None and engine not in engines:
            hint = name_hint(engine, engines, "declared here")
            self._fault("unknown-engine", (*path, "engine"), f"DMA engine `{engine}` is not declared", hint)
        if len(self.faults) > before:
            return None
        cost = PathCost(sources=ends[0], targets=ends[1], **values)
        if not any(cost.means(declared) for declared in self._soc.copies):
            self._fault("unknown-copy", path, "the SoC declares no such copy path")
        elif cost.setup is None and cost.bandwidth is None:
            self._fault("missing-key", path, "nothing was measured: neither `setup` nor `bandwidth`")
        return cost

    def _twice(self, costs: list[PathCost | None]) -> None:
        """Of two entries for one path, one would be ignored."""
        told: set[int] = set()
        for path in self._soc.copies:
            first, *others = [n for n, cost in enumerate(costs) if cost and cost.means(path)] or [0]
            for other in sorted(set(others) - told):
                said = f"the path from `{path.source}` to `{path.target}` is in `copies[{first}]`, too"
                self._fault("duplicate-copy", ("copies", other), said, "measure each path once")
            told.update(others)

    def _memories(self, path: Path, names: Iterable[str]) -> tuple[str, ...]:
        found: list[str] = []
        for name in names:
            if name not in self._replicas:
                hint = name_hint(name, self._replicas, "declared here")
                self._fault("unknown-memory", path, f"memory `{name}` is not declared", hint)
            found += self._replicas.get(name, ())
        return tuple(found)

    def _values(self, path: Path, table: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
        self._known_keys(path, table, kinds)
        read = {
            key: kind.read((*path, key), table[key], self.faults)
            for key, kind in kinds.items()
            if key in table
        }
        return {key: value for key, value in read.items() if value is not None}

    def _table(self, path: Path, value: object) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        wrong_type(path, "a table", value, self.faults)
        return {}

    def _known_keys(self, path: Path, table: Mapping[str, Any], known: Iterable[str]) -> None:
        keys = tuple(known)
        for key in table:
            if key not in keys:
                hint = name_hint(key, keys, "keys are")
                self._fault("unknown-key", (*path, key), f"`{key}` means nothing here", hint, at_key=True)

    def _fault(
        self, rule: str, path: Path, message: str, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        self.faults.append(Fault(rule=rule, path=path, message=message, hint=hint, at_key=at_key))


def _document(text: str, shown: str) -> tuple[dict[str, Any], JsonPositions]:
    try:
        value = json.loads(text)
        positions = JsonPositions(shown, text)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        place = Span(path=shown, line=error.lineno, column=error.colno, length=1, text=line)
        said = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise refusal("json-syntax", place, said) from error
    except ValueError as error:
        raise refusal("json-syntax", shown, f"not JSON: {error}") from error
    except RecursionError:
        raise refusal("too-deep", shown, "the file nests deeper than any cost file does") from None
    odd = [
        Diagnostic(rule="json-syntax", place=at, message=f"not JSON: {why}") for at, why in positions.faults()
    ]
    if odd:
        raise DiagnosticError(odd)
    if not isinstance(value, dict):
        raise refusal("wrong-type", positions.value(()), "a cost file is a table, `{` to `}`")
    return value, positions


def _diagnostic(fault: Fault, positions: JsonPositions) -> Diagnostic:
    place = positions.key(fault.path) if fault.at_key else positions.value(fault.path)
    return Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint)
