"""Measures of a point, by name: `latency`, `period`, `energy`, `bytes.sram`, and for one model `kws.latency`.

Times are seconds, energies joules. Tests: `tests/explore/test_summary.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from attrs import frozen

from target_arch.explore.outcome import PointOutcome
from target_arch.plan.printed.reasoning import duration
from target_arch.soc.schema.kinds import SIZE_IN_BYTES, Quantity
from target_arch.soc.units import TIME

LATENCY, PERIOD, ENERGY, BYTES = "latency", "period", "energy", "bytes"

JOULES: Mapping[str, Fraction] = {
    "pJ": Fraction(1, 10**12),
    "nJ": Fraction(1, 10**9),
    "uJ": Fraction(1, 10**6),
    "mJ": Fraction(1, 10**3),
    "J": Fraction(1),
}
_SECONDS = Quantity(what="time", units=TIME, most=1e6, zero=True)
_KINDS: Mapping[str, Quantity] = {
    LATENCY: _SECONDS,
    PERIOD: _SECONDS,
    ENERGY: Quantity(what="energy", units=JOULES, most=1e6, zero=True),
    BYTES: SIZE_IN_BYTES,
}


@frozen
class Measure:
    """A measure: of one model, or of all where `model` is empty; of `bytes` in one `memory`."""

    what: str
    model: str = ""
    memory: str = ""

    @property
    def kind(self) -> Quantity:
        """The kind of its values."""
        return _KINDS[self.what]

    def of(self, outcome: PointOutcome) -> float | None:
        """Its value at a point that fits; None where it is not known, as an energy without a power.

        Latencies and energies of all models are those of a run of each, bytes those of the bundle of all.
        """
        if self.what == BYTES:
            held = outcome.models[self.model].bytes if self.model else outcome.bytes
            return held.get(self.memory, 0)
        models = [outcome.models[self.model]] if self.model else list(outcome.models.values())
        values = [getattr(each, self.what) for each in models]
        return None if None in values else sum(values)


def measures(models: Iterable[str], memories: Iterable[str]) -> Iterator[str]:
    """The names of all measures of these models on a chip with these memories."""
    whats = [LATENCY, PERIOD, ENERGY, *(f"{BYTES}.{memory}" for memory in memories)]
    yield from whats
    for model in models:
        yield from (f"{model}.{what}" for what in whats)


def measure(name: str, models: Iterable[str]) -> Measure | None:
    """The measure of a name; None where there is none."""
    first, _, rest = name.partition(".")
    model, name = (first, rest) if first in set(models) else ("", name)
    what, _, memory = name.partition(".")
    if what not in _KINDS or (what == BYTES) != bool(memory):
        return None
    return Measure(what, model, memory)


def precisely(name: str, value: float | None, models: Iterable[str]) -> str:
    """As `amount`, with six digits: for a value that is compared with one near it."""
    found = measure(name, models)
    if value is None or found is None or found.what == BYTES:
        return amount(name, value, models)
    units = found.kind.units
    unit = next((unit for unit in reversed([*units]) if value >= float(units[unit])), next(iter(units)))
    return f"{value / float(units[unit]):.6g} {unit}"


def amount(name: str, value: float | None, models: Iterable[str]) -> str:
    """A value as a table shows it, with its unit; that of a formula is a number."""
    if value is None:
        return "not known"
    found = measure(name, models)
    if found is None:
        return f"{value:.6g}"
    if found.kind is _SECONDS:
        return duration(value)
    if found.what == BYTES:
        return f"{value:,.0f} B"
    unit = next((unit for unit in reversed([*JOULES]) if value >= float(JOULES[unit])), "pJ")
    return f"{value / float(JOULES[unit]):.3g} {unit}"
