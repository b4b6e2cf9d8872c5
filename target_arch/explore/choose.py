"""Chips of a catalogue, ranked for models: those that are good by what is asked, and what keeps the others.

Tests: `tests/explore/test_choose.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as File

from attrs import field, frozen

from target_arch.explore.chip import ChipFile
from target_arch.explore.evaluate import PointTask
from target_arch.explore.fit import Evaluate
from target_arch.explore.keys import value_in
from target_arch.explore.measures import measure
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.space import BaseChip, Limit, literal
from target_arch.explore.wishes import shortcoming
from target_arch.soc.schema.kinds import SIZE_IN_BYTES

GROWTH = 64
"""How many times as large a memory is tried at most, where that would make the models fit."""
_CLOSE = 1.02
"""The least size is known up to this factor."""


@frozen(kw_only=True)
class RankedChip:
    """A chip with its outcome. `why` keeps it from being good, empty where it is; `change` would make it so,
    empty where none was found. `left` are the free bytes of the memories that the models use.
    """

    name: str
    outcome: PointOutcome = field(repr=False)
    why: str = ""
    change: str = ""
    left: Mapping[str, int] = field(factory=dict)

    @property
    def good(self) -> bool:
        """Whether the models fit and keep the limits."""
        return not self.why


def chip_of(base: BaseChip) -> ChipFile:
    """The SoC file as it is."""
    return ChipFile(text=base.toml.text, shown=base.shown, folder=base.folder)


def ranked(
    outcomes: Mapping[BaseChip, PointOutcome],
    models: Mapping[str, File],
    limits: Sequence[Limit],
    by: str,
    evaluate: Evaluate,
) -> tuple[RankedChip, ...]:
    """The chips: the good ones first, by the measure `by` and their names, then the others by name.

    For a chip that is too small, one memory at a time is made larger.
    """
    names = list(models)
    chips = []
    for base, outcome in outcomes.items():
        why = shortcoming(outcome, limits, names) or ""
        change = _change(base, models, limits, evaluate) if why and not outcome.fits else ""
        left = _left(base, outcome)
        chips.append(RankedChip(name=base.name, outcome=outcome, why=why, change=change, left=left))
    known = measure(by, names)

    def rank(chip: RankedChip) -> tuple[bool, float, str]:
        value = known.of(chip.outcome) if known is not None and chip.good else None
        return not chip.good, float("inf") if value is None else value, chip.name

    return tuple(sorted(chips, key=rank))


def _left(base: BaseChip, outcome: PointOutcome) -> dict[str, int]:
    sizes = {name: value_in(base.document, ("memory", name, "size")) for name in outcome.bytes}
    return {name: int(size) - outcome.bytes[name] for name, size in sizes.items() if isinstance(size, int)}


def _change(base: BaseChip, models: Mapping[str, File], limits: Sequence[Limit], evaluate: Evaluate) -> str:
    """The memory that has to grow least, and to what size; empty where no single one helps."""
    grown = (_grown(base, memory, models, limits, evaluate) for memory in base.document.get("memory", {}))
    found: list[tuple[int, str]] = sorted(each for each in grown if each is not None)
    return found[0][1] if found else ""


def _grown(
    base: BaseChip, memory: str, models: Mapping[str, File], limits: Sequence[Limit], evaluate: Evaluate
) -> tuple[int, str] | None:
    """The bytes that a memory lacks for the models to be good, and its new size in words; None where no size
    helps.
    """
    before = value_in(base.document, ("memory", memory, "size"))
    if not isinstance(before, int):
        return None

    def good(size: int) -> bool:
        value = literal(size, SIZE_IN_BYTES)
        text = base.toml.edited({("memory", memory, "size"): value})
        chip = ChipFile(text=text, shown=f"{base.shown} with {memory} = {value}", folder=base.folder)
        return shortcoming(evaluate(PointTask(chip=chip, models=models)), limits, list(models)) is None

    low, high = before, before * 2
    while not good(high):
        low, high = high, high * 2
        if high > before * GROWTH:
            return None
    while high > low * _CLOSE and high - low > 64:
        middle = (low + high) // 128 * 64
        low, high = (low, middle) if good(middle) else (middle, high)
    return high - before, f"{memory} of {high:,} B instead of {before:,} B"


def tasks(bases: Iterable[BaseChip], models: Mapping[str, File]) -> dict[BaseChip, PointTask]:
    """The task of every chip as it is."""
    return {base: PointTask(chip=chip_of(base), models=models) for base in bases}
