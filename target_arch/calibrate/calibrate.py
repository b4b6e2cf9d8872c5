"""Calibrate the costs of a chip: compile models, run them where something counts, and fit.

Every target_arch that the port can measure is measured with all operators that it takes, whatever placement
would say.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend
from target_arch.calibrate.cache_lines import line_seconds
from target_arch.calibrate.counters import NANOSECONDS, CountingPort, counter
from target_arch.calibrate.fit import fitted, left_out, order_costs, path_costs, stated
from target_arch.calibrate.observations import (
    CopyObservation,
    Observation,
    OrderObservation,
    Work,
    copies,
    observations,
    orders,
    works,
)
from target_arch.calibrate.report import CalibrationReport
from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.emit.programs.tracer import WATCHED_PORT
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc.chip.chip import cycles_per_instruction
from target_arch.soc.costs import (
    NOTHING_MEASURED,
    Calibration,
    CoreCost,
    Costs,
    MeasuredOperator,
    MeasuredTime,
)
from target_arch.soc.model import HOST_ENGINE, SoC, TargetArch


@frozen(kw_only=True)
class CalibrateRequest:
    """The compilations to measure, all for one SoC, and the port to measure on. `probes` are measured, too,
    as far as the chip takes them, and no error is stated for them.

    With `before`, the costs of an earlier calibration on the same port, only models are run that have a call
    whose code it did not measure. `said` is called with a line for each run.
    """

    compilations: tuple[CompileRequest, ...]
    port: str
    probes: tuple[CompileRequest, ...] = ()
    before: Costs | None = field(default=None, repr=False)
    said: Callable[[str], None] = field(default=lambda text: None, repr=False)


@frozen(kw_only=True)
class _Counted:
    """The observations of one model at one target_arch, and how many of them are from before."""

    calls: tuple[Observation, ...] = ()
    copies: tuple[CopyObservation, ...] = ()
    orders: tuple[OrderObservation, ...] = ()
    kept: int = 0


@frozen(kw_only=True)
class _Runs:
    """The runs of models and those of probes."""

    models: Sequence[_Counted]
    probes: Sequence[_Counted]

    @property
    def all(self) -> Sequence[_Counted]:
        return (*self.probes, *self.models)


@frozen(kw_only=True)
class _Measuring:
    """The port that counts, and what it counted before, by target_arch and signature."""

    counting: CountingPort
    known: Mapping[str, Mapping[str, MeasuredOperator]]
    said: Callable[[str], None]


def calibrate(request: CalibrateRequest) -> CalibrationReport:
    """Measure, fit, and state the error for models that are left out.

    Raises as `compile_model` and running do; DiagnosticError for a port that cannot count, costs of another
    port to be updated, and where nothing can be measured. ToolMissing without SciPy.
    """
    first = (*request.compilations, *request.probes)[0]
    plug_ins = first.plug_ins or PlugIns.discover(first.backend_dirs)
    counting = counter(request.port, plug_ins.ports)
    measuring = _Measuring(counting=counting, known=_known(request), said=request.said)
    backends = plug_ins.backends_for(first.soc)
    archs = [
        arch
        for arch in first.soc.archs
        if arch.name in backends and counting.takes(arch, backends[arch.name])
    ]
    models, probes = (
        [
            count(evolve(each, port=counting.port, costs=None), arch, backends[arch.name], measuring)
            for each in compilations
            for arch in archs
        ]
        for count, compilations in ((_counted, request.compilations), (_probed, request.probes))
    )
    runs = _Runs(models=models, probes=probes)
    if not any(run.calls for run in runs.all):
        said = f"no target_arch of `{first.soc.name}` computes anything of these models that it counts"
        hint = (
            "`host` measures C on this computer, `cuda` a device of it, "
            "an emulated machine its instructions, `rtl` engines with Verilog, "
            "`firmware` Hexagon cores"
        )
        raise refusal("nothing-measured", "port", said, hint)
    return _report(request, first.soc, counting, runs)


def _known(request: CalibrateRequest) -> Mapping[str, Mapping[str, MeasuredOperator]]:
    """The operators that were measured before. DiagnosticError where that was on another port."""
    if request.before is None:
        return {}
    before, origin = request.before.calibration, request.before.origin
    if before is None:
        said = "there is no calibration in it to update"
        raise refusal("no-calibration", origin, said, "calibrate without updating")
    if before.port != request.port:
        said = f"it was measured on port `{before.port}`, not on `{request.port}`"
        raise refusal("another-port", origin, said)
    return request.before.measured


def _counted(
    compilation: CompileRequest,
    arch: TargetArch,
    backend: Backend,
    measuring: _Measuring,
) -> _Counted:
    made = compile_model(_at(compilation, arch))
    found = works(made, arch.name, backend, cycles=measuring.counting.cycles)
    table = measuring.known.get(arch.name, {})
    kept = _kept(found, table)
    if kept is not None:
        measuring.said(f"{made.model.name} on {arch.name}: {len(found)} calls as before")
        return _Counted(calls=kept, kept=len(kept))
    if not found:
        return _Counted()
    measuring.said(f"{made.model.name} on {arch.name}: running {len(found)} calls")
    chip = compilation.soc.chip if measuring.counting.emulated else None
    return _run(made, found, measuring.counting, cycles_per_instruction(chip, arch.name, arch.isa))


def _probed(
    compilation: CompileRequest, arch: TargetArch, backend: Backend, measuring: _Measuring
) -> _Counted:
    """The calls of a probe; none where it does not fit the chip."""
    try:
        return _counted(compilation, arch, backend, measuring)
    except DiagnosticError as error:
        measuring.said(
            f"{compilation.model_path.stem} on {arch.name}: left out, {error.diagnostics[0].message}"
        )
        return _Counted()


def _run(made: CompiledModel, found: Sequence[Work], counting: CountingPort, cycles_each: float) -> _Counted:
    """The calls, copies and orders of a run; each instruction of an emulated machine takes so many cycles."""
    counts = counting.counted(made)
    amounts = {number: amount * cycles_each for number, amount in counts.amounts.items()}
    return _Counted(
        calls=observations(made, found, amounts),
        copies=copies(made, amounts),
        orders=orders(made, counts.orders),
    )


def _at(compilation: CompileRequest, arch: TargetArch) -> CompileRequest:
    """The compilation with as much as possible at one target_arch, and the rest at the host."""
    alone = evolve(compilation, targets=(arch.name,))
    return alone if arch.host else evolve(alone, prefer={"*": arch.name})


def _kept(found: Sequence[Work], table: Mapping[str, MeasuredOperator]) -> tuple[Observation, ...] | None:
    """The calls with amounts from before; None where there is none, or one was not measured with this
    code.
    """
    entries = [[table.get(name) for name, _ in work.shares] for work in found]
    same = all(
        entry is not None and entry.kernel == work.kernel
        for work, row in zip(found, entries, strict=True)
        for entry in row
    )
    if not found or not same:
        return None
    return tuple(
        Observation(work=work, amount=sum(entry.time.amount for entry in row if entry))
        for work, row in zip(found, entries, strict=True)
    )


def _report(request: CalibrateRequest, soc: SoC, counting: CountingPort, runs: _Runs) -> CalibrationReport:
    calls = [call for run in runs.models for call in run.calls]
    probed = [call for run in runs.probes for call in run.calls]
    moved = [copy for run in runs.all for copy in run.copies]
    pairs = {arch.name: (_at_arch(calls, arch), _at_arch(probed, arch)) for arch in soc.archs}
    by_arch = {arch: found for arch, found in pairs.items() if any(found)}
    others = {arch: left_out(*found, cycles=counting.cycles) for arch, found in by_arch.items()}
    second = 1 / soc.host.clock if counting.cycles and soc.host.clock else 1.0
    engines = {engine.name: second for engine in soc.dmas} if counting.unit == NANOSECONDS else {}
    before = NOTHING_MEASURED if request.before is None else request.before
    costs = Costs(
        copies=path_costs(moved, {HOST_ENGINE: second, **engines}) or before.copies,
        orders=order_costs([order for run in runs.all for order in run.orders]) or before.orders,
        cores=_lines(soc, counting) or before.cores,
        calibration=Calibration(
            soc=soc.name,
            port=request.port,
            counts=_counted_unit(soc, counting),
            tools=counting.tools,
            models=tuple(dict.fromkeys(call.work.model for call in calls)),
            probes=len({call.work.model for call in probed}),
        ),
        measured={
            arch: _measured([*probed, *some], counting) for arch, (some, probed) in sorted(by_arch.items())
        },
        fitted={
            arch: evolve(fitted(*found, cycles=counting.cycles), error=stated(others[arch]))
            for arch, found in sorted(by_arch.items())
        },
    )
    return CalibrationReport(
        costs=costs,
        left_out=tuple(call for arch in others for call in others[arch]),
        measured=len(calls) + len(probed) - sum(run.kept for run in runs.all),
        kept=sum(run.kept for run in runs.all),
        copies=len(moved),
    )


def _lines(soc: SoC, counting: CountingPort) -> dict[str, CoreCost]:
    """The costs of lines of this computer's caches, for the target_archs of which a SoC file says that lines
    cost something.
    """
    here = counting.port == WATCHED_PORT and counting.unit == NANOSECONDS
    archs = [arch.name for arch in soc.archs if arch.line] if here else []
    seconds = line_seconds() if archs else None
    return {} if seconds is None else {name: CoreCost(line=seconds) for name in archs}


def _at_arch(calls: Sequence[Observation], arch: TargetArch) -> list[Observation]:
    return [call for call in calls if call.work.target_arch == arch.name]


def _counted_unit(soc: SoC, counting: CountingPort) -> str:
    """The unit of the port, and what it was made cycles with."""
    host = soc.host
    each = cycles_per_instruction(soc.chip, host.name, host.isa) if counting.emulated else 1.0
    return counting.unit if each == 1.0 else f"{counting.unit}, {each:.3g} cycles each"


def _measured(some: Sequence[Observation], counting: CountingPort) -> dict[str, MeasuredOperator]:
    """By signature of an operator; of several calls of the same work, the one that took least."""
    table: dict[str, MeasuredOperator] = {}
    for call in some:
        for name, share in call.work.shares:
            amount = call.amount * share
            if name not in table or amount < table[name].time.amount:
                time = MeasuredTime(amount=amount, cycles=counting.cycles)
                table[name] = MeasuredOperator(time=time, kernel=call.work.kernel)
    return dict(sorted(table.items()))
