"""The search for the least energy in time, against all placements of small problems."""

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.stages.placement.search.energy import EnergyProblem, energy_bound, for_energy, metered
from target_arch.stages.placement.search.found import Reached
from target_arch.stages.placement.search.jobs import HERE, Datum, Jobs, Stay, Way
from target_arch.stages.placement.search.list_scheduler import ListScheduler
from target_arch.stages.placement.search.portfolio import search


def random_jobs(seed: int) -> tuple[Jobs, tuple[tuple[int | None, ...], ...]]:
    """Up to six jobs on two machines, each after one or two before it, and their energies."""
    random = Random(seed)
    count = random.randint(2, 6)
    way = Way(landing=0, hops=((2, random.randint(0, 20)),))
    ways = ((HERE, way), (way, HERE))
    stays = tuple(
        tuple(Stay(machines=(group,), time=random.randint(1, 60)) for group in range(2)) for _ in range(count)
    )
    data = tuple(Datum(name=f"t{job}", producer=job, ways=ways) for job in range(count))
    needs = tuple(
        tuple(sorted({random.randrange(job) for _ in range(random.randint(1, 2))})) if job else ()
        for job in range(count)
    )
    jobs = Jobs(
        names=tuple(f"j{job}" for job in range(count)),
        machines=("host", "dsp"),
        channels=(("dma", 1),),
        stays=stays,
        data=data,
        needs=needs,
    )
    return jobs, tuple(tuple(random.randint(0, 90) for _ in range(2)) for _ in range(count))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 100))
def test_the_least_energy_in_time_is_found_and_not_below_the_bound(seed: int, percent: int) -> None:
    jobs, energies = random_jobs(seed)
    scheduler = ListScheduler(jobs)
    start = search(scheduler)
    assert start is not None
    every = [
        schedule
        for groups in product(range(2), repeat=len(jobs.names))
        if (schedule := scheduler.run(start.schedule.by_start(), groups)) is not None
    ]
    slowest = max(schedule.makespan for schedule in every)
    limit = start.schedule.makespan + (slowest - start.schedule.makespan) * percent // 100
    problem = EnergyProblem(jobs=jobs, energies=energies, limit=limit)
    best = min(problem.energy(one.groups) for one in every if one.makespan <= limit)
    found = for_energy(scheduler, problem, start, limit)
    assert found.schedule.makespan <= limit
    assert found.reached is not None
    assert found.reached.value == best == problem.energy(found.schedule.groups)
    assert found.reached.bound <= best
    assert energy_bound(problem, limit) <= best


def test_without_a_limit_every_job_takes_its_least_energy() -> None:
    jobs, energies = random_jobs(5)
    scheduler = ListScheduler(jobs)
    start = search(scheduler)
    assert start is not None
    found = for_energy(scheduler, EnergyProblem(jobs=jobs, energies=energies), start, None)
    least = sum(min(energy for energy in row if energy is not None) for row in energies)
    assert found.reached == Reached(value=least, bound=least)


def test_a_group_that_states_no_energy_is_no_place_beside_one_that_does() -> None:
    stay = Stay(machines=(0,), time=1)
    jobs = Jobs(
        names=("a", "b"),
        machines=("host",),
        channels=(),
        stays=((stay, stay), (stay, stay)),
        data=(),
        needs=((), ()),
    )
    assert metered(jobs, [[7, None], [None, None]]) == ((7, None), (0, 0))
