"""The search on abstract problems: bounds hold, nothing is worse than its peers, the exact method agrees."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.stages.placement.search.heft import heft, on_host, optimistic, peft
from target_arch.stages.placement.search.insertion import from_starts, to_ends
from target_arch.stages.placement.search.jobs import HERE, UNLIMITED, Datum, Jobs, Stay, Way
from target_arch.stages.placement.search.list_scheduler import JobSchedule, ListScheduler
from target_arch.stages.placement.search.local_search import improve
from target_arch.stages.placement.search.lower_bounds import busiest, critical_path, lower_bound
from target_arch.stages.placement.search.paths import Paths
from target_arch.stages.placement.search.portfolio import search


def jobs(count: int, seed: int, *, ratio: float = 1.0, channel: bool = False, members: int = 1) -> Jobs:
    """A random graph on three groups, the last of `members` machines; one copy channel or unlimited ones."""
    random = Random(seed)
    machines = tuple(range(2 + members))
    groups = ((0,), (1,), machines[2:])
    stays, data, needs = [], [], []
    for job in range(count):
        before = sorted(random.sample(range(job), min(job, random.randint(0, 2))))
        needs.append(tuple(range(len(data), len(data) + len(before))))
        stays.append(tuple(Stay(machines=group, time=random.randint(10, 100)) for group in groups))
        for producer in before:
            way = Way(landing=0, hops=((len(machines) if channel else UNLIMITED, round(55 * ratio)),))
            ways = tuple(
                tuple(HERE if a == b else Way(landing=b, hops=way.hops) for b in range(3)) for a in range(3)
            )
            data.append(Datum(name=f"d{len(data)}", producer=producer, ways=ways))
    return Jobs(
        names=tuple(f"j{number}" for number in range(count)),
        machines=tuple(f"m{number}" for number in machines),
        channels=(("dma", 1),) if channel else (),
        stays=tuple(stays),
        data=tuple(data),
        needs=tuple(needs),
    )


def check(problem: Jobs, found: JobSchedule) -> None:
    """No job before its data, no machine at two jobs."""
    for job, needed in enumerate(problem.needs):
        for number in needed:
            datum = problem.data[number]
            way = datum.ways[found.groups[datum.producer]][found.groups[job]]
            assert way is not None
            assert found.starts[job] >= found.ends[datum.producer] + way.time
    for machine in range(len(problem.machines)):
        mine = sorted((found.starts[j], found.ends[j]) for j, m in enumerate(found.machines) if m == machine)
        assert all(one[1] <= two[0] for one, two in pairwise(mine))
    assert found.makespan == max(found.ends, default=0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(0, 10**6),
    st.sampled_from((0.1, 1.0, 5.0)),
    st.booleans(),
    st.integers(1, 3),
)
def test_never_worse_than_its_peers_and_never_below_the_bound(
    count: int, seed: int, ratio: float, channel: bool, members: int
) -> None:
    problem = jobs(count, seed, ratio=ratio, channel=channel, members=members)
    scheduler = ListScheduler(problem)
    found = search(scheduler)
    assert found is not None
    check(problem, found.schedule)
    for peer in (heft(scheduler), peft(scheduler), on_host(scheduler)):
        assert peer is not None
        check(problem, peer)
        assert lower_bound(problem) <= found.schedule.makespan <= peer.makespan
    assert found.bound <= found.schedule.makespan


@pytest.mark.slow
def test_the_same_again() -> None:
    one, two = (search(ListScheduler(jobs(20, 3))) for _ in range(2))
    assert one is not None
    assert two is not None
    assert (one.schedule.groups, one.schedule.starts) == (two.schedule.groups, two.schedule.starts)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("channel", [False, True])
def test_the_exact_method_is_no_worse_and_close(seed: int, channel: bool) -> None:
    pytest.importorskip("ortools", reason="needs the extra `exact`: pip install 'target-arch[exact]'")
    scheduler = ListScheduler(jobs(10, seed, channel=channel, members=2))
    ours, exact = search(scheduler), search(scheduler, exact=True)
    assert ours is not None
    assert exact is not None
    check(scheduler.jobs, exact.schedule)
    assert exact.schedule.makespan <= ours.schedule.makespan
    assert ours.schedule.makespan <= (1.05 if channel else 1) * exact.schedule.makespan
    assert "exact method" in exact.method or "meets the bound" in exact.method


def test_a_limit_that_comes_first_is_said() -> None:
    pytest.importorskip("ortools", reason="needs the extra `exact`: pip install 'target-arch[exact]'")
    from target_arch.stages.placement.search.exact import solve

    scheduler = ListScheduler(jobs(30, 1, ratio=5.0))
    start = heft(scheduler)
    assert start is not None
    solved = solve(scheduler, start, lower_bound(scheduler.jobs), limit=0.001)
    assert not solved.proven
    assert solved.schedule.makespan <= start.makespan
    assert solved.bound <= solved.schedule.makespan


def test_what_no_order_of_copies_reaches_is_not_called_proven() -> None:
    """On one channel copies are made in the order of their users; the solver's need not be."""
    pytest.importorskip("ortools", reason="needs the extra `exact`: pip install 'target-arch[exact]'")
    found = search(ListScheduler(jobs(10, 0, channel=True)), exact=True)
    assert found is not None
    assert found.bound < found.schedule.makespan
    assert found.method.endswith(
        "not proven optimal in the search model, as its bound lets copies overtake each other"
    )


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python", None)
    from target_arch.stages.errors import SolverMissingError
    from target_arch.stages.placement.search.exact import solve

    scheduler = ListScheduler(jobs(5, 1))
    start = heft(scheduler)
    assert start is not None
    with pytest.raises(SolverMissingError) as caught:
        solve(scheduler, start, 0)
    assert str(caught.value) == (
        "exact: error: the exact method needs OR-tools, which is not installed [solver-missing]\n"
        "hint: pip install 'target-arch[exact]'"
    )


def test_machines_of_one_group_share_the_work() -> None:
    """Four equal jobs on a group of four machines end at the same time."""
    stay = Stay(machines=(0, 1, 2, 3), time=10)
    problem = Jobs(
        names=("a", "b", "c", "d"),
        machines=("m0", "m1", "m2", "m3"),
        channels=(),
        stays=((stay,),) * 4,
        data=(),
        needs=((),) * 4,
    )
    found = ListScheduler(problem).run(range(4), (0, 0, 0, 0))
    assert found is not None
    assert sorted(found.machines) == [0, 1, 2, 3]
    assert found.makespan == 10 == busiest(problem)


def test_a_copy_serves_all_who_are_there_and_early_data_waits_for_the_order() -> None:
    """Two users on one group share a copy; weights are brought when the job before was begun."""
    way = ((HERE, Way(landing=1, hops=((2, 30),))), (HERE, HERE))
    idle = Stay(machines=(), time=0)
    problem = Jobs(
        names=("weights", "a", "b", "c"),
        machines=("host", "dsp"),
        channels=(("dma", 1),),
        stays=(
            (idle, None),
            (Stay(machines=(0,), time=5), None),
            *((None, Stay(machines=(1,), time=7)),) * 2,
        ),
        data=(Datum(name="a", producer=1, ways=way), Datum(name="w", producer=0, ways=way)),
        needs=((), (), (0, 1), (0,)),
        early=0,
    )
    found = ListScheduler(problem).run(range(4), (0, 0, 1, 1))
    assert found is not None
    assert (found.starts[2], found.starts[3]) == (65, 35)


def test_optimistic_tails_and_the_critical_path() -> None:
    problem = jobs(6, 2)
    tails = optimistic(problem)
    assert all(tail >= 0 for row in tails for tail in row)
    starts = [
        tails[job][group] + stay.total
        for job, row in enumerate(problem.stays)
        for group, stay in enumerate(row)
        if stay is not None
    ]
    assert critical_path(problem) <= max(starts)


@pytest.mark.parametrize("members", [1, 3])
def test_paths_after_a_move_are_those_of_a_whole_pass(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A move changes the order behind one place and before another: what is kept of the rest is right."""
    checked = 0

    class Checked(Paths):
        def _measure(self, first: int, last: int) -> None:
            nonlocal checked
            super()._measure(first, last)
            where = (self._problem, self.order, self.groups, self.machines)
            assert self.ends == to_ends(*where)
            assert self.rests == from_starts(*where)
            for machine, row in enumerate(self.rows[:-1]):
                assert row == [job for job in self.order if self.machines[job] == machine]
            places = {job: place for place, job in enumerate(self.order)}
            pairs = [(other, job) for job, found in enumerate(self._problem.before) for other, _ in found]
            assert all(places[other] < places[job] for other, job in pairs)
            checked += 1

    monkeypatch.setattr("target_arch.stages.placement.search.tabu.Paths", Checked)
    scheduler = ListScheduler(jobs(24, 5, ratio=0.5, members=members))
    start = heft(scheduler)
    assert start is not None
    better = improve(scheduler, start, lower_bound(scheduler.jobs), 0.04)
    assert better.makespan < start.makespan
    check(scheduler.jobs, better)
    assert checked > 100
