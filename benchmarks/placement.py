"""How good and how fast placement is: `python benchmarks/placement.py`.

Random, layered and series-parallel graphs on three unlike processors, and the block of a real network
repeated, at several ratios of communication to computation; makespans over the best that CP-SAT found (the
extra `exact`), for ours, HEFT, PEFT and all on one processor. Where the solver ran into its limit, the best
known schedule stands for the optimum; `proven` counts the others.

How long placement takes on up to 100,000 operators is in `benchmarks/scale.py`.
"""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from statistics import mean

from target_arch.stages.exact import solve
from target_arch.stages.heft import heft, on_host, peft
from target_arch.stages.jobs import HERE, UNLIMITED, Datum, Jobs, Stay, Way
from target_arch.stages.schedule import Scheduler
from target_arch.stages.search import search

Graph = list[list[int]]
"""For every node the nodes before it."""

RATIOS = (0.1, 0.5, 1.0, 5.0)
SIZES = (12, 25, 50)
SEEDS = 2
PROCESSORS = 3
LIMIT = 60.0
"""CP-SAT's deterministic seconds for one graph."""


def layered(count: int, random: Random) -> Graph:
    """Layers as wide as deep; each node reads one to three of the layer before."""
    width = max(2, min(32, int(count**0.5)))
    layers = [range(start, min(start + width, count)) for start in range(0, count, width)]
    found: Graph = [[] for _ in layers[0]]
    for before, layer in pairwise(layers):
        found += [sorted(random.sample(before, random.randint(1, min(3, len(before))))) for _ in layer]
    return found


def random_graph(count: int, random: Random) -> Graph:
    """Each node reads one to three of the twelve before it."""
    found: Graph = [[]]
    for node in range(1, count):
        near = range(max(0, node - 12), node)
        found.append(sorted(random.sample(near, min(len(near), random.randint(1, 3)))))
    return found


def series_parallel(count: int, random: Random) -> Graph:
    """Forks of two to four branches of one to three nodes, joined again, one after the other."""
    found: Graph = [[]]
    while len(found) < count:
        fork, ends = len(found) - 1, []
        for _ in range(random.randint(2, 4)):
            last = fork
            for _ in range(random.randint(1, 3)):
                found.append([last])
                last = len(found) - 1
            ends.append(last)
        found.append(ends)
    return found[:count]


def residual(count: int, random: Random) -> Graph:
    """The block of ResNet repeated: two convolutions and a shortcut into an addition."""
    found: Graph = [[]]
    while len(found) < count:
        start = len(found) - 1
        first = len(found)
        found += [[start], [first], [start], [first + 1, first + 2]]
    return found[:count]


FAMILIES: dict[str, Callable[[int, Random], Graph]] = {
    "layered": layered,
    "random": random_graph,
    "series-parallel": series_parallel,
    "residual": residual,
}


def jobs(graph: Graph, ratio: float, random: Random) -> Jobs:
    """The graph on unlike processors; an edge between two costs 0.5 to 1.5 times `ratio` of a mean node."""
    pico, average = 10**6, 55
    stays, data, needs = [], [], []
    for before in graph:
        base = random.uniform(10, 100)
        stays.append(
            tuple(
                Stay(machines=(number,), time=round(base * random.uniform(0.5, 1.5) * pico))
                for number in range(PROCESSORS)
            )
        )
        needs.append(tuple(range(len(data), len(data) + len(before))))
        for node in before:
            takes = round(average * ratio * random.uniform(0.5, 1.5) * pico)
            ways = tuple(
                tuple(
                    HERE if one == two else Way(landing=two, hops=((UNLIMITED, takes),))
                    for two in range(PROCESSORS)
                )
                for one in range(PROCESSORS)
            )
            data.append(Datum(name=f"d{len(data)}", producer=node, ways=ways))
    return Jobs(
        names=tuple(f"n{number}" for number in range(len(graph))),
        machines=tuple(f"p{number}" for number in range(PROCESSORS)),
        channels=(),
        stays=tuple(stays),
        data=tuple(data),
        needs=tuple(needs),
    )


def ratios(size: int, ratio: float) -> Iterator[tuple[dict[str, float], bool, float]]:
    """For every graph the makespans over the best known, whether that is proven, and our CPU seconds."""
    for family, make in FAMILIES.items():
        for seed in range(SEEDS):
            random = Random(f"{family} {size} {ratio} {seed}")
            problem = jobs(make(size, random), ratio, random)
            scheduler = Scheduler(problem)
            begin = time.process_time()
            ours = search(scheduler)
            seconds = time.process_time() - begin
            peers = {"HEFT": heft(scheduler), "PEFT": peft(scheduler), "one processor": on_host(scheduler)}
            assert ours is not None
            exact = solve(scheduler, ours.schedule, ours.bound, LIMIT)
            best = exact.schedule.makespan
            found = {name: peer.makespan / best for name, peer in peers.items() if peer is not None}
            yield {"ours": ours.schedule.makespan / best, **found}, exact.proven, seconds


def quality() -> None:
    """Print one line per size and ratio."""
    print("makespan over the best known, mean (worst)")
    print("nodes  ratio  ours           HEFT           PEFT           one processor  proven  seconds")
    for size in SIZES:
        for ratio in RATIOS:
            rows = list(ratios(size, ratio))
            cells = [
                f"{mean(row[name] for row, _, _ in rows):.3f} ({max(row[name] for row, _, _ in rows):.3f})"
                for name in ("ours", "HEFT", "PEFT", "one processor")
            ]
            proven = f"{sum(proven for _, proven, _ in rows)}/{len(rows)}"
            seconds = mean(seconds for _, _, seconds in rows)
            columns = "  ".join(cell.ljust(13) for cell in cells)
            print(f"{size:5}  {ratio:5}  {columns}  {proven:6}  {seconds:.2f}", flush=True)


if __name__ == "__main__":
    quality()
