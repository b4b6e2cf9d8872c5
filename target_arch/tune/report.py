"""The gains of tuning, as a value with a printed form."""

from typing import Annotated, TypedDict

from attrs import frozen

from target_arch.plan.tuning import Tuning
from target_arch.soc.schema.records import to_json

_NOTHING = "nothing better found"


@frozen(kw_only=True)
class Gain:
    """One task: the operators it is the kernel of, how many candidates were measured, what to choose, and
    seconds of one call before and after, from one run. `after` is `before` where nothing is better.
    """

    task: str
    what: str
    operators: tuple[str, ...]
    measured: int
    refused: int
    choice: str
    before: float
    after: float

    @property
    def kept(self) -> bool:
        """True where something was found that is better than what the rules choose."""
        return self.after < self.before


class Tuned(TypedDict):
    """The gains of every task."""

    measured: Annotated[str, "where"]
    runners: Annotated[int, "servers of the tracker; 0 for this computer alone"]
    tasks: list[Gain]


@frozen(kw_only=True)
class TuningReport:
    """Gains by task, the records, and on how many runners was measured (0: this computer alone)."""

    gains: tuple[Gain, ...]
    tuning: Tuning
    measured: str
    runners: int

    def to_json(self) -> Tuned:
        """The report for programs; times in seconds."""
        return {"measured": self.measured, "runners": self.runners, "tasks": to_json(self.gains)}

    def __str__(self) -> str:
        lines = [f"measured by {self.measured}" + (f", on {self.runners} servers" if self.runners else "")]
        for gain in self.gains:
            lines.append(f"  {gain.task}  {gain.what}")
            unusable = f", {gain.refused} of them of no use" if gain.refused else ""
            better = f"{_ratio(gain.before, gain.after)} with {gain.choice}" if gain.kept else _NOTHING
            lines.append(
                f"    {_us(gain.before)} -> {_us(gain.after)}, {better}; {gain.measured} measured{unusable}; "
                f"for {', '.join(gain.operators)}"
            )
        before = sum(gain.before * len(gain.operators) for gain in self.gains)
        after = sum(gain.after * len(gain.operators) for gain in self.gains)
        total = f"total of these kernels: {_us(before)} -> {_us(after)}"
        lines.append(total + (f", {_ratio(before, after)}" if after else ""))
        return "\n".join(lines) + "\n"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f} us"


def _ratio(before: float, after: float) -> str:
    return f"{before / after:.2f} times as fast"
