"""How good placement is: `python -m benchmarks.placement [--sizes 25,50] [--seeds 7,8] [--model FILE]`.

Layered, random and series-parallel graphs, the block of a residual network repeated, and a real model
repeated, on three unlike processors, at several ratios of communication to computation. Makespans are over
the best that is known: what CP-SAT found, starting from ours (the extra `exact`; not with `--limit 0`), or
what far longer searches found before, which `placement_known.json` keeps for 25 and 50 nodes of seeds 1001
and 2001. `proven` counts where CP-SAT proved the best, and the gap is what remains to the bound.
The search was tuned on other seeds than these, but for the share of jobs that a move looks at.

How long placement takes on up to 100,000 operators is in `conformance/scale.py`.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean

from attrs import frozen

from conformance import graphs
from target_arch.stages.placement.search.exact import solve
from target_arch.stages.placement.search.heft import heft, on_host, peft
from target_arch.stages.placement.search.jobs import HERE, UNLIMITED, Datum, Jobs, Stay, Way
from target_arch.stages.placement.search.list_scheduler import ListScheduler
from target_arch.stages.placement.search.portfolio import search

Graph = list[list[int]]
"""For every node the nodes before it."""

Maker = Callable[[int, Random], Graph]
"""A graph of so many nodes."""

PROCESSORS = 3


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


FAMILIES: dict[str, Maker] = {
    "layered": layered,
    "random": random_graph,
    "series-parallel": series_parallel,
    "residual": residual,
}


def jobs(graph: Graph, ratio: float, random: Random, channels: int = 0) -> Jobs:
    """The graph on unlike processors; an edge between two costs 0.5 to 1.5 times `ratio` of a mean node.

    So many copies at a time fit over `channels`; 0 is no limit.
    """
    pico, average = 10**6, 55
    carrier = PROCESSORS if channels else UNLIMITED
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
                    HERE if one == two else Way(landing=two, hops=((carrier, takes),))
                    for two in range(PROCESSORS)
                )
                for one in range(PROCESSORS)
            )
            data.append(Datum(name=f"d{len(data)}", producer=node, ways=ways))
    return Jobs(
        names=tuple(f"n{number}" for number in range(len(graph))),
        machines=tuple(f"p{number}" for number in range(PROCESSORS)),
        channels=(("dma", channels),) if channels else (),
        stays=tuple(stays),
        data=tuple(data),
        needs=tuple(needs),
    )


def of_model(file: Path) -> Maker:
    """The operators of a real model, one copy of it after the other."""
    from target_arch.relax.importer import import_model

    block = import_model(file, None, ())[0]

    def make(count: int, _random: Random) -> Graph:
        model = graphs.repeated(block, count)
        made = {op.output: number for number, op in enumerate(model.operators)}
        return [sorted({made[name] for name in op.inputs if name in made}) for op in model.operators]

    return make


@cache
def known() -> dict[str, int]:
    """The least makespans that longer searches met, in picoseconds, by family, nodes, ratio and seed."""
    found: dict[str, int] = json.loads(Path(__file__).with_name("placement_known.json").read_text())
    return found


@frozen(kw_only=True)
class Row:
    """One graph: makespans over the best known one, by method; the best over its bound; CPU seconds."""

    over: dict[str, float]
    gap: float
    proven: bool
    seconds: float


def measured(name: str, make: Maker, size: int, ratio: float, seed: int, limit: float, channels: int) -> Row:
    """The graph of a seed, placed by every method."""
    random = Random(f"{name} {size} {ratio} {seed}")
    scheduler = ListScheduler(jobs(make(size, random), ratio, random, channels))
    begin = time.process_time()
    ours = search(scheduler)
    seconds = time.process_time() - begin
    assert ours is not None
    least, bound, proven = ours.schedule.makespan, ours.bound, False
    if limit:
        exact = solve(scheduler, ours.schedule, ours.bound, limit)
        least, bound, proven = exact.schedule.makespan, exact.bound, exact.proven
    best = min(least, known().get(f"{name} {size} {ratio} {seed}", least)) if not channels else least
    peers = {"ours": ours.schedule, "HEFT": heft(scheduler), "PEFT": peft(scheduler)}
    peers["one processor"] = on_host(scheduler)
    over = {peer: found.makespan / best for peer, found in peers.items() if found is not None}
    assert all(value >= over["ours"] for value in over.values())
    return Row(over=over, gap=best / bound, proven=proven, seconds=seconds)


def line(size: int, ratio: float, rows: list[Row]) -> str:
    """Mean and worst of the rows of one size and ratio."""
    cells = []
    for method in ("ours", "HEFT", "PEFT", "one processor"):
        values = [row.over[method] for row in rows]
        cells.append(f"{mean(values):.3f} ({max(values):.3f})".ljust(13))
    close = f"{sum(row.over['ours'] <= 1.02 for row in rows)}/{len(rows)}"
    proven = f"{sum(row.proven for row in rows)}/{len(rows)} ({max(row.gap for row in rows):.3f})"
    seconds = f"{mean(row.seconds for row in rows):.1f} s"
    return f"{size:5}  {ratio:5}  {'  '.join(cells)}  {close:10}  {proven:13}  {seconds}"


def main() -> None:
    """Print one line per size and ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="12,25,50", help="nodes, separated by commas")
    parser.add_argument("--ratios", default="0.1,0.5,1,2,5", help="communication to computation")
    parser.add_argument("--seeds", default="1001,1002", help="of the random graphs and costs")
    parser.add_argument("--families", default=",".join(FAMILIES), help="which graphs")
    parser.add_argument(
        "--limit", type=float, default=5.0, help="CP-SAT's deterministic seconds a graph, 0: none"
    )
    parser.add_argument("--channels", type=int, default=0, help="copies at a time, 0: as many as there are")
    parser.add_argument("--model", type=Path, help="a model file to repeat, too")
    options = parser.parse_args()
    families = {name: FAMILIES[name] for name in options.families.split(",")}
    if options.model:
        families[f"{options.model.stem} repeated"] = of_model(options.model)
    print(f"{', '.join(families)}; seeds {options.seeds}; makespan over the best known, mean (worst)")
    heads = ("ours", "HEFT", "PEFT", "one processor")
    columns = "  ".join(head.ljust(13) for head in heads)
    print(f"nodes  ratio  {columns}  within 2 %  proven (gap)   CPU")
    for size in map(int, options.sizes.split(",")):
        for ratio in map(float, options.ratios.split(",")):
            rows = [
                measured(name, make, size, ratio, int(seed), options.limit, options.channels)
                for name, make in families.items()
                for seed in options.seeds.split(",")
            ]
            print(line(size, ratio, rows), flush=True)


if __name__ == "__main__":
    main()
