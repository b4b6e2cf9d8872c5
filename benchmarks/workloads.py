"""Workloads: how good the response-time analysis is, and how fast.

    python -m benchmarks.workloads [--sets N] [--seed S] [--tries N] [--processes N]

Random sets of tasks (`conformance.tasks`), each from a seed of its own: a third of them on any devices, one
with one or two devices for each task, and one with a device for each and DMA channels in common. How many
the analysis accepts, in how many of these the simulation makes a job late (none may be), how many the
simulation with worst times cannot break, and how many of those the analysis accepts. The last
row is the processor time to analyse 10 models on 6 instances, with 200 steps each. Exit code 1 where an
accepted set is broken.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random

from attrs import astuple, evolve, frozen

from conformance.tasks import (
    beyond,
    broken,
    late_with_less,
    random_steps,
    random_tasks,
    tasks_of_few,
    tasks_that_copy,
)
from target_arch.plan.workloads.tasks import TimedTask
from target_arch.stages.workloads.choice import chosen
from target_arch.stages.workloads.remedies import advised

KINDS: Mapping[str, Callable[[Random], list[TimedTask]]] = {
    "any devices": random_tasks,
    "few devices": tasks_of_few,
    "channels in common": tasks_that_copy,
}


@frozen
class Found:
    """What was found of some sets of one kind."""

    sets: int = 0
    accepted: int = 0
    together: int = 0
    """Accepted sets that would be too much in turn."""
    unbroken: int = 0
    both: int = 0
    """Accepted sets that the simulation does not break."""
    missed: tuple[int, ...] = ()
    """Seeds of accepted sets in which a job was late, or beyond its worst response."""

    def __add__(self, other: "Found") -> "Found":
        own, others = astuple(self, recurse=False), astuple(other, recurse=False)
        return Found(*(each + more for each, more in zip(own, others, strict=True)))


def main() -> int:
    """Exit code: 0 unless an accepted set is broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.workloads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", type=int, default=10_000, metavar="N", help="10,000 by default")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first set")
    parser.add_argument("--tries", type=int, default=6, metavar="N", help="random offsets of each set")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="that share the sets")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sets // len(KINDS))
    missed = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for kind in KINDS:
            parts = pool.map(partial(of_set, kind, options.tries), seeds, chunksize=8)
            found = sum(parts, Found())
            print("\n".join(lines(kind, found, options.tries)), flush=True)
            missed += len(found.missed)
    print(f"10 models of 200 steps on 6 instances: {_slowest() * 1e3:.0f} ms at most, with what would help")
    return 1 if missed else 0


def of_set(kind: str, tries: int, seed: int) -> Found:
    """Analyses and simulates the set of a seed."""
    random = Random(seed)
    tasks = KINDS[kind](random)
    answer = chosen(tasks)
    good = answer.schedulable
    bad = (beyond if good else broken)(tasks, answer, random, tries)
    missed = good and (bad or late_with_less(tasks, answer, random))
    return Found(
        sets=1,
        accepted=int(good),
        together=int(good and answer.load > 1),
        unbroken=int(not bad),
        both=int(good and not bad),
        missed=(seed,) if missed else (),
    )


def lines(kind: str, found: Found, tries: int) -> list[str]:
    """What is printed of the sets of a kind."""
    share = f"{found.both / found.unbroken:.1%}" if found.unbroken else "none"
    return [
        *(f"{kind}, seed {seed}: accepted, and a job is late or beyond its bound" for seed in found.missed),
        f"{kind}: {found.sets:,} sets, {found.accepted:,} accepted, "
        f"{len(found.missed)} of them late or beyond bounds",
        f"{found.together} of these would be too much in turn",
        f"{found.unbroken:,} not broken by {tries} random offsets and the worst phases; {share} accepted",
    ]


def _slowest() -> float:
    """The most seconds of processor time for one of 20 large sets."""
    most = 0.0
    for seed in range(20):
        random = Random(seed)
        tasks = [task for _ in range(10) for task in random_tasks(random)][:10]
        lines = [f"instance{number}" for number in range(6)]
        tasks = [
            evolve(
                task,
                steps=tuple(
                    step
                    for _ in range(20)
                    for step in random_steps(random, task.timing.period // 250, lines)
                    if not hasattr(step, "value")
                )[:200],
            )
            for task in tasks
        ]
        start = time.process_time()
        advised(tasks)
        most = max(most, time.process_time() - start)
    return most


if __name__ == "__main__":
    sys.exit(main())
