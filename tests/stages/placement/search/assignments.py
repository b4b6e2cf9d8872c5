"""Small random assignment problems, and the best of all their assignments."""

from itertools import product
from random import Random

from target_arch.stages.placement.search.assignment import AssignmentProblem, Flow, Spot, Spread, Work


def random_problem(seed: int) -> AssignmentProblem:
    """Up to seven jobs on up to four machines, with shared copies, a channel, missing ways, and a room."""
    random = Random(seed)
    machines, jobs = random.randint(2, 4), random.randint(3, 7)
    channel, room = machines, machines + 1
    spots = [
        tuple(_spot(random, m, room) for m in range(machines) if m == 0 or random.random() < 0.8)
        for _ in range(jobs)
    ]
    flows = tuple(
        Flow(producer=producer, users=users, spread=_spread(random, machines, channel))
        for producer in range(jobs - 1)
        if (users := tuple(u for u in range(producer + 1, jobs) if random.random() < 0.5))
    )
    most = {room: random.randint(4, 20)} if random.random() < 0.5 else {room: 10**6}
    return AssignmentProblem(
        spots=tuple(spots), flows=flows, widths=(*([1] * machines), random.randint(1, 3), 1), most=most
    )


def best_period(problem: AssignmentProblem) -> int | None:
    """The least period of all assignments; None where none is possible."""
    periods = (
        problem.period(work)
        for choice in product(*(range(len(spots)) for spots in problem.spots))
        if (work := problem.work(choice)) is not None and problem.fits(work)
    )
    return min(periods, default=None)


def _spot(random: Random, machine: int, room: int) -> Spot:
    work = [(machine, random.randint(0, 50))]
    if machine == 1:
        work.append((room, random.randint(0, 6)))
    return Spot(group=machine, machine=machine, work=tuple(work))


def _spread(random: Random, machines: int, channel: int) -> Spread:
    """Copies between machines, one for each that data leaves and one for each where it lands."""
    work: list[Work] = [
        ((random.choice((machine % machines, channel)), random.randint(0, 30)),)
        for machine in range(2 * machines)
    ]
    rows = tuple(
        tuple(
            () if source == target else _pair(random, source, machines + target) for target in range(machines)
        )
        for source in range(machines)
    )
    return Spread(copies=rows, work=tuple(work))


def _pair(random: Random, leaving: int, landing: int) -> tuple[int, ...] | None:
    return None if random.random() < 0.1 and leaving else (leaving, landing)
