"""Read workload files: TOML that names models and says when they run.

Every mistake of a file is reported at once, at its place. Tests:
`tests/plan/workloads`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Annotated, Any

from attrs import define, evolve, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.workloads.workload import (
    MICROSECOND,
    MOST_JOBS,
    PICO,
    Overload,
    Schedule,
    TimedModel,
    Timing,
    Workload,
    WorkloadPlacement,
)
from target_arch.soc.faults import Path
from target_arch.soc.files.presence import is_file
from target_arch.soc.files.toml_file import document, placed, read_text
from target_arch.soc.schema.kinds import Integer, OneOf, Part, Quantity, Text
from target_arch.soc.schema.records import ClosedRecord, table_values
from target_arch.soc.schema.tables import TableDraft, named_tables
from target_arch.soc.units import TIME

WORKLOAD_FILE = "workload file"
SCHEMA = 1
_HOUR = 3600.0
_MOST_PRIORITY = 255

_PERIOD = Quantity(what="time", units=TIME, most=_HOUR)
_MOMENT = Quantity(what="time", units=TIME, most=_HOUR, zero=True)


@frozen(kw_only=True)
class ModelTable(ClosedRecord):
    """A model of a workload file. Times are seconds, None where the file states none."""

    file: Annotated[str, Text(), "the model file"]
    period: Annotated[float, _PERIOD, "from one job to the next; on demand the least time between two"]
    on: Annotated[str | None, OneOf(words=("demand",)), "`demand`: jobs are due when the program says so"] = (
        None
    )
    deadline: Annotated[
        float | None, _PERIOD, "from when a job is due until it has to be over; the period by default"
    ] = None
    offset: Annotated[float, _MOMENT, "of the first job"] = 0.0
    jitter: Annotated[float, _MOMENT, "how long after it was due a job may be released"] = 0.0
    priority: Annotated[
        int,
        Integer(least=0, most=_MOST_PRIORITY),
        f"0 to {_MOST_PRIORITY}, larger ones go first; given to all models or to none: then a shorter "
        "deadline goes first",
    ] = 0
    overload: Annotated[
        Overload,
        OneOf(words=tuple(Overload)),
        "for a job that comes while the one before is not over: `skip` it, `queue` it, or `drop_oldest` of "
        "those that wait",
    ] = Overload.SKIP
    longest_step: Annotated[
        float | None,
        _PERIOD,
        "no step of it takes longer at worst, and others wait for none that does: longer operators are "
        "computed in slices",
    ] = None


@frozen(kw_only=True)
class WorkloadDocument(ClosedRecord):
    """A workload file."""

    schema: Annotated[int, Integer(least=SCHEMA, most=SCHEMA), f"the version of this format, `{SCHEMA}`"]
    model: Annotated[Mapping[str, ModelTable], "the models by name"]
    schedule: Annotated[
        Schedule, OneOf(words=tuple(Schedule)), "priorities, or a table of times over the hyperperiod"
    ] = Schedule.PRIORITIES
    placement: Annotated[
        WorkloadPlacement,
        OneOf(words=tuple(WorkloadPlacement)),
        "`alone`: each model is placed as if it were the only one; `together`: as far as that makes "
        "responses better, each is on one of its devices",
    ] = WorkloadPlacement.ALONE
    margin: Annotated[float, Part(most=100), "the part of an estimate that a worst time has on top"] = 0.2
    overhead: Annotated[
        float, _MOMENT, "host time of each step beside its own: runtime, arbiter, interrupts"
    ] = 0.0


_TIMES = ("period", "deadline", "offset", "jitter", "longest_step")


def read_workload(file: File) -> Workload:
    """The workload of a file. Raises DiagnosticError with every mistake in it."""
    hint = "write a workload file that names the model in a table `[model.NAME]`"
    text = read_text(file, str(file), WORKLOAD_FILE, None, hint)
    return parse_workload(text, str(file), file.parent)


def parse_workload(text: str, path: str, folder: File = File()) -> Workload:
    """The workload that a text describes; `path` is its name in messages, files are relative to `folder`.
    Raises DiagnosticError.
    """
    values = document(text, path, WORKLOAD_FILE)
    reading = _Reading(values=values, folder=folder, name=File(path).stem)
    workload = reading.workload()
    if reading.faults or workload is None:
        raise DiagnosticError(placed(reading.faults, path, text, WORKLOAD_FILE))
    return workload


@define(kw_only=True)
class _Reading(TableDraft):
    """A document, and the faults in it so far."""

    values: Mapping[str, Any]
    folder: File
    name: str

    def workload(self) -> Workload | None:
        """The workload; faults are collected."""
        if self.values.get("schema") != SCHEMA:
            said = "this file has no `schema` that is read here"
            self.fault("schema-version", ("schema",), said, f"this version reads `schema = {SCHEMA}`")
            return None
        top = table_values((), self.values, WorkloadDocument, self, ("schema", "model"))
        schedule = Schedule(top.get("schedule", Schedule.PRIORITIES))
        overhead = round(top.pop("overhead", 0.0) * PICO)
        tables = named_tables(self.values, "model", self, required=True)
        if not tables and not self.faults:
            self.fault("no-models", ("model",), "the file names no model", "`[model.NAME]` with `file = …`")
        models = [self._model(name, table, schedule) for name, table in tables]
        self._priorities(tables)
        if self.faults:
            return None
        ranked = _ranked([each for each in models if each is not None], tables)
        return Workload(
            name=self.name,
            models=ranked,
            overhead=overhead,
            **top,
        )

    def _model(self, name: str, table: Mapping[str, Any], schedule: Schedule) -> TimedModel | None:
        path, before = ("model", name), len(self.faults)
        values = table_values(path, table, ModelTable, self)
        times = {key: self._whole((*path, key), values[key]) for key in _TIMES if key in values}
        file = self.folder / values.get("file", "")
        if "file" in values and not is_file(file):
            self.fault("model-not-found", (*path, "file"), f"there is no file `{file}`")
        if len(self.faults) > before or "period" not in times:
            return None
        longest = times.pop("longest_step", None)
        timing = Timing(
            **{"deadline": times["period"], **times},
            priority=values.get("priority", 0),
            demand="on" in values,
            overload=values.get("overload", Overload.SKIP),
        )
        self._consistent(path, timing, schedule)
        return TimedModel(name=name, file=file, timing=timing, longest_step=longest)

    def _whole(self, path: Path, seconds: float) -> int:
        """Picoseconds of a time; a fault where it is no number of microseconds."""
        time = round(seconds * PICO)
        if time % MICROSECOND:
            said = f"`{path[-1]}` must be a whole number of microseconds"
            self.fault("bad-timing", path, said, "the runtime counts them")
        return time

    def _consistent(self, path: Path, timing: Timing, schedule: Schedule) -> None:
        if timing.deadline > timing.period and timing.overload is not Overload.QUEUE:
            said = "`deadline` is longer than `period`, and no job may wait"
            self.fault("bad-timing", (*path, "deadline"), said, 'write `overload = "queue"`')
        if timing.places > MOST_JOBS:
            said = f"`deadline` is more than {MOST_JOBS} periods, and no more jobs may wait"
            self.fault("bad-timing", (*path, "deadline"), said)
        if timing.jitter >= timing.deadline:
            said = "`jitter` must be shorter than the deadline"
            self.fault("bad-timing", (*path, "jitter"), said)
        if timing.demand and timing.offset:
            said = "`offset` means nothing on demand: the program says when"
            self.fault("bad-timing", (*path, "offset"), said)
        if schedule is Schedule.TABLE and timing.demand:
            said = "a table has no time for what comes on demand"
            self.fault("bad-timing", (*path, "on"), said, 'write `schedule = "priorities"`')

    def _priorities(self, tables: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Faults where some models have a priority, and others none."""
        without = [name for name, table in tables if "priority" not in table]
        if without and len(without) < len(tables):
            said = f"`{without[0]}` has no `priority`, and others have one"
            hint = "give one to all, or to none: then a shorter deadline goes first"
            self.fault("bad-timing", ("model", without[0]), said, hint, at_key=True)


def _ranked(
    models: Sequence[TimedModel], tables: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[TimedModel, ...]:
    """The models with priorities: those given, or by deadline, the shortest one first."""
    if any("priority" in table for _, table in tables):
        return tuple(models)
    order = sorted({each.timing.deadline for each in models}, reverse=True)
    return tuple(
        evolve(each, timing=evolve(each.timing, priority=order.index(each.timing.deadline) + 1))
        for each in models
    )
