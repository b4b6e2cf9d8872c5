"""Wishes about a point, by a space file: the objective of its placement, goals and limits."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from target_arch.diagnostics import name_hint
from target_arch.explore.measures import PERIOD, measure, measures
from target_arch.explore.space import OBJECTIVE, Limit, Variation
from target_arch.explore.space_bases import SpaceBases
from target_arch.explore.space_document import SpaceDocument
from target_arch.plan.objective import Objective
from target_arch.soc.faults import Path
from target_arch.soc.schema.kinds import wrong_type
from target_arch.soc.schema.records import record_key
from target_arch.soc.schema.tables import TableDraft, required_value


@frozen(kw_only=True)
class SpaceWishes:
    """Reads the wishes of a document; faults go to the draft."""

    bases: SpaceBases
    values: Mapping[str, Any] = field(repr=False)
    draft: TableDraft = field(repr=False)

    def objective(self, variations: Sequence[Variation]) -> Objective:
        """The objective of placement; a fault where the file asks for frames in flight of several models, or
        for their period without them.
        """
        stated = self.values.get("objective", str(Objective.LATENCY))
        word = self._read("objective", stated)
        varied = [each for each in variations if each.name == OBJECTIVE]
        words = {value.shown for each in varied for value in each.settings} or {word}
        if varied and "objective" in self.values:
            self.draft.fault("taken-name", ("objective",), "the objective varies here", at_key=True)
        if Objective.THROUGHPUT in words and len(self.bases.models) > 1:
            place: Path = ("vary", OBJECTIVE) if varied else ("objective",)
            said = "frames in flight are of one model, here are several"
            self.draft.fault("no-frames", place, said, at_key=bool(varied))
        if Objective.THROUGHPUT not in words:
            self._refuse_period()
        return Objective.LATENCY if word is None else Objective(word)

    def minimize(self) -> tuple[str, ...]:
        """The names of measures and formulas that are to be small."""
        stated = required_value((), self.values, "minimize", self.draft)
        names = None if stated is None else self._read("minimize", stated)
        for number, name in enumerate(names or ()):
            self._require_measure(("minimize",) if isinstance(stated, str) else ("minimize", number), name)
        return tuple(names or ())

    def limits(self) -> tuple[Limit, ...]:
        """The limits of measures and formulas."""
        table = self.values.get("limits", {})
        if not isinstance(table, dict):
            wrong_type(("limits",), "a table", table, self.draft.faults)
            return ()
        limits = [self._limit(("limits", name), name, value) for name, value in table.items()]
        return tuple(limit for limit in limits if limit is not None)

    def _read(self, key: str, stated: object) -> Any:
        return record_key(SpaceDocument, key).kind.read((key,), stated, self.draft.faults)

    def _limit(self, place: Path, name: str, value: object) -> Limit | None:
        if not self._require_measure(place, name):
            return None
        known = measure(name, self.bases.model_names)
        if known is not None:
            most = known.kind.read(place, value, self.draft.faults)
            return None if most is None else Limit(measure=name, most=float(most), shown=str(value))
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong_type(place, "a number", value, self.draft.faults)
            return None
        return Limit(measure=name, most=float(value), shown=str(value))

    def _require_measure(self, place: Path, name: str) -> bool:
        """A fault, and False, for a name that is neither a measure nor a formula."""
        formulas = self.values.get("formulas")
        named = formulas if isinstance(formulas, dict) else {}
        known = {*measures(self.bases.model_names, self.bases.memories), *named}
        if name not in known:
            hint = name_hint(name, known, "there are")
            at_key = place[0] == "limits"
            said = f"`{name}` is nothing that is measured"
            self.draft.fault("unknown-measure", place, said, hint, at_key=at_key)
        return name in known

    def _refuse_period(self) -> None:
        """A fault where a period is asked for that nobody knows."""
        stated, limits = self.values.get("minimize"), self.values.get("limits")
        names = [stated] if isinstance(stated, str) else stated if isinstance(stated, list) else []
        asked = [*names, *(limits if isinstance(limits, dict) else ())]
        for name in asked:
            known = measure(name, self.bases.model_names) if isinstance(name, str) else None
            if known is not None and known.what == PERIOD:
                place: Path = ("minimize",) if name in names else ("limits", name)
                said = f"`{name}` is that of frames in flight, here are none"
                hint = 'say `objective = "throughput"`'
                self.draft.fault("no-frames", place, said, hint, at_key=True)
                return
