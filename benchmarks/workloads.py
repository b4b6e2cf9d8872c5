"""Workloads: how good the response-time analysis is, and how fast.

    python -m benchmarks.workloads [--sets N] [--seed S] [--tries N]

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
from random import Random

from attrs import evolve

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
    options = parser.parse_args()
    missed = 0
    for kind, random_set in KINDS.items():
        seeds = range(options.seed, options.seed + options.sets // len(KINDS))
        missed += _compared(kind, random_set, seeds, options.tries)
    print(f"10 models of 200 steps on 6 instances: {_slowest() * 1e3:.0f} ms at most, with what would help")
    return 1 if missed else 0


def _compared(kind: str, random_set: Callable[[Random], list[TimedTask]], seeds: range, tries: int) -> int:
    """The number of accepted sets in which a job was late, or beyond its worst response."""
    accepted = unbroken = both = missed = together = 0
    for seed in seeds:
        random = Random(seed)
        tasks = random_set(random)
        answer = chosen(tasks)
        good = answer.schedulable
        bad = (beyond if good else broken)(tasks, answer, random, tries)
        accepted += good
        unbroken += not bad
        both += good and not bad
        together += good and answer.load > 1
        if good and (bad or late_with_less(tasks, answer, random)):
            print(f"{kind}, seed {seed}: accepted, and a job is late or beyond its bound", flush=True)
            missed += 1
    print(f"{kind}: {len(seeds):,} sets, {accepted:,} accepted, {missed} of them late or beyond bounds")
    print(f"{together} of these would be too much in turn")
    share = f"{both / unbroken:.1%}" if unbroken else "none"
    print(
        f"{unbroken:,} not broken by {tries} random offsets and the worst phases; {share} accepted",
        flush=True,
    )
    return missed


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
