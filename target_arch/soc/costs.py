"""Costs measured on a chip or fitted to what was, which replace the numbers of descriptions and backends.

`cost_file.py` reads them. They count in placement alone: the description itself, and the files made from it,
stays as it is.
"""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from target_arch.soc.model import CopyPath, SoC, TargetArch


@frozen(kw_only=True)
class Measured:
    """The cost of an operator: seconds, or cycles of the target_arch's clock where `cycles`.

    `per` is empty for a whole operator, `element` for one element of its output, `mac` for one
    multiply-accumulate. `energy` is in joules, per the same; None where it was not measured.
    """

    amount: float
    cycles: bool = False
    per: str = ""
    energy: float | None = None


@frozen(kw_only=True)
class PathCost:
    """The cost of a copy path: seconds of set-up and bytes per second, None where not measured.

    `sources` and `targets` are memories, each pair a path; without an engine, the paths of every engine are
    meant.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    engine: str | None = None
    setup: float | None = None
    bandwidth: float | None = None

    def means(self, path: CopyPath) -> bool:
        """True where this was measured of the path."""
        engine = self.engine in (None, path.engine)
        return engine and path.source in self.sources and path.target in self.targets


@frozen(kw_only=True)
class LoadCost:
    """The cost of a load process: bytes of the image and seconds, None where not measured."""

    bytes: int | None = None
    time: float | None = None


@frozen(kw_only=True)
class PowerCost:
    """The power of the whole chip in watts while a target_arch computes, and while it waits; None where that
    is not known.
    """

    active: float | None = None
    idle: float | None = None


@frozen(kw_only=True)
class MeasuredOperator:
    """The cost of an operator that ran: seconds, or cycles of the target_arch's clock where `cycles`.

    `kernel` is the hash of the code that computed it. `energy` is in joules, None where it is not known.
    """

    amount: float
    cycles: bool
    kernel: str
    energy: float | None = None


@frozen(kw_only=True)
class StatedError:
    """How far estimates were off in so many steps of models that the fit did not know, as parts of the
    measurement: in the median, and at most. Of ten measurements, eight were from `low` to `high` times their
    estimate.
    """

    steps: int
    median: float
    worst: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.1%} in the median, {self.worst:.0%} at most in {self.steps:,} steps"


@frozen(kw_only=True)
class FittedCosts:
    """The cost of each unit of work at a target_arch: seconds, or cycles where `cycles`.

    An operator with a unit that has no rate takes `share` times its backend's estimate. `error` is None where
    no model was left out.
    """

    rates: Mapping[str, float]
    cycles: bool
    share: float = 1.0
    error: StatedError | None = None


@frozen(kw_only=True)
class Calibration:
    """Costs that `calibrate` measured and fitted: by target_arch, then by signature of operators.

    `soc` is the chip that they are for, `port` where its bundles ran, `counted` what was read there:
    nanoseconds, instructions or cycles. `tools` are the compiler or simulator that made the programs.
    """

    soc: str
    port: str
    counted: str
    tools: str
    models: tuple[str, ...]
    measured: Mapping[str, Mapping[str, MeasuredOperator]] = field(factory=dict)
    fitted: Mapping[str, FittedCosts] = field(factory=dict)

    def __str__(self) -> str:
        return f"{self.counted} on port `{self.port}`, {self.tools}, of {', '.join(self.models)}"


@frozen(kw_only=True)
class Costs:
    """All that was measured. `operators` are by target_arch or backend, then by operator id or kind, `energy`
    is by target_arch.

    `origin` is the file's name in messages. `calibration` is None where nothing was calibrated.
    """

    operators: Mapping[str, Mapping[str, Measured]] = field(factory=dict)
    copies: tuple[PathCost, ...] = ()
    loads: Mapping[str, LoadCost] = field(factory=dict)
    energy: Mapping[str, PowerCost] = field(factory=dict)
    calibration: Calibration | None = None
    origin: str = "costs"

    def measured(self, arch: TargetArch, names: tuple[str, ...]) -> Measured | None:
        """The measured cost at a target_arch under the first of these names; its own table goes before that
        of its backend.
        """
        tables = [self.operators[key] for key in (arch.name, arch.backend) if key in self.operators]
        return next((table[name] for table in tables for name in names if name in table), None)

    def power(self, soc: SoC, arch: str) -> PowerCost:
        """The power while a target_arch computes or waits: the file's, else the described part's."""
        own, chip = self.energy.get(arch, PowerCost()), soc.chip
        active, idle = (None, None) if chip is None else (chip.active.get(arch), chip.idle.get(arch))
        return PowerCost(
            active=active if own.active is None else own.active,
            idle=idle if own.idle is None else own.idle,
        )

    def applied(self, soc: SoC) -> SoC:
        """The SoC with measured copy paths and load processes."""
        return evolve(
            soc,
            copies=tuple(self._copy(path) for path in soc.copies),
            archs=tuple(self._arch(arch) for arch in soc.archs),
        )

    def _copy(self, path: CopyPath) -> CopyPath:
        for cost in self.copies:
            if cost.means(path):
                setup = path.setup if cost.setup is None else cost.setup
                return evolve(path, setup=setup, bandwidth=cost.bandwidth or path.bandwidth)
        return path

    def _arch(self, arch: TargetArch) -> TargetArch:
        cost = self.loads.get(arch.name)
        if cost is None:
            return arch
        bytes = arch.load.bytes if cost.bytes is None else cost.bytes
        time = arch.load.time if cost.time is None else cost.time
        return evolve(arch, load=evolve(arch.load, bytes=bytes, time=time))


NOTHING_MEASURED = Costs()
