"""Offsets by CP-SAT, the constraint solver of OR-tools, where it is installed."""

from collections.abc import Sequence
from math import gcd
from typing import Any

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Buffer
from target_arch.soc.rounding import round_up
from target_arch.stages.errors import PlanError, failure
from target_arch.stages.memory.packing.measure import Offsets, least, peak
from target_arch.stages.memory.packing.preference import sections
from target_arch.stages.memory.packing.search import greedy

_NODES_PER_SECOND = 10_000
"""Nodes of an effort that count as one second of the solver's deterministic time."""


def cp_sat(buffers: Sequence[Buffer], *, effort: Effort | None = None) -> Offsets:
    """The lowest plan found within the effort on one core; never higher than `greedy`.

    Raises PlanError where OR-tools is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as cause:
        raise failure(
            PlanError,
            "missing-solver",
            "memory plan",
            "the algorithm `cp-sat` needs OR-tools, which is not installed",
            'pip install "target-arch[search]"',
        ) from cause
    effort = effort or Effort()
    start = greedy(buffers, effort.goal)
    goal, high = max(effort.goal, least(buffers)), peak(buffers, start)
    if high <= goal:
        return start
    unit = gcd(*(buffer.bytes for buffer in buffers), *(buffer.alignment for buffer in buffers))
    model, turns = _model(cp_model, buffers, start, unit, goal)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = effort.seed
    if effort.seconds is None:
        solver.parameters.max_deterministic_time = effort.nodes / _NODES_PER_SECOND
    else:
        solver.parameters.max_time_in_seconds = effort.seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return start
    offsets = {
        buffer.name: solver.value(turn) * buffer.alignment
        for buffer, turn in zip(buffers, turns, strict=True)
    }
    proven = peak(buffers, offsets) if status == cp_model.OPTIMAL else 0
    return Offsets(offsets, "cp-sat", proven if proven > goal else 0)


def _model(
    cp_model: Any, buffers: Sequence[Buffer], start: Offsets, unit: int, goal: int
) -> tuple[Any, list[Any]]:
    """Rectangles of sections and units of bytes that do not overlap, below a peak that is to be low.

    Returns the model and, per buffer, the variable that times the alignment is the offset. The start is the
    hint.
    """
    model = cp_model.CpModel()
    high = peak(buffers, start) // unit
    top = model.new_int_var(min(round_up(goal, unit) // unit, high), high, "peak")
    times, places, turns = [], [], []
    for buffer, left, right in zip(buffers, *sections(buffers), strict=True):
        size, step = buffer.bytes // unit, buffer.alignment // unit
        turn = model.new_int_var(0, (high - size) // step, buffer.name)
        model.add_hint(turn, start[buffer.name] // buffer.alignment)
        model.add(turn * step + size <= top)
        times.append(model.new_fixed_size_interval_var(left, right - left, ""))
        places.append(model.new_fixed_size_interval_var(turn * step, size, ""))
        turns.append(turn)
    model.add_no_overlap_2d(times, places)
    model.minimize(top)
    return model, turns
