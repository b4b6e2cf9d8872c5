"""The options of a request as a manifest records them, for those who compile the model again."""

from collections.abc import Mapping
from typing import TypeVar

from attrs import asdict

from target_arch.backend.planner import Effort
from target_arch.pipeline.request import CompileRequest
from target_arch.plan.division import Divide
from target_arch.plan.inputs.time_limit import time_text
from target_arch.plan.manifest.model import OptionsEntry
from target_arch.plan.objective import Objective
from target_arch.plan.resident import Resident
from target_arch.stages.lowering.order import Wish
from target_arch.stages.memory.planner import BEST, Planner

_V = TypeVar("_V")
_LIMITS = ("nodes", "seconds", "seed")


def asked_options(request: CompileRequest) -> OptionsEntry | None:
    """Every option that is not its default and no file; None where there is none."""
    entry = OptionsEntry(
        memory_limits=_sorted({name: int(size) for name, size in request.memory.items()}),
        require=_sorted(request.require),
        prefer=_sorted(request.prefer),
        forbid=_sorted(request.forbid),
        targets=request.targets or None,
        order=request.order or None,
        lowering_order=_orders(request.lowering_order),
        states=_sorted(request.states),
        frames=None if request.frames is None else str(request.frames),
        divide=None if request.divide is Divide.NEVER else request.divide,
        objective=None if request.objective is Objective.LATENCY else request.objective,
        within=None if request.within is None else time_text(request.within),
        resident=None if request.resident is Resident.NEVER else request.resident,
        exact=bool(request.exact) or None,
        planner=_planner(request.planner),
    )
    return entry if entry != OptionsEntry() else None


def _sorted(values: Mapping[str, _V]) -> Mapping[str, _V] | None:
    return dict(sorted(values.items())) or None


def _orders(wish: Wish | Mapping[str, Wish] | None) -> Mapping[str, str] | None:
    if not wish:
        return None
    phases = wish if isinstance(wish, Mapping) else {"": wish}
    return {phase: each if isinstance(each, str) else ",".join(each) for phase, each in phases.items()}


def _planner(planner: Planner) -> str | None:
    """As on the command line."""
    if planner.effort is None:
        return None if planner.algorithm == BEST.algorithm else planner.algorithm
    limits, usual = asdict(planner.effort), asdict(Effort())
    words = [f"{name}={limits[name]}" for name in _LIMITS if limits[name] != usual[name]]
    return ",".join([planner.algorithm, *words])
