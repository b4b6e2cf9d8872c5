"""Workloads: how good the response-time analysis is, and how fast.

    python -m benchmarks.workloads [--sets N] [--seed S] [--tries N]

Random sets of tasks (`conformance.tasks`), each from a seed of its own: how many the analysis accepts, in how
many of these the simulation makes a job late (none may be), how many the simulation with worst times cannot
break, and how many of those the analysis accepts. The last row is the time to analyse 10 models on 6
instances, with 200 steps each. Exit code 1 where an accepted set is broken.
"""

import argparse
import sys
import time
from random import Random

from attrs import evolve

from conformance.tasks import broken, late_with_less, random_steps, random_tasks
from target_arch.stages.workloads.remedies import advised
from target_arch.stages.workloads.response import analysis


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
    accepted = unbroken = both = missed = 0
    for seed in range(options.seed, options.seed + options.sets):
        random = Random(seed)
        tasks = random_tasks(random)
        good = analysis(tasks).schedulable
        bad = broken(tasks, random, options.tries)
        accepted += good
        unbroken += not bad
        both += good and not bad
        if good and (bad or late_with_less(tasks, random)):
            print(f"seed {seed}: accepted, and a job is late", flush=True)
            missed += 1
    print(f"{options.sets:,} sets from seed {options.seed}: {accepted:,} accepted, {missed} of them late")
    share = f"{both / unbroken:.1%}" if unbroken else "none"
    print(f"{unbroken:,} not broken by {options.tries} random offsets and the worst phases; {share} accepted")
    print(f"10 models of 200 steps on 6 instances: {_slowest() * 1e3:.0f} ms at most, with what would help")
    return 1 if missed else 0


def _slowest() -> float:
    """The most seconds for one of 20 large sets."""
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
        start = time.perf_counter()
        advised(tasks)
        most = max(most, time.perf_counter() - start)
    return most


if __name__ == "__main__":
    sys.exit(main())
