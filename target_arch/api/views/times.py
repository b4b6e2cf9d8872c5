"""The times of a bundle's steps, predicted and measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from attrs import evolve, field, frozen

from target_arch.diagnostics import refusal
from target_arch.emit.programs.tracer import trace_table
from target_arch.plan.execution import Activity, ActivityKind
from target_arch.plan.manifest.model import ModelEntry
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import table
from target_arch.report import trace
from target_arch.run import build, read_manifest
from target_arch.run.bundles.shown import read_report
from target_arch.run.execute.traced import traced
from target_arch.soc.schema.records import to_json

_RUNS = 5
"""Each step's time is the least of so many runs."""


@frozen(kw_only=True)
class StepTime:
    """A step in words, the seconds that the simulated run gives it on the SoC (None for a load or a wait),
    and those it took on this computer.
    """

    number: int
    what: str
    predicted: float | None
    seconds: float


@frozen(kw_only=True)
class ShareTime:
    """The share of an instance in a divided operator: how many slices, and their seconds together."""

    operator: str
    instance: str
    slices: int
    predicted: float
    seconds: float


class MeasuredSteps(TypedDict):
    """The steps of a model, one after the other on this computer."""

    seconds: Annotated[float, "of all steps together"]
    steps: list[StepTime]
    shares: Annotated[list[ShareTime], "of divided operators"]


@frozen(kw_only=True)
class StepTimes:
    """The steps of a model one by one, none behind the back of another, and the shares of the operators that
    are divided.
    """

    soc: str
    steps: tuple[StepTime, ...] = field(repr=False)
    shares: tuple[ShareTime, ...] = field(default=(), repr=False)

    @property
    def total(self) -> float:
        """Seconds of all steps together."""
        return sum(step.seconds for step in self.steps)

    def to_json(self) -> MeasuredSteps:
        """As JSON."""
        return {"seconds": self.total, "steps": to_json(self.steps), "shares": to_json(self.shares)}

    def __str__(self) -> str:
        rows = [
            (
                str(step.number),
                step.what,
                "" if step.predicted is None else duration(step.predicted),
                duration(step.seconds),
            )
            for step in self.steps
            if step.predicted is not None
        ]
        predicted = sum(step.predicted or 0.0 for step in self.steps)
        rows.append(("", "all steps, one after the other", duration(predicted), duration(self.total)))
        header = ("step", "what", f"predicted on {self.soc}", "on this computer")
        return table(header, rows, right=(0, 2, 3)) + self._shared()

    def _shared(self) -> str:
        """The divided operators, a row for each instance with a share."""
        rows = [
            (each.operator, each.instance, str(each.slices), duration(each.predicted), duration(each.seconds))
            for each in self.shares
        ]
        header = ("divided operator", "instance", "slices", f"predicted on {self.soc}", "on this computer")
        return "\n" + table(header, rows, right=(2, 3, 4)) if rows else ""


def measured(directory: Path, frame: bytes | None, *, rtl: bool = False) -> StepTimes:
    """Build the bundle of one model there, and time its steps on a frame, or on zeros. DiagnosticError where
    it has several models, or does not run on this computer.
    """
    manifest = read_manifest(directory)
    model, *others = manifest.models
    if others or manifest.cross is not None:
        text = (
            "steps are timed of one model, on a port of this computer; emulated machines count instructions"
        )
        raise refusal("no-times", directory, text)
    source = trace_table(model.name, (), len(model.steps), manifest.port)
    executable = build(directory, rtl=rtl, tracer=source)
    given = bytes(sum(executable.input_bytes)) if frame is None else frame
    traces = traced(executable, (), [given] * _RUNS)
    predicted = _predicted(model)
    steps = tuple(
        StepTime(
            number=step.number,
            what=step.what.partition(", event ")[0],
            predicted=predicted.get(step.number),
            seconds=min(trace.seconds[step.number] for trace in traces),
        )
        for step in model.steps
    )
    return StepTimes(soc=manifest.soc, steps=steps, shares=_shares(model, steps))


def _predicted(model: ModelEntry) -> dict[int, float]:
    """By step its time in the simulated run, with what the host takes to order and settle it."""
    run, found = model.execution, dict[int, float]()
    for span in () if run is None else (*run.entries, *run.waits):
        if span.kind != ActivityKind.WAIT:
            found[span.step] = found.get(span.step, 0.0) + span.end - span.start
    return found


def _shares(model: ModelEntry, steps: Sequence[StepTime]) -> tuple[ShareTime, ...]:
    """The shares of divided operators, in the order of the model."""
    slices = {each.id: each.slice_of.operator for each in model.operators if each.slice_of is not None}
    spans = () if model.execution is None else model.execution.entries
    shares: dict[tuple[str, str], list[StepTime]] = {}
    parts: dict[tuple[str, str], set[str]] = {}
    for span in spans:
        if span.kind == ActivityKind.RUN and span.what in slices:
            key = slices[span.what], span.where
            shares.setdefault(key, []).append(steps[span.step])
            parts.setdefault(key, set()).add(span.what)
    places = {operator: place for place, operator in enumerate(dict.fromkeys(slices.values()))}
    return tuple(
        ShareTime(
            operator=operator,
            instance=instance,
            slices=len(parts[operator, instance]),
            predicted=sum(step.predicted or 0.0 for step in shares[operator, instance]),
            seconds=sum(step.seconds for step in shares[operator, instance]),
        )
        for operator, instance in sorted(shares, key=lambda key: (places[key[0]], key[1]))
    )


def timeline(directory: Path, seconds: Sequence[float]) -> dict[str, object]:
    """The trace of a bundle of one model (see `report.trace`) with these times of its steps, one after the
    other.
    """
    shown = read_report(directory)
    (model,) = shown.models
    assert model.run is not None
    spans, now = list[Activity](), 0.0
    for span in sorted(model.run.spans, key=lambda each: each.step):
        spans.append(evolve(span, start=now, end=now + seconds[span.step]))
        now = spans[-1].end
    run = evolve(model.run, spans=tuple(spans), waits=(), makespan=now)
    return trace(evolve(shown, models=(evolve(model, run=run),)))
