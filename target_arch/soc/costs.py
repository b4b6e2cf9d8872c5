"""Costs measured on a chip or fitted to what was, which replace the numbers of descriptions and backends.

The classes are the records of a cost file, which `cost_file.py` reads. They count in placement alone: the
description itself, and the files made from it, stays as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Annotated, cast

from attrs import evolve, field, frozen

from target_arch.soc.faults import Path
from target_arch.soc.model import SCHEMA, CopyPath, SoC, TargetArch
from target_arch.soc.schema.kinds import (
    BANDWIDTH_OF_PATHS,
    LATENCY,
    SIZE_IN_BYTES,
    WATTS,
    Faults,
    Names,
    OneOrMore,
    Quantity,
    Text,
)
from target_arch.soc.schema.records import NO_KEY, WHERE_THERE, ClosedRecord, KeyName, Real, RecordKind
from target_arch.soc.units import TIME

_CYCLES = "cycles"
_DURATION = {**TIME, _CYCLES: Fraction(1)}
_PER = ("", "/element", "/mac")
_COUNTED = {f"{unit}{per}": factor for per in _PER for unit, factor in _DURATION.items()}
_JOULES = {"pJ": Fraction(1, 10**12), "nJ": Fraction(1, 10**9), "uJ": Fraction(1, 10**6)}
_JOULES |= {"mJ": Fraction(1, 10**3), "J": Fraction(1)}
_ENERGY = Quantity(what="energy", units=_JOULES, most=1e6, zero=True, written_in="pJ")
_SETUP = evolve(LATENCY, written_in="ns")
_BANDWIDTH = evolve(BANDWIDTH_OF_PATHS, written_in="MB/s")
_POWER = Annotated[float | None, WATTS, WHERE_THERE]
_PART = Annotated[float, Real(digits=4)]
_OF_TYPE = " of "
_OF_KIND = ": "
"""Behind the kind of operator in the name of a unit."""


@frozen(kw_only=True)
class MeasuredTime:
    """Seconds, or cycles of the target_arch's clock where `cycles`.

    `per` is empty for a whole operator or unit of work, `element` for one element of its output, `mac` for
    one multiply-accumulate.
    """

    amount: float
    cycles: bool = False
    per: str = ""

    def is_less(self, other: "MeasuredTime") -> bool:
        """True where that follows without the clock and the operator."""
        return (self.cycles, self.per) == (other.cycles, other.per) and self.amount < other.amount


@frozen(kw_only=True)
class TimeOrCycles:
    """A time as a file has it: `340 us`, `1200 cycles`, and for a part of an operator `0.3 cycles/mac` where
    `counted`.
    """

    counted: bool = False
    name: str = "time"

    def read(self, path: Path, value: object, faults: Faults) -> MeasuredTime | None:
        units = _COUNTED if self.counted else _DURATION
        amount = Quantity(what="time", units=units, most=1e15, zero=True).read(path, value, faults)
        if amount is None:
            return None
        unit, _, per = str(value).strip().partition("/")
        return MeasuredTime(amount=amount, cycles=unit.endswith(_CYCLES), per=per)

    def written(self, time: MeasuredTime) -> str:
        unit = _CYCLES if time.cycles else "ns"
        text = Quantity(what="time", units=_DURATION, most=1e15, written_in=unit).written(time.amount)
        return f"{text}/{time.per}" if time.per else f"{text}"


@frozen(kw_only=True)
class Measured(ClosedRecord):
    """The cost of an operator, its energy in joules per the same, and the most that it takes; None where it
    was not measured.
    """

    time: Annotated[MeasuredTime | None, TimeOrCycles(counted=True), WHERE_THERE] = None
    energy: Annotated[float | None, _ENERGY, WHERE_THERE] = None
    worst: Annotated[MeasuredTime | None, TimeOrCycles(counted=True), WHERE_THERE] = None

    @property
    def times(self) -> tuple[MeasuredTime, ...]:
        """All times in it."""
        return tuple(each for each in (self.time, self.worst) if each is not None)

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """An operator of which nothing is said, energy of an unknown amount of work, and a worst time that is
        none.
        """
        if self.time is None and self.energy is not None:
            yield ("energy",), "`energy` needs `time`: it is for the same unit of work"
        elif not self.times:
            yield (), "a cost needs `time` or `worst`: a time"
        if self.worst is not None and self.time is not None and self.worst.is_less(self.time):
            yield ("worst",), "`worst` is less than `time`"


@frozen
class TimeOrTable:
    """A time alone, or a table with more."""

    name: str = "time, or table with `time`, `energy` and `worst`"

    def read(self, path: Path, value: object, faults: Faults) -> Measured | None:
        if isinstance(value, dict):
            return cast(Measured | None, RecordKind(Measured).read(path, value, faults))
        time = TimeOrCycles(counted=True).read(path, value, faults)
        return None if time is None else Measured(time=time)


@frozen(kw_only=True)
class WorstPath(ClosedRecord):
    """The most that a copy takes over a path; None where that is as usual."""

    setup: Annotated[float | None, _SETUP, WHERE_THERE, "the longest from the order to the first byte"] = None
    bandwidth: Annotated[float | None, _BANDWIDTH, WHERE_THERE, "the least that is sustained"] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A path of which nothing is said."""
        if self.setup is None and self.bandwidth is None:
            yield (), "the worst of a copy path needs `setup` or `bandwidth`"


@frozen(kw_only=True)
class PathCost(ClosedRecord):
    """The cost of a copy path: seconds of set-up and bytes per second, None where not measured, and both at
    worst.

    `sources` and `targets` are memories, each pair a path; without an engine, the paths of every engine are
    meant.
    """

    sources: Annotated[tuple[str, ...], KeyName("from"), OneOrMore(), "a memory or several"]
    targets: Annotated[tuple[str, ...], KeyName("to"), OneOrMore(), "a memory or several"]
    engine: Annotated[str | None, Text(), WHERE_THERE, "restricts it to the paths of one engine"] = None
    setup: Annotated[float | None, _SETUP, WHERE_THERE, "from the order to the first byte"] = None
    bandwidth: Annotated[float | None, _BANDWIDTH, WHERE_THERE, "sustained"] = None
    worst: Annotated[WorstPath | None, "where something else on the chip takes its share", WHERE_THERE] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A worst that is better than usual."""
        if self.worst is None:
            return
        setup, bandwidth = self.worst.setup, self.worst.bandwidth
        if setup is not None and setup < (self.setup or 0.0):
            yield ("worst", "setup"), "the `setup` at worst is less than usual"
        if bandwidth is not None and self.bandwidth is not None and bandwidth > self.bandwidth:
            yield ("worst", "bandwidth"), "the `bandwidth` at worst is more than usual"

    def means(self, path: CopyPath) -> bool:
        """True where this was measured of the path."""
        engine = self.engine in (None, path.engine)
        return engine and path.source in self.sources and path.target in self.targets


@frozen(kw_only=True)
class LoadCost(ClosedRecord):
    """The cost of a load process: bytes of the image and seconds, None where not measured."""

    bytes: Annotated[int | None, SIZE_IN_BYTES, WHERE_THERE, "size of the image"] = None
    time: Annotated[float | None, LATENCY, WHERE_THERE, "to load and start it"] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A process of which nothing is said."""
        if self.bytes is None and self.time is None:
            yield (), "a load process needs `bytes` or `time`"


@frozen(kw_only=True)
class WorstOrder(ClosedRecord):
    """The most of the host's time that a step of a device takes; None where that is as usual."""

    start: Annotated[float | None, _SETUP, WHERE_THERE, "the longest to start a step there"] = None
    end: Annotated[float | None, _SETUP, WHERE_THERE, "the longest to see that it is over"] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A device of which nothing is said."""
        if self.start is None and self.end is None:
            yield (), "the worst of an order needs `start` or `end`: a time"


@frozen(kw_only=True)
class OrderCost(ClosedRecord):
    """The host's own time for each step of a device, in seconds: to start it, and to see that it is over once
    it is; None where that is nothing. The device works meanwhile.
    """

    start: Annotated[float | None, _SETUP, WHERE_THERE, "to start a step there"] = None
    end: Annotated[float | None, _SETUP, WHERE_THERE, "to see that it is over, once it is"] = None
    worst: Annotated[WorstOrder | None, "the most that it takes of the host", WHERE_THERE] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A device of which nothing is said, and a worst that is better than usual."""
        if self.start is None and self.end is None and self.worst is None:
            yield (), "an order needs `start` or `end` or `worst`: a time of the host"
        for key in ("start", "end") if self.worst is not None else ():
            worst = getattr(self.worst, key)
            if worst is not None and worst < (getattr(self, key) or 0.0):
                yield ("worst", key), f"the `{key}` at worst is less than usual"

    @property
    def usual(self) -> tuple[float, float]:
        """Seconds to start a step and to see its end."""
        return self.start or 0.0, self.end or 0.0

    @property
    def longest(self) -> tuple[float | None, float | None]:
        """The same at worst, None for what is not stated."""
        return (None, None) if self.worst is None else (self.worst.start, self.worst.end)


NO_ORDER = OrderCost(start=0.0, end=0.0)


@frozen(kw_only=True)
class CoreCost(ClosedRecord):
    """The cost of cores, in seconds."""

    line: Annotated[float, _SETUP, "for a line of a cache that another core wrote"]


@frozen(kw_only=True)
class PowerCost(ClosedRecord):
    """The power of the whole chip in watts while a target_arch computes, and while it waits; None where that
    is not known.
    """

    active: Annotated[_POWER, "of the whole chip while it computes"] = None
    idle: Annotated[_POWER, "of the whole chip while it waits"] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A target_arch of which nothing is said."""
        if self.active is None and self.idle is None:
            yield (), "energy needs `active` or `idle`: a power"


@frozen(kw_only=True)
class MeasuredOperator(ClosedRecord):
    """The cost of an operator that ran. Its energy is in joules, None where it is not known."""

    time: Annotated[MeasuredTime, TimeOrCycles(), "of one call"]
    kernel: Annotated[str, Text(), "hash of the code that computed it"]
    energy: Annotated[float | None, _ENERGY, WHERE_THERE, "of one call"] = None


@frozen(kw_only=True)
class StatedError(ClosedRecord):
    """How far estimates were off in so many steps of models that the fit did not know, as parts of the
    measurement: in the median, and at most. Of ten measurements, eight were from `low` to `high` times their
    estimate.
    """

    steps: Annotated[int, "calls of models left out"]
    median: Annotated[_PART, "of the measurement, half of the estimates were less off"]
    worst: Annotated[_PART, "of the measurement, no estimate was more off"]
    low: Annotated[_PART, "of the estimate: one of ten measurements was less"]
    high: Annotated[_PART, "of the estimate: one of ten measurements was more"]
    most: Annotated[_PART | None, "of the estimate: no measurement was more", WHERE_THERE] = None

    @property
    def exceeded(self) -> float | None:
        """The part of an estimate by which a measurement exceeded it at most; None where the greatest error
        is of an estimate that was too long, and nothing says how short others were.
        """
        if self.most is not None:
            return max(self.most - 1, 0.0)
        return 1 / (1 - self.worst) - 1 if self.worst < 1 else None

    def __str__(self) -> str:
        return f"{self.median:.1%} in the median, {self.worst:.0%} at most in {self.steps:,} steps"


def unit_of_kind(kind: str, dtype: str, unit: str) -> str:
    """The name of a unit of work of one kind of operator, with results of an element type."""
    return f"{kind}{_OF_TYPE}{dtype}{_OF_KIND}{unit}"


def likenesses(unit: str) -> tuple[str, ...]:
    """The units that calls of more operators are counted by, the most alike first: of `slice of int8: byte`
    they are `slice of any type: byte` and `any kind: byte`. A backend's own unit has none.
    """
    _, kind, name = unit.rpartition(_OF_KIND)
    if not kind:
        return ()
    operator, _, _ = unit.partition(_OF_TYPE)
    return unit_of_kind(operator, "any type", name), f"any kind{_OF_KIND}{name}"


@frozen(kw_only=True)
class FittedCosts(ClosedRecord):
    """The cost of each unit of work at a target_arch.

    A unit of a kind of operator that has no rate takes that of the kind with any element type, or of any
    kind. An operator with another unit that has none takes `share` times its backend's estimate. `error` is
    None where no model was left out.
    """

    rates: Annotated[
        Mapping[str, Annotated[MeasuredTime, TimeOrCycles()]], "by unit of work, the time of one"
    ]
    share: Annotated[_PART, "of a backend's estimate, that operators with other units take"] = 1.0
    error: Annotated[StatedError | None, WHERE_THERE, "of calls of models left out"] = None

    @property
    def cycles(self) -> bool:
        """True where the rates are cycles."""
        return any(rate.cycles for rate in self.rates.values())

    def amount(self, units: Mapping[str, float]) -> float | None:
        """The amount that so many of each unit take; None where there is no rate for one of them."""
        amount = 0.0
        for unit, count in units.items():
            rates = (self.rates.get(name) for name in (unit, *likenesses(unit)))
            rate = next((rate for rate in rates if rate is not None), None)
            if rate is None:
                return None
            amount += rate.amount * count
        return amount

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """Rates that are none, or cannot be added."""
        if not self.rates:
            yield ("rates",), "a fit needs `rates`: a time for each unit of work"
        if len({rate.cycles for rate in self.rates.values()}) > 1:
            yield ("rates",), "some rates are cycles, some are times"


@frozen(kw_only=True)
class Calibration(ClosedRecord):
    """Where `calibrate` measured what."""

    soc: Annotated[str, Text(), "the chip that the costs are for"]
    port: Annotated[str, Text(), "where its bundles ran"]
    counts: Annotated[str, Text(), "what was counted there: nanoseconds, instructions or cycles"]
    tools: Annotated[str, Text(), "the compiler or simulator that made the programs"]
    models: Annotated[tuple[str, ...], Names(), "the models that were measured", WHERE_THERE] = ()
    probes: Annotated[int, "how many nets of its own it measured besides", WHERE_THERE] = 0

    def __str__(self) -> str:
        probes = (f"{self.probes} probe{'' if self.probes == 1 else 's'}",) if self.probes else ()
        measured = ", ".join((*probes, *self.models))
        return f"{self.counts} on port `{self.port}`, {self.tools}, of {measured}"


@frozen(kw_only=True)
class Costs(ClosedRecord):
    """All that was measured. `origin` is the file's name in messages."""

    schema: Annotated[int, "the version of this format, `1`"] = SCHEMA
    operators: Annotated[
        Mapping[str, Mapping[str, Annotated[Measured, TimeOrTable()]]],
        "by target_arch, or by backend for all its target_archs, then by operator id or "
        "[kind](operators.md): a time, or a table with `time`, `energy` and `worst`",
        WHERE_THERE,
    ] = field(factory=dict)
    copies: Annotated[tuple[PathCost, ...], "measured copy paths"] = ()
    loads: Annotated[Mapping[str, LoadCost], "by target_arch, its load process", WHERE_THERE] = field(
        factory=dict
    )
    orders: Annotated[
        Mapping[str, OrderCost],
        "by target_arch or DMA engine, the host's own time for each step there",
        WHERE_THERE,
    ] = field(factory=dict)
    cores: Annotated[
        Mapping[str, CoreCost],
        "by target_arch with [`cores`](soc-file.md#cores), in place of what the SoC file says of them",
        WHERE_THERE,
    ] = field(factory=dict)
    energy: Annotated[
        Mapping[str, PowerCost],
        "by target_arch, powers; without them those of the SoC file's [`[chip]`](soc-file.md#chip)",
        WHERE_THERE,
    ] = field(factory=dict)
    calibration: Annotated[Calibration | None, "what [`calibrate`](costs.md) measured where", WHERE_THERE] = (
        None
    )
    measured: Annotated[
        Mapping[str, Mapping[str, MeasuredOperator]],
        "by target_arch and signature, the operators that ran",
        WHERE_THERE,
    ] = field(factory=dict)
    fitted: Annotated[Mapping[str, FittedCosts], "by target_arch, what was fitted", WHERE_THERE] = field(
        factory=dict
    )
    origin: Annotated[str, NO_KEY] = "costs"

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """Measurements from nowhere."""
        if self.calibration is None and (self.measured or self.fitted):
            said = "`measured` and `fitted` need `calibration`, which says of what and where"
            yield ("measured" if self.measured else "fitted",), said

    def stated(self, arch: TargetArch, names: tuple[str, ...]) -> Measured | None:
        """The cost in `operators` with a time, at a target_arch under the first of these names; its own table
        goes before that of its backend.
        """
        return next((each for each in self._entries(arch, names) if each.time is not None), None)

    def worst(self, arch: TargetArch, names: tuple[str, ...]) -> MeasuredTime | None:
        """The worst time in `operators`, found in the same order; None where none is stated."""
        return next((each.worst for each in self._entries(arch, names) if each.worst is not None), None)

    def _entries(self, arch: TargetArch, names: tuple[str, ...]) -> Iterable[Measured]:
        if not self.operators:
            return ()
        tables = [self.operators[key] for key in (arch.name, arch.backend) if key in self.operators]
        return (table[name] for table in tables for name in names if name in table)

    def order(self, device: str) -> OrderCost:
        """The host's time for a step of a target_arch or a DMA engine."""
        return self.orders.get(device, NO_ORDER)

    def power(self, soc: SoC, arch: str) -> PowerCost:
        """The power while a target_arch computes or waits: the file's, else the described part's."""
        own, chip = self.energy.get(arch, PowerCost()), soc.chip
        active, idle = (None, None) if chip is None else (chip.active.get(arch), chip.idle.get(arch))
        return PowerCost(
            active=active if own.active is None else own.active,
            idle=idle if own.idle is None else own.idle,
        )

    def applied(self, soc: SoC) -> SoC:
        """The SoC with measured copy paths, load processes and lines of caches."""
        return evolve(
            soc,
            copies=tuple(self._copy(path) for path in soc.copies),
            archs=tuple(self._arch(arch) for arch in soc.archs),
        )

    def slowest(self, path: CopyPath) -> CopyPath | None:
        """A path as it is at worst; None where that is not stated."""
        cost = self._of_path(path)
        if cost is None or cost.worst is None:
            return None
        usual, worst = self._copy(path), cost.worst
        setup = usual.setup if worst.setup is None else worst.setup
        return evolve(usual, setup=setup, bandwidth=worst.bandwidth or usual.bandwidth)

    def _copy(self, path: CopyPath) -> CopyPath:
        cost = self._of_path(path)
        if cost is None:
            return path
        setup = path.setup if cost.setup is None else cost.setup
        return evolve(path, setup=setup, bandwidth=cost.bandwidth or path.bandwidth)

    def _of_path(self, path: CopyPath) -> PathCost | None:
        return next((cost for cost in self.copies if cost.means(path)), None)

    def _arch(self, arch: TargetArch) -> TargetArch:
        cost, lines = self.loads.get(arch.name), self.cores.get(arch.name)
        if lines is not None and arch.cores is not None:
            arch = evolve(arch, cores=evolve(arch.cores, line=lines.line))
        if cost is None:
            return arch
        bytes = arch.load.bytes if cost.bytes is None else cost.bytes
        time = arch.load.time if cost.time is None else cost.time
        return evolve(arch, load=evolve(arch.load, bytes=bytes, time=time))


NOTHING_MEASURED = Costs()
