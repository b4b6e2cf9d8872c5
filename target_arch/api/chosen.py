"""The smallest chip for some models, and the best of several."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from attrs import field, frozen

from target_arch.api.evaluations import Evaluations
from target_arch.api.option_types import typed_arguments
from target_arch.diagnostics import refusal
from target_arch.explore.bases import base_chip, catalogue
from target_arch.explore.choose import RankedChip, ranked, tasks
from target_arch.explore.fit import Fit, Shrunk, fit, shrinkables
from target_arch.explore.measures import ENERGY, LATENCY, PERIOD, amount, measure
from target_arch.explore.outcome import PointOutcome, PrintedOutcome
from target_arch.explore.summary import table
from target_arch.explore.wishes import limits, objective_for, shortcoming
from target_arch.soc.schema.records import to_json


class SmallestChip(TypedDict):
    """The smallest chip: what it has less of, and how the models run on it."""

    shrunk: list[Shrunk]
    tried: Annotated[int, "chips"]
    outcome: PrintedOutcome


class RankedOutcome(TypedDict):
    """A chip with its outcome; the best one is first."""

    chip: str
    good: Annotated[bool, "whether the models fit and keep the limits"]
    why: Annotated[str, "what keeps it from being good; empty where it is"]
    change: Annotated[str, "what would make it good; empty where nothing was found"]
    left: Annotated[dict[str, int], "free bytes of the memories that the models use"]
    outcome: PrintedOutcome


@frozen(kw_only=True, repr=False)
class FittedChip:
    """The smallest chip that is good, and what it was made from."""

    made: Fit = field(repr=False)
    base: str
    models: tuple[str, ...]

    def chip(self, folder: str | Path = ".") -> str:
        """Its SoC file, as text for a file in that folder."""
        return self.made.chip.beside(Path(folder))

    def to_json(self) -> SmallestChip:
        """The numbers that were reduced, with both sides, and the outcome."""
        made = self.made
        return {"shrunk": to_json(made.shrunk), "tried": made.tried, "outcome": made.outcome.to_json()}

    def __repr__(self) -> str:
        return f"<smallest {self.base} for {', '.join(self.models)}>"

    def __str__(self) -> str:
        lines = [f"smallest {self.base} for {', '.join(self.models)}: {self.made.tried} chips tried\n"]
        for each in self.made.shrunk:
            below = f"with {each.below}: {each.why}" if each.below else each.why or "there is nothing below"
            lines.append(f"  {each.name}: {each.before} -> {each.after}\n    {below}\n")
        times = (f"{name} {value}" for name, value in _times(self.made.outcome, self.models).items())
        taken = ", ".join(f"{name} {size:,} B" for name, size in self.made.outcome.bytes.items())
        return "".join((*lines, f"{', '.join(times)}; {taken}\n"))


@typed_arguments
def fit_chip(
    models: Mapping[str, str | Path],
    soc: str | Path,
    shrink: Sequence[str],
    *,
    within: Sequence[str] = (),
    store: str | Path | None = None,
    backend_dirs: Sequence[str | Path] = (),
) -> FittedChip:
    """The SoC with the numbers `shrink` names (memories, target_archs, DMA engines, keys) as small as the
    models (by name) and the limits `within`, such as `latency=12ms`, allow: one after the other, by bisection
    over exact answers. A limit of the `period` has frames of one model in flight, and placement for it.

    DiagnosticError for names and limits that there are not, and for a SoC that is not good as it is.
    """
    base, files = base_chip(soc), {name: Path(file) for name, file in models.items()}
    numbers = shrinkables(base, shrink)
    wanted = limits(within, list(files), list(base.document["memory"]))
    aim = objective_for([each.measure for each in wanted], list(files))
    with Evaluations(1, backend_dirs, store, aim) as evaluations:
        evaluations.check([base], files)
        made = fit(base, files, numbers, wanted, evaluations.one)
    if isinstance(made, PointOutcome):
        said = shortcoming(made, wanted, list(files)) or ""
        raise refusal("not-good", base.shown, f"it is not good as it is: {said}", "start from a larger chip")
    return FittedChip(made=made, base=base.name, models=tuple(files))


@frozen(kw_only=True, repr=False)
class ChosenChips:
    """Chips, the best first."""

    chips: tuple[RankedChip, ...]
    models: tuple[str, ...]
    by: str

    def to_json(self) -> list[RankedOutcome]:
        """Every chip with its outcome, what keeps it from being good, and what would change that."""
        return [
            {
                "chip": each.name,
                "good": each.good,
                "why": each.why,
                "change": each.change,
                "left": dict(each.left),
                "outcome": each.outcome.to_json(),
            }
            for each in self.chips
        ]

    def __repr__(self) -> str:
        return f"<{len(self.chips)} chips for {', '.join(self.models)}>"

    def __str__(self) -> str:
        good = [each for each in self.chips if each.good]
        head = f"chips for {', '.join(self.models)}, by {self.by}\n"
        names = [LATENCY, *([PERIOD] if any(_in_flight(each.outcome) for each in good) else [])]
        rows = [
            ["chip", *names, "expected", "energy", "left of the fullest memory"],
            *(self._row(each, names) for each in good),
        ]
        text = head + (table(rows) if good else "  none is good\n")
        for each in self.chips:
            if not each.good:
                text += f"{each.name}: {each.why}\n" + (f"  good with {each.change}\n" if each.change else "")
        return text

    def _row(self, chip: RankedChip, names: Sequence[str]) -> list[str]:
        values = [_value(name, chip.outcome, self.models) for name in names]
        energy, interval = _value(ENERGY, chip.outcome, self.models), _interval(chip.outcome, self.models)
        used, free = chip.outcome.bytes, chip.left
        fullest = min(free, key=lambda name: free[name] / max(1, free[name] + used[name]))
        left = f"{free[fullest]:,} B of {fullest}"
        return [chip.name, *values, interval, energy, left]


@typed_arguments
def choose_chip(
    models: Mapping[str, str | Path],
    *,
    limit: Sequence[str] = (),
    socs: Sequence[str | Path] = (),
    by: str = LATENCY,
    workers: int | None = None,
    store: str | Path | None = None,
    backend_dirs: Sequence[str | Path] = (),
) -> ChosenChips:
    """The chips ranked for these models (by name): the SoC files of `socs`, by default all that come with the
    program. The good ones keep every `limit`, such as `latency=12ms`. Where a limit or `by` is the `period`,
    frames of one model are in flight, and placement is for it.

    DiagnosticError for measures and limits that there are not.
    """
    files = {name: Path(file) for name, file in models.items()}
    bases = [base_chip(each) for each in socs or catalogue()]
    memories = sorted({memory for base in bases for memory in base.document["memory"]})
    wanted = limits(limit, list(files), memories)
    if measure(by, list(files)) is None:
        raise refusal("unknown-measure", "by", f"`{by}` is nothing that is measured", "such as `latency`")
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    aim = objective_for([by, *(each.measure for each in wanted)], list(files))
    with Evaluations(count, backend_dirs, store, aim) as evaluations:
        evaluations.check(bases, files)
        every = tasks(bases, files)
        outcomes = dict(zip(every, evaluations.all(every.values()), strict=True))
        made = ranked(outcomes, files, wanted, by, evaluations.one)
    return ChosenChips(chips=made, models=tuple(files), by=by)


def _in_flight(outcome: PointOutcome) -> bool:
    """Whether its frames were in flight."""
    return any(each.period is not None for each in outcome.models.values())


def _times(outcome: PointOutcome, models: Sequence[str]) -> dict[str, str]:
    """The latency, and the period of frames in flight."""
    names = [LATENCY, *([PERIOD] if _in_flight(outcome) else [])]
    return {name: _value(name, outcome, models) for name in names}


def _value(name: str, outcome: PointOutcome, models: Sequence[str]) -> str:
    known = measure(name, models)
    return amount(name, None if known is None else known.of(outcome), models)


def _interval(outcome: PointOutcome, models: Sequence[str]) -> str:
    """Between what the latency is expected; empty where no costs were fitted."""
    low = [each.low for each in outcome.models.values() if each.low is not None]
    high = [each.high for each in outcome.models.values() if each.high is not None]
    if len(low) < len(outcome.models) or sum(low) == sum(high):
        return ""
    return f"{amount(LATENCY, sum(low), models)} to {amount(LATENCY, sum(high), models)}"
