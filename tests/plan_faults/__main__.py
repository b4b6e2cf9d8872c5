"""Does the checker find every fault in a plan that makes it compute something else?

    python -m tests.plan_faults [--of SUBJECT] [--plans N] [--seed S] [--start P] [--each K]

Plants K faults, of every kind in turn, into each of N random right plans from number P on. These are steps
(by default): of small graphs with tiles, states, reshapes and concatenations, and of random models compiled
for random chips; residents: of small graphs whose constants stay where `init` has copied them; frames: tables
of frames in flight; division: random networks whose operators are in slices; models: two or three graphs on
one chip, in turn, side by side or as tasks whose jobs come between the steps of others; tables: slots of
time-triggered workloads.

The checker finds a fault, or the steps are executed on memories of bytes with several timings, a table for
frames with and without gaps, a divided model by the oracle, several models in memories of all, and slots by a
clock; what is left is compared with that of the right plan: the fault is harmless, or accepted and wrong.
Prints how many of each kind became what, and each that was accepted and wrong or ended in an exception. Exit
code 1 where there was one.
"""

import argparse
import sys
import time
from collections import Counter

from tests.plan_faults.campaign import SUBJECTS, Verdict, planted


def main() -> int:
    """Exit code: 0 where nothing wrong was accepted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.plan_faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--of", choices=SUBJECTS, default="steps", help="what faults are planted into")
    parser.add_argument("--plans", type=int, default=100, metavar="N", help="how many right plans")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the faults")
    parser.add_argument("--start", type=int, default=0, metavar="P", help="the number of the first plan")
    parser.add_argument("--each", type=int, default=100, metavar="K", help="faults to try in each plan")
    options = parser.parse_args()
    total: Counter[tuple[str, Verdict]] = Counter()
    kinds: dict[str, None] = {}
    wrong, start, refused = 0, time.monotonic(), 0
    for number in range(options.start, options.start + options.plans):
        subject = SUBJECTS[options.of](number)
        if subject is None:
            refused += 1
            continue
        kinds |= dict.fromkeys(subject.kinds)
        found = planted(subject, number, options.seed, options.each)
        total += found.verdicts
        wrong += len(found.wrong)
        for said in found.wrong:
            print(said, flush=True)
    width = max(map(len, ("kind", *kinds)))
    print(f"{'kind':{width}}  " + "  ".join(f"{verdict:>8}" for verdict in Verdict))
    for kind in kinds:
        counts = (f"{total[kind, verdict]:>{max(len(verdict), 8)}}" for verdict in Verdict)
        print(f"{kind:{width}}  " + "  ".join(counts))
    sums = {verdict: sum(n for (_, each), n in total.items() if each is verdict) for verdict in Verdict}
    told = ", ".join(f"{count:,} {verdict}" for verdict, count in sums.items())
    print(
        f"{sum(sums.values()):,} faults of {len(kinds)} kinds in {options.plans - refused} plans: {told}; "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
