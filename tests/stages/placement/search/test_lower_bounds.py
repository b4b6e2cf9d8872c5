"""No schedule is below the bound: every order and every choice of groups of small problems is scheduled."""

from collections.abc import Iterator
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.stages.placement.search.jobs import HERE, Datum, Hop, Jobs, Stay, Way, Ways
from target_arch.stages.placement.search.list_scheduler import ListScheduler
from target_arch.stages.placement.search.lower_bounds import lower_bound

INSIDE = 2
"""Groups that compute, a machine each; the third is where constants are."""
FIRST_CHANNEL = 2


def ways(random: Random, *, early: bool) -> Ways:
    """Copies between groups, of one or two hops over the channels or the host."""

    def hop() -> Hop:
        return random.choice((0, FIRST_CHANNEL, FIRST_CHANNEL + 1)), random.randint(1, 40)

    def way(group: int) -> Way:
        return Way(landing=group, hops=tuple(hop() for _ in range(random.randint(1, 2))))

    inside = range(INSIDE)
    rows = [tuple(HERE if a == b else way(b) for b in inside) for a in inside]
    source = tuple(way(b) for b in inside)
    nothing: tuple[Way | None, ...] = (None,) * INSIDE
    table = [(nothing, nothing, source) if early else (*rows, nothing)]
    return tuple((*row, None) for row in table[0])


def problem(seed: int) -> Jobs:
    """Constants (job 0) and four jobs, each with up to two results of others and often with constants of its
    own or shared ones.
    """
    random = Random(seed)
    idle = Stay(machines=(), time=0)
    data = [Datum(name="shared", producer=0, ways=ways(random, early=True))]
    needs: list[tuple[int, ...]] = [()]
    results: list[int] = []
    for job in range(1, 5):
        needed = random.sample(results, min(len(results), random.randint(0, 2)))
        if random.random() < 0.7:
            data.append(Datum(name=f"c{job}", producer=0, ways=ways(random, early=True)))
            needed.append(len(data) - 1)
        elif random.random() < 0.5:
            needed.append(0)
        needs.append(tuple(needed))
        data.append(Datum(name=f"r{job}", producer=job, ways=ways(random, early=False)))
        results.append(len(data) - 1)
    stays = [
        (*(Stay(machines=(group,), time=random.randint(1, 60)) for group in range(INSIDE)), None)
        for _ in range(4)
    ]
    return Jobs(
        names=("constants", "a", "b", "c", "d"),
        machines=("host", "engine"),
        channels=(("one", 1), ("two", random.randint(1, 2))),
        stays=((None, None, idle), *stays),
        data=tuple(data),
        needs=tuple(needs),
        host=0,
        early=0,
    )


def orders(jobs: Jobs, done: tuple[int, ...] = (0,)) -> Iterator[tuple[int, ...]]:
    """Every topological order."""
    if len(done) == len(jobs.names):
        yield done
    for job in range(1, len(jobs.names)):
        if job not in done and all(jobs.data[datum].producer in done for datum in jobs.needs[job]):
            yield from orders(jobs, (*done, job))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9))
def test_no_schedule_is_below_the_bound(seed: int) -> None:
    jobs = problem(seed)
    scheduler, bound = ListScheduler(jobs), lower_bound(jobs)
    for order in orders(jobs):
        for groups in product(range(INSIDE), repeat=4):
            schedule = scheduler.run(order, (INSIDE, *groups))
            assert schedule is not None
            assert bound <= schedule.makespan


def test_constants_wait_for_data_on_their_channel() -> None:
    """A chain: the constants of the second job come after the first one's result, over the one lane."""
    one_lane = Way(landing=1, hops=((FIRST_CHANNEL, 30),))
    constants: Ways = ((None,) * 3, (None,) * 3, (None, one_lane, None))
    result: Ways = ((HERE, one_lane, None), (None, HERE, None), (None,) * 3)
    stay = Stay(machines=(0,), time=100), Stay(machines=(1,), time=50)

    def jobs(lanes: int) -> Jobs:
        return Jobs(
            names=("constants", "a", "b"),
            machines=("host", "engine"),
            channels=(("dma", lanes),),
            stays=((None, None, Stay(machines=(), time=0)), (stay[0], None, None), (None, stay[1], None)),
            data=(Datum(name="c", producer=0, ways=constants), Datum(name="r", producer=1, ways=result)),
            needs=((), (), (1, 0)),
            host=0,
            early=0,
        )

    for lanes, expected in ((1, 100 + 30 + 30 + 50), (2, 100 + 30 + 50)):
        schedule = ListScheduler(jobs(lanes)).run((0, 1, 2), (2, 0, 1))
        assert schedule is not None
        assert lower_bound(jobs(lanes)) == schedule.makespan == expected
