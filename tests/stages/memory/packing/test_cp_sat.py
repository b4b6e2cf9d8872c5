"""CP-SAT as an algorithm like the others."""

import sys

import pytest
from hypothesis import given, settings

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Buffer
from target_arch.stages.errors import PlanError
from target_arch.stages.memory.packing import least, peak
from target_arch.stages.memory.packing.cp_sat import cp_sat
from tests.stages.memory.packing.instances import buffer, buffers, is_valid, optimum

TIGHT = [
    buffer(number, size, first, last, 4)
    for number, (size, first, last) in enumerate(
        ((4, 0, 1), (3, 0, 3), (4, 1, 4), (3, 2, 5), (4, 4, 5), (2, 5, 6), (5, 3, 3), (3, 2, 2))
    )
]


@settings(max_examples=25, deadline=None)
@given(buffers(6))
def test_few_buffers_are_planned_at_the_optimum_and_it_is_known(rows: list[Buffer]) -> None:
    pytest.importorskip("ortools", reason='needs OR-tools: pip install "target-arch[search]"')
    plan = cp_sat(rows)
    assert is_valid(rows, plan)
    assert peak(rows, plan) == optimum(rows) == max(plan.lower, least(rows))


def test_it_is_deterministic_and_stops_at_its_limit() -> None:
    pytest.importorskip("ortools", reason='needs OR-tools: pip install "target-arch[search]"')
    effort = Effort(nodes=100)
    assert cp_sat(TIGHT, effort=effort) == cp_sat(TIGHT, effort=effort)


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(PlanError) as caught:
        cp_sat(TIGHT)
    assert str(caught.value) == (
        "memory plan: error: the algorithm `cp-sat` needs OR-tools, which is not installed [missing-solver]\n"
        'hint: pip install "target-arch[search]"'
    )
