"""The search for the least busy resource, against all assignments of small problems."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.stages.placement.search import balance
from target_arch.stages.placement.search.assignment import AssignmentProblem, assignment_problem
from target_arch.stages.placement.search.balance import Balance, balanced
from target_arch.stages.placement.search.balance_bound import period_bound
from target_arch.stages.placement.search.balance_exact import balance_exactly
from target_arch.stages.placement.search.jobs import HERE, Datum, Jobs, Stay, Way
from target_arch.stages.placement.search.segments import in_segments
from tests.stages.placement.search.assignments import best_period, random_problem

SEEDS = st.integers(0, 10**6)


def first(problem: AssignmentProblem) -> tuple[int, ...]:
    """Every job on machine 0, which is always possible."""
    return (0,) * len(problem.spots)


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_the_search_finds_the_optimum_of_small_problems(seed: int) -> None:
    problem = random_problem(seed)
    best = best_period(problem)
    choice = balanced(problem, [first(problem), in_segments(problem, first(problem))], 0)
    assert best is not None
    assert choice is not None
    work = problem.work(choice)
    assert work is not None
    assert problem.fits(work)
    assert problem.period(work) == best


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_assignment_is_below_the_bound(seed: int) -> None:
    problem = random_problem(seed)
    best = best_period(problem)
    assert best is not None
    assert 0 <= period_bound(problem) <= best


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_the_exact_method_proves_the_optimum(seed: int) -> None:
    pytest.importorskip("ortools", reason="the exact method needs the extra `exact`")
    problem = random_problem(seed)
    solved = balance_exactly(problem, first(problem), 0)
    work = problem.work(solved.choice)
    assert work is not None
    assert problem.period(work) == solved.bound == best_period(problem)
    assert solved.proven


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=12))
def test_what_is_to_do_after_moves_is_what_it_is_from_scratch(
    seed: int, moves: list[tuple[int, int]]
) -> None:
    problem = random_problem(seed)
    moved = Balance(problem, first(problem))
    for job, spot in moves:
        if job < len(problem.spots):
            moved.move([(job, spot % len(problem.spots[job]))])
    assert moved.work == problem.work(moved.choice)


def test_a_copy_is_made_once_for_all_that_need_it_where_it_lands() -> None:
    away = Way(landing=1, hops=((2, 40),))
    ways = ((HERE, away), (None, HERE))
    jobs = Jobs(
        names=("a", "b", "c"),
        machines=("host", "dsp"),
        channels=(("dma", 2),),
        stays=(
            (Stay(machines=(0,), time=10), None),
            (None, Stay(machines=(1,), time=20)),
            (None, Stay(machines=(1,), time=30, before=((2, 8),))),
        ),
        data=(Datum(name="t", producer=0, ways=ways),),
        needs=((), (0,), (0,)),
    )
    problem = assignment_problem(jobs)
    work = problem.work((0, 0, 0))
    assert work == [10, 50, 48]
    assert problem.period(work) == 50
    assert problem.busiest(work) == 1
    assert period_bound(problem) == 50


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_moves_of_many_assignments_are_near_the_optimum_and_never_worse_than_a_start(seed: int) -> None:
    problem = random_problem(seed)
    best = best_period(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balance, "FEW", 0)
        choice = balanced(problem, [first(problem)], 0)
    work, before = problem.work(choice or ()), problem.work(first(problem))
    assert best is not None
    assert work is not None
    assert before is not None
    assert best <= problem.period(work) <= problem.period(before)
