"""The smallest chip that still holds: sizes, instances and clocks of a SoC, reduced one after the other.

Each is found by bisection between the SoC file's value, which is good, and nothing. The answers are exact:
every chip that is tried is planned and checked. The value that is kept is good, and the one a step below is
not; that no smaller one is good either is not known, since a plan is the result of searches. Tests:
`tests/explore/test_fit.py`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path as File

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.explore.chip import ChipFile
from target_arch.explore.evaluate import PointTask
from target_arch.explore.keys import key_kind, key_path, known_keys, value_in
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.space import BaseChip, Limit, literal
from target_arch.explore.wishes import shortcoming
from target_arch.soc.faults import Path, dotted
from target_arch.soc.schema.kinds import Integer, Kind, Quantity

STEPS = 1024
"""Into how many steps a quantity is divided, at most."""
Evaluate = Callable[[PointTask], PointOutcome]


@frozen(kw_only=True)
class Shrinkable:
    """A number of a SoC file: its name for the user, its key, its value, and the least difference that
    counts.
    """

    name: str
    path: Path
    kind: Kind = field(repr=False)
    value: Fraction
    step: Fraction

    def at(self, steps: int) -> Fraction:
        """The value of so many steps; the SoC file's own is the most."""
        return min(self.value, steps * self.step)

    @property
    def steps(self) -> int:
        """The steps of the SoC file's value."""
        return -(-self.value // self.step)

    def shown(self, steps: int) -> str:
        """The value of so many steps, as a SoC file has it."""
        return str(json.loads(self.literal(steps)))

    def literal(self, steps: int) -> str:
        """... as text of a TOML file."""
        value = self.at(steps)
        return literal(int(value) if value.denominator == 1 else float(value), self.kind)


@frozen(kw_only=True)
class Shrunk:
    """A number before and after; `below` is the value a step below, and `why` it is not good. Both are empty
    where there is nothing below.
    """

    name: str
    before: str
    after: str
    below: str = ""
    why: str = ""


@frozen(kw_only=True)
class Fit:
    """The smallest chip: its SoC file, its outcome, what was reduced, and how many chips were tried."""

    chip: ChipFile
    outcome: PointOutcome = field(repr=False)
    shrunk: tuple[Shrunk, ...]
    tried: int


def shrinkables(base: BaseChip, names: Sequence[str]) -> tuple[Shrinkable, ...]:
    """The numbers of a SoC file by the names of memories (their sizes), target_archs (their instances), DMA
    engines (their channels), or keys. Raises DiagnosticError with every name that is none.
    """
    wrong: list[Diagnostic] = []
    found = []
    for name in names:
        key = _key(base, name)
        path = key_path(key) or ()
        kind = key_kind(path) if path else None
        value = value_in(base.document, path) if kind is not None else None
        if (
            kind is None
            or isinstance(value, str)
            or value is None
            or not isinstance(kind, Quantity | Integer)
        ):
            hint = name_hint(name, _names(base), "there are")
            said = f"`{base.name}` has no number `{name}` that could be smaller"
            wrong.append(Diagnostic(rule="unknown-soc-key", place="shrink", message=said, hint=hint))
            continue
        exact = Fraction(str(value))
        found.append(Shrinkable(name=name, path=path, kind=kind, value=exact, step=_step(exact, kind)))
    if wrong:
        raise DiagnosticError(wrong)
    return tuple(found)


def fit(
    base: BaseChip,
    models: Mapping[str, File],
    numbers: Sequence[Shrinkable],
    limits: Sequence[Limit],
    evaluate: Evaluate,
) -> Fit | PointOutcome:
    """The smallest chip on which the models keep the limits; the outcome of the base where they do not."""
    search = _Fitting(base, models, limits, evaluate)
    outcome = search.outcome({})
    if search.why(outcome) is not None:
        return outcome
    kept: dict[Path, str] = {}
    shrunk = []
    for number in numbers:
        steps, below = search.least(number, kept)
        kept[number.path] = number.literal(steps)
        shrunk.append(
            Shrunk(
                name=number.name,
                before=number.shown(number.steps),
                after=number.shown(steps),
                below=number.shown(steps - 1) if below else "",
                why=below,
            )
        )
    chip = search.chip(kept)
    return Fit(chip=chip, outcome=search.outcome(kept), shrunk=tuple(shrunk), tried=len(search.known))


class _Fitting:
    """Chips of a base that were tried, by their values."""

    def __init__(
        self, base: BaseChip, models: Mapping[str, File], limits: Sequence[Limit], evaluate: Evaluate
    ) -> None:
        self._base, self._models, self._limits, self._evaluate = base, models, limits, evaluate
        self.known: dict[str, PointOutcome] = {}

    def least(self, number: Shrinkable, kept: Mapping[Path, str]) -> tuple[int, str]:
        """The least steps that are good beside what is kept, and why one less is not."""
        good, bad, why = number.steps, 0, ""
        while good - bad > 1:
            middle = (good + bad) // 2
            said = self.why(self.outcome({**kept, number.path: number.literal(middle)}))
            good, bad, why = (middle, bad, why) if said is None else (good, middle, said)
        return good, why

    def chip(self, values: Mapping[Path, str]) -> ChipFile:
        said = ", ".join(f"{dotted(path)} = {json.loads(value)}" for path, value in values.items())
        shown = f"{self._base.shown} with {said}" if said else self._base.shown
        return ChipFile(text=self._base.toml.edited(values), shown=shown, folder=self._base.folder)

    def outcome(self, values: Mapping[Path, str]) -> PointOutcome:
        chip = self.chip(values)
        if chip.text not in self.known:
            self.known[chip.text] = self._evaluate(PointTask(chip=chip, models=self._models))
        return self.known[chip.text]

    def why(self, outcome: PointOutcome) -> str | None:
        return shortcoming(outcome, self._limits, list(self._models))


def _key(base: BaseChip, name: str) -> str:
    for section, key in (("memory", "size"), ("target_arch", "instances"), ("dma", "channels")):
        if name in base.document.get(section, {}):
            return f"{section}.{name}.{key}"
    return name


def _names(base: BaseChip) -> Iterator[str]:
    for section in ("memory", "target_arch", "dma"):
        yield from base.document.get(section, {})
    yield from known_keys(base.document)


def _step(value: Fraction, kind: Kind) -> Fraction:
    """A power of two of bytes for sizes, one for counts, else about a thousandth."""
    if isinstance(kind, Integer):
        return Fraction(1)
    if isinstance(kind, Quantity) and kind.whole:
        return Fraction(max(16, 2 ** ((int(value) // STEPS).bit_length() - 1) if value >= STEPS else 1))
    return value / 1000
