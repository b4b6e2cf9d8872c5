"""The times of a bundle's steps, predicted and measured."""

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from target_arch.diagnostics import refusal
from target_arch.emit.programs.tracer import TRACED_PORT, tracer_source
from target_arch.plan.execution import Activity
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import table
from target_arch.report import trace
from target_arch.run import build, read_manifest
from target_arch.run.bundles.shown import read_report
from target_arch.run.execute.traced import traced

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
class StepTimes:
    """The steps of a model one by one, none behind the back of another."""

    soc: str
    steps: tuple[StepTime, ...] = field(repr=False)

    @property
    def total(self) -> float:
        """Seconds of all steps together."""
        return sum(step.seconds for step in self.steps)

    def to_json(self) -> dict[str, object]:
        """As JSON."""
        keys = ("number", "what", "predicted", "seconds")
        return {
            "seconds": self.total,
            "steps": [{key: getattr(step, key) for key in keys} for step in self.steps],
        }

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
        return table(header, rows, right=(0, 2, 3))


def measured(directory: Path, frame: bytes | None, *, rtl: bool = False) -> StepTimes:
    """Build the bundle of one model there, and time its steps on a frame, or on zeros. DiagnosticError where
    it has several models, or is for another port than TRACED_PORT.
    """
    manifest = read_manifest(directory)
    model, *others = manifest.models
    if others or manifest.port != TRACED_PORT:
        other = "emulated machines count their instructions"
        text = f"steps are timed of one model, with port `{TRACED_PORT}`; {other}"
        raise refusal("no-times", directory, text)
    source = tracer_source(model.name, (), len(model.steps))
    executable = build(directory, rtl=rtl, tracer=source)
    given = bytes(sum(executable.input_bytes)) if frame is None else frame
    traces = traced(executable, (), [given] * _RUNS)
    spans = () if model.execution is None else model.execution.entries
    predicted = {span.step: span.end - span.start for span in spans}
    steps = tuple(
        StepTime(
            number=step.number,
            what=step.what.partition(", event ")[0],
            predicted=predicted.get(step.number),
            seconds=min(trace.seconds[step.number] for trace in traces),
        )
        for step in model.steps
    )
    return StepTimes(soc=manifest.soc, steps=steps)


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
