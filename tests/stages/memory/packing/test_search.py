"""The anytime search: never worse than what it starts from, the same for a seed, aware of what it proved."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing import ALGORITHMS, cores, least, peak
from target_arch.stages.memory.packing.search import greedy, search
from tests.slow import slow_except
from tests.stages.memory.packing.instances import CAPACITY, buffer, buffers, is_valid, optimum, shared


@settings(max_examples=100, deadline=None)
@given(buffers(20))
def test_plans_are_valid_repeatable_and_no_worse_than_greedy(rows: list[Buffer]) -> None:
    effort = Effort(nodes=500, seed=3)
    plan = search(rows, effort=effort)
    assert is_valid(rows, plan)
    assert least(rows) <= peak(rows, plan) <= peak(rows, greedy(rows))
    again = search(rows, effort=effort)
    assert (plan, plan.found_by, plan.lower) == (again, again.found_by, again.lower)


@settings(max_examples=60, deadline=None)
@given(buffers(6, alignments=(1, 4, 16)))
@example([buffer(number, 1, 0, 0, 4) for number in range(5)] + [buffer(5, 4, 0, 0)])
def test_few_buffers_are_planned_at_the_optimum_and_it_is_known(rows: list[Buffer]) -> None:
    """The example needs more nodes than there are by default: its five equal buffers have 120 orders."""
    plan = search(rows, effort=Effort(nodes=200_000))
    assert peak(rows, plan) == optimum(rows)
    assert max(plan.lower, least(rows)) == peak(rows, plan)


def test_nothing_to_place() -> None:
    assert search([]) == {}
    assert all(ALGORITHMS[name]([]) == {} for name in ("best", "greedy", "search", "cp-sat"))


@pytest.mark.parametrize("name", slow_except(["J"], ["B", "F", "J", "K"], by_hand=["B"]))
def test_instances_of_the_minimalloc_paper(name: str) -> None:
    """Those that need few nodes; all of them are in `benchmarks/memory_plans.py`."""
    rows = shared(name)
    assert peak(rows, greedy(rows)) > CAPACITY
    plan = search(rows, effort=Effort(goal=CAPACITY))
    assert is_valid(rows, plan)
    assert peak(rows, plan) <= CAPACITY


@pytest.mark.slow
def test_the_instance_that_needs_what_failures_teach() -> None:
    """Without it, no order comes within 2 % of the capacity in twenty times as many nodes."""
    if cores.compiled() is None:
        pytest.skip('needs numba: pip install "target-arch[search]"')
    rows = shared("I")
    plan = search(rows, effort=Effort(nodes=150_000, goal=CAPACITY))
    assert is_valid(rows, plan)
    assert peak(rows, plan) <= CAPACITY


def test_without_numba_the_plan_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, effort = shared("C"), Effort(nodes=5_000)
    plan = search(rows, effort=effort)
    monkeypatch.setattr(cores, "compiled", lambda: None)
    slow = search(rows, effort=effort)
    assert (slow, slow.found_by) == (plan, plan.found_by)
    assert slow.core == "interpreted"


def test_every_part_of_time_gets_its_share() -> None:
    """Twice the same buffers, a gap between: both parts come down to the optimum."""
    sizes = ((4, 0, 1), (3, 0, 3), (4, 1, 4), (3, 2, 5), (4, 4, 5), (2, 5, 6), (5, 3, 3), (3, 2, 2))
    one = [buffer(number, *row, 4) for number, row in enumerate(sizes)]
    two = [buffer(50 + number, size, 20 + a, 20 + b, 4) for number, (size, a, b) in enumerate(sizes)]
    assert peak(one + two, search(one + two)) == peak(one, search(one))


def test_seconds_end_a_search() -> None:
    rows = shared("A")
    plan = search(rows, effort=Effort(seconds=0.2))
    assert is_valid(rows, plan)


def test_the_normal_way_loads_no_solver() -> None:
    """numba and OR-tools cost seconds to load."""
    code = (
        "import sys\n"
        "from target_arch.plan.memory import Buffer\n"
        "from target_arch.stages.memory.allocate import allocate\n"
        "rows = [Buffer(name=str(n), kind='activation', memory='m', bytes=7 * n + 5, alignment=4,\n"
        "               first=n // 2, last=n // 2 + n % 5) for n in range(40)]\n"
        "allocate(rows, {'m': 10**6}); print(sorted({'numba', 'ortools'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
