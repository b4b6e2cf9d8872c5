"""Rates of units of work that fit what was counted, and how far they are off for models left out.

Calls of probes are never left out. Rates are not negative, and the relative errors of all calls weigh the
same: least squares by SciPy.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import log, sqrt
from statistics import fmean, median, quantiles
from typing import Any

import networkx as nx
import numpy as np
from attrs import evolve, frozen

from target_arch.calibrate.observations import CopyObservation, Observation, OrderObservation, Work
from target_arch.run.tools.toolchain import missing
from target_arch.soc.costs import FittedCosts, MeasuredTime, OrderCost, PathCost, StatedError, likenesses

_PULLS = (1e-6, 1e-3, 1e-2, 0.1, 1.0)
"""How much it may weigh that a rate leaves the backend's, as a part of what the errors of calls weigh."""
_LEAST = 1e-30
_ANY_TYPE, _ANY_KIND = 0, 1
"""Places of `likenesses`."""
_CALLS_FOR_LIMITS = 10
"""Fewer calls have no tenth of them beyond a limit: then the limits are the extremes."""


@frozen(kw_only=True)
class LeftOut:
    """A call of a model that the fit did not know: the amount that was expected, and the one counted."""

    work: Work
    expected: float
    amount: float

    @property
    def error(self) -> float:
        """How far the expected amount is off, as a part of the one counted."""
        return self.expected / self.amount - 1


def fitted(some: Sequence[Observation], probes: Sequence[Observation] = (), *, cycles: bool) -> FittedCosts:
    """The rates of the units of these calls and of those of probes. Where calls cannot tell units apart,
    their rates keep the proportion of the backend's; how much these weigh is what estimates parts of the
    calls best from the rest. ToolMissing without SciPy.
    """
    rates: dict[str, float] = {}
    for likeness in (_ANY_KIND, _ANY_TYPE):
        rates |= _rates(*(_alike(part, likeness) for part in (some, probes)))
    rates |= _rates(some, probes)
    times = {unit: MeasuredTime(amount=rates[unit], cycles=cycles) for unit in sorted(rates)}
    return FittedCosts(rates=times, share=_share([*probes, *some]))


def _rates(some: Sequence[Observation], probes: Sequence[Observation]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for units in _together([*probes, *some]):
        own, probed = ([each for each in part if units & each.work.units.keys()] for part in (some, probes))
        rates |= _pulled(own, probed)
    return rates


def _alike(calls: Sequence[Observation], likeness: int) -> list[Observation]:
    """The calls that do nothing but what kinds of operators are counted by, by units of more operators."""
    return [
        evolve(
            each,
            work=evolve(
                each.work,
                units=_merged(each.work.units, likeness),
                priced=_merged(each.work.priced, likeness),
            ),
        )
        for each in calls
        if all(likenesses(unit) for unit in each.work.units)
    ]


def _merged(units: Mapping[str, float], likeness: int) -> dict[str, float]:
    merged: dict[str, float] = {}
    for unit, count in units.items():
        alike = likenesses(unit)[likeness]
        merged[alike] = merged.get(alike, 0.0) + count
    return merged


def _together(calls: Sequence[Observation]) -> list[set[str]]:
    """Units that no call has beside those of another set: each set is fitted for itself."""
    graph = nx.Graph()
    for each in calls:
        nx.add_path(graph, sorted(each.work.units))
    return [set(units) for units in nx.connected_components(graph)]


def _pulled(some: Sequence[Observation], probes: Sequence[Observation]) -> dict[str, float]:
    """The rates at the pull that estimates parts of these calls best."""
    left, always = (some, probes) if some else (probes, ())
    parts = _parts(left)
    if len(parts) < 2 and not always:
        return _at_pull(left, _PULLS[0])
    pull = min(_PULLS, key=lambda pull: _misses(parts, always, pull))
    return _at_pull([*always, *left], pull)


def _parts(some: Sequence[Observation]) -> list[list[Observation]]:
    """The calls by model; of one model every second one."""
    models = list(dict.fromkeys(each.work.model for each in some))
    if len(models) > 1:
        return [[each for each in some if each.work.model == model] for model in models]
    return [list(part) for part in (some[::2], some[1::2]) if part]


def _misses(parts: Sequence[Sequence[Observation]], always: Sequence[Observation], pull: float) -> float:
    """How far estimates of each part from the others are off, as the mean of logarithms. A unit that only
    one part has counts as nothing.
    """
    misses = []
    for number, part in enumerate(parts):
        others = [each for other, rest in enumerate(parts) if other != number for each in rest]
        rates = _at_pull([*always, *others], pull)
        misses += [abs(log(max(_summed(each.work, rates) / each.amount, _LEAST))) for each in part]
    return fmean(misses)


def _summed(work: Work, rates: Mapping[str, float]) -> float:
    return sum(rates.get(unit, 0.0) * count for unit, count in work.units.items())


def _at_pull(some: Sequence[Observation], pull: float) -> dict[str, float]:
    """The rates where leaving the backend's weighs `pull`, as a part of what the errors of calls weigh."""
    units = sorted({unit for each in some for unit in each.work.units})
    if not units:
        return {}
    near = median(each.amount / (sum(each.work.priced.values()) or each.amount) for each in some)
    prior = np.array([near * _price(unit, some) for unit in units])
    shares = np.array([[each.work.units.get(unit, 0.0) / each.amount for unit in units] for each in some])
    # A unit that the backend prices at nothing is drawn to nothing, by its greatest part of a call.
    scale = np.array([price or 1 / max(shares[:, n].max(), _LEAST) for n, price in enumerate(prior)])
    weight = sqrt(pull * len(some) / len(units))
    rows = np.vstack([shares * scale, np.eye(len(units)) * weight])
    wanted = np.concatenate([np.ones(len(some)), np.where(prior > 0, weight, 0.0)])
    return dict(zip(units, (np.array(_least_squares(rows, wanted)) * scale).tolist(), strict=True))


def _price(unit: str, some: Sequence[Observation]) -> float:
    """The amount that the backend expects of one unit."""
    count = sum(each.work.units.get(unit, 0.0) for each in some)
    return sum(each.work.priced.get(unit, 0.0) for each in some) / count


def expected(work: Work, costs: FittedCosts) -> float:
    """The amount of a call at fitted rates; a share of the backend's estimate where a unit has none."""
    amount = costs.amount(work.units)
    return costs.share * work.estimate if amount is None else amount


def left_out(
    some: Sequence[Observation], probes: Sequence[Observation] = (), *, cycles: bool
) -> tuple[LeftOut, ...]:
    """Every call that is of no probe, estimated by the fit of the other models and of probes; nothing where
    there are none.
    """
    models = dict.fromkeys(each.work.model for each in some)
    if len(models) < 2 and not probes:
        return ()
    return tuple(one for model in models for one in _without(model, some, probes, cycles))


def _without(
    model: str, some: Sequence[Observation], probes: Sequence[Observation], cycles: bool
) -> Iterator[LeftOut]:
    costs = fitted([each for each in some if each.work.model != model], probes, cycles=cycles)
    for each in some:
        if each.work.model == model:
            yield LeftOut(work=each.work, expected=expected(each.work, costs), amount=each.amount)


def stated(calls: Sequence[LeftOut]) -> StatedError | None:
    """The error of estimates of these calls; None where there are none."""
    known = [call for call in calls if call.expected > 0]
    if not known:
        return None
    errors = [abs(call.error) for call in known]
    ratios = sorted(call.amount / call.expected for call in known)
    few = len(ratios) < _CALLS_FOR_LIMITS
    tenths = [ratios[0], ratios[-1]] if few else quantiles(ratios, n=10, method="inclusive")
    return StatedError(
        steps=len(known),
        median=median(errors),
        worst=max(errors),
        low=tenths[0],
        high=tenths[-1],
        most=ratios[-1],
    )


def path_costs(some: Sequence[CopyObservation], seconds: Mapping[str, float]) -> tuple[PathCost, ...]:
    """Set-up and bandwidth of each way that bytes were copied. `seconds` has those of one count by engine."""
    ways: dict[tuple[str, str, str], list[CopyObservation]] = {}
    for copy in some:
        ways.setdefault((copy.source, copy.target, copy.engine), []).append(copy)
    return tuple(_path(way, ways[way], seconds[way[2]]) for way in sorted(ways) if way[2] in seconds)


def _path(way: tuple[str, str, str], some: Sequence[CopyObservation], second: float) -> PathCost:
    shares = np.array([[1.0 / copy.amount, copy.bytes / copy.amount] for copy in some])
    scale = shares.max(axis=0)
    setup, byte = _least_squares(shares / scale, np.ones(len(some))) / scale
    return PathCost(
        sources=(way[0],),
        targets=(way[1],),
        engine=way[2],
        setup=setup * second,
        bandwidth=1 / (byte * second) if byte else None,
    )


def order_costs(some: Sequence[OrderObservation]) -> dict[str, OrderCost]:
    """The medians of what steps take of the host, by device."""
    devices: dict[str, list[OrderObservation]] = {}
    for each in some:
        devices.setdefault(each.device, []).append(each)
    return {
        device: OrderCost(
            start=median(each.start for each in devices[device]),
            end=median(each.end for each in devices[device]),
        )
        for device in sorted(devices)
    }


def _share(some: Sequence[Observation]) -> float:
    """The counted amount over the estimated one, in the median."""
    ratios = [each.amount / each.work.estimate for each in some if each.work.estimate > 0]
    return median(ratios) if ratios else 1.0


def _least_squares(rows: Any, wanted: Any) -> Any:
    """The factors, none negative, at which the rows add up to nearly what is wanted."""
    try:
        from scipy.optimize import nnls
    except ModuleNotFoundError as error:
        hint = "install the extra `calibrate`: pip install 'target-arch[calibrate]'"
        raise missing("scipy", "fitting costs needs SciPy", hint) from error
    return nnls(rows, wanted)[0]
