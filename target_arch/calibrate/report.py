"""The outcome of a calibration, as a value with a printed form."""

from collections.abc import Iterator
from typing import Annotated, TypedDict

from attrs import field, frozen

from target_arch.calibrate.fit import LeftOut
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import table
from target_arch.soc.costs import Costs, StatedError
from target_arch.soc.files.cost_file import cost_text
from target_arch.soc.schema.records import to_json

_SHOWN = 8
"""The calls that are farthest off are shown, so many of each target_arch."""


class CalibratedCall(TypedDict):
    """A call of a model that the fit did not know."""

    model: str
    target_arch: str
    operator: str
    expected: float
    counted: float
    error: Annotated[float, "how far the expected amount is off, as a part of the one counted"]


class MeasuredOrder(TypedDict):
    """Seconds of the host for a step of a device."""

    start: Annotated[float | None, "to start a step there"]
    end: Annotated[float | None, "to see that it is over"]


class Calibrated(TypedDict):
    """How far the fitted costs are off."""

    port: Annotated[str, "where was measured"]
    counts: Annotated[str, "what was counted there"]
    measured: Annotated[int, "calls that were measured now"]
    kept: Annotated[int, "calls that were measured before"]
    errors: Annotated[dict[str, StatedError | None], "by target_arch; null where no model was left out"]
    whole_models: Annotated[
        dict[str, dict[str, float]], "by target_arch and model left out, the error of all its calls together"
    ]
    orders: Annotated[dict[str, MeasuredOrder], "by device, what its steps take of the host"]
    lines: Annotated[
        dict[str, float], "by target_arch with cores, seconds for a line that another core wrote"
    ]
    left_out: list[CalibratedCall]


@frozen(kw_only=True)
class CalibrationReport:
    """Costs, the calls of models that were left out of the fit by target_arch, and how many calls were
    measured now and kept from before.
    """

    costs: Costs = field(repr=False)
    left_out: tuple[LeftOut, ...] = field(repr=False)
    measured: int
    kept: int
    copies: int

    @property
    def cost_file(self) -> str:
        """The text of the cost file."""
        return cost_text(self.costs)

    @property
    def whole_models(self) -> dict[str, dict[str, float]]:
        """By target_arch and model left out, how far all its calls together are off, as a part of what was
        counted.
        """
        found: dict[str, dict[str, float]] = {}
        for arch, model in dict.fromkeys((one.work.target_arch, one.work.model) for one in self.left_out):
            own = [o for o in self.left_out if (o.work.target_arch, o.work.model) == (arch, model)]
            total = sum(one.expected for one in own) / sum(one.amount for one in own)
            found.setdefault(arch, {})[model] = total - 1
        return found

    def to_json(self) -> Calibrated:
        """The calls and their errors for programs."""
        made, fitted = self.costs.calibration, self.costs.fitted
        assert made is not None
        calls: list[CalibratedCall] = [
            {
                "model": one.work.model,
                "target_arch": one.work.target_arch,
                "operator": one.work.operator,
                "expected": one.expected,
                "counted": one.amount,
                "error": one.error,
            }
            for one in self.left_out
        ]
        return {
            "port": made.port,
            "counts": made.counts,
            "measured": self.measured,
            "kept": self.kept,
            "errors": {arch: to_json(fit.error) for arch, fit in fitted.items()},
            "whole_models": self.whole_models,
            "orders": {
                device: {"start": cost.start, "end": cost.end} for device, cost in self.costs.orders.items()
            },
            "lines": {arch: cost.line for arch, cost in self.costs.cores.items()},
            "left_out": calls,
        }

    def __str__(self) -> str:
        made = self.costs.calibration
        assert made is not None
        kept = f", {self.kept:,} kept from before" if self.kept else ""
        copies = f"; {self.copies:,} copies" if self.copies else ""
        lines = [f"{self.measured:,} calls measured{kept}{copies}: {made}"]
        for arch, fit in self.costs.fitted.items():
            said = str(fit.error) if fit.error else "not known: it takes two models to leave one out"
            lines.append(f"{arch}: {len(fit.rates)} rates; error of calls of models left out: {said}")
            lines += [*self._whole(arch), self._farthest(arch, made.counts)]
        lines += [*self._orders(), *self._cores()]
        return "\n".join(line for line in lines if line) + "\n"

    def _orders(self) -> Iterator[str]:
        """A line for each device with the host's time for its steps."""
        for device, order in self.costs.orders.items():
            start, end = map(duration, order.usual)
            yield f"a step of {device} takes {start} of the host to start it, and {end} to see its end"

    def _cores(self) -> Iterator[str]:
        """A line for each target_arch with cores."""
        for arch, cost in self.costs.cores.items():
            yield f"a line that another core wrote takes {duration(cost.line)} longer at {arch}"

    def _whole(self, arch: str) -> Iterator[str]:
        """A line with the error of all calls of each model left out together."""
        errors = self.whole_models.get(arch, {})
        if errors:
            said = ", ".join(f"{model} {error:+.0%}" for model, error in errors.items())
            yield f"all calls of a model left out together: {said}"

    def _farthest(self, arch: str, counted: str) -> str:
        calls = [one for one in self.left_out if one.work.target_arch == arch]
        worst = sorted(calls, key=lambda one: -abs(one.error))[:_SHOWN]
        scale = 1e9 if counted == "nanoseconds" else 1.0
        rows = [
            (
                one.work.model,
                one.work.operator,
                f"{one.expected * scale:,.0f}",
                f"{one.amount * scale:,.0f}",
                f"{one.error:+.0%}",
            )
            for one in worst
        ]
        header = ("model", "farthest off", f"expected {counted}", "counted", "error")
        return table(header, rows, right=(2, 3, 4)).rstrip("\n") if rows else ""
