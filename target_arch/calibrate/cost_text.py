"""The cost file of a calibration, as `soc.files.cost_file` reads it. Same measurements, same bytes."""

import json
from collections.abc import Mapping

from target_arch.soc.costs import Calibration, Costs, FittedCosts, MeasuredOperator, PathCost
from target_arch.soc.schema.fields import SCHEMA

_DIGITS = 6


def cost_text(costs: Costs) -> str:
    """The file's text. What was given by hand (`operators`, `loads`) is not in it."""
    made = costs.calibration
    assert made is not None
    document: dict[str, object] = {
        "schema": SCHEMA,
        "calibration": _about(made),
        "measured": {arch: _measured(made.measured[arch]) for arch in sorted(made.measured)},
        "fitted": {arch: _fitted(made.fitted[arch]) for arch in sorted(made.fitted)},
        "copies": [_path(path) for path in costs.copies],
    }
    return json.dumps(document, indent=1) + "\n"


def _about(made: Calibration) -> dict[str, object]:
    return {
        "soc": made.soc,
        "port": made.port,
        "counts": made.counted,
        "tools": made.tools,
        "models": list(made.models),
    }


def _measured(table: Mapping[str, MeasuredOperator]) -> dict[str, object]:
    return {name: _operator(table[name]) for name in sorted(table)}


def _operator(one: MeasuredOperator) -> dict[str, str]:
    entry = {"time": _time(one.amount, cycles=one.cycles), "kernel": one.kernel}
    return entry if one.energy is None else {**entry, "energy": f"{_number(one.energy * 1e12)} pJ"}


def _fitted(costs: FittedCosts) -> dict[str, object]:
    rates = {unit: _time(costs.rates[unit], cycles=costs.cycles) for unit in sorted(costs.rates)}
    entry: dict[str, object] = {"rates": rates, "share": _rounded(costs.share)}
    if costs.error is not None:
        error = costs.error
        parts = {key: _rounded(getattr(error, key)) for key in ("median", "worst", "low", "high")}
        entry["error"] = {"steps": error.steps, **parts}
    return entry


def _path(path: PathCost) -> dict[str, object]:
    entry: dict[str, object] = {"from": path.sources[0], "to": path.targets[0], "engine": path.engine}
    if path.setup is not None:
        entry["setup"] = _time(path.setup, cycles=False)
    if path.bandwidth is not None:
        entry["bandwidth"] = f"{_number(path.bandwidth / 1e6)} MB/s"
    return entry


def _time(amount: float, *, cycles: bool) -> str:
    return f"{_number(amount)} cycles" if cycles else f"{_number(amount * 1e9)} ns"


def _number(value: float) -> str:
    """Six digits, without an exponent: as quantities are read."""
    text = f"{value:.{_DIGITS}g}"
    if "e" not in text:
        return text
    return f"{float(text):.15f}".rstrip("0").rstrip(".")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
