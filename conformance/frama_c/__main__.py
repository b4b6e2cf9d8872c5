"""Proofs about the runtime's C by Frama-C: WP proves contracts, Eva executes on ranges of values.

    python -m conformance.frama_c [UNIT ...]

Contracts are comments in the sources, in the words of `tables.h`. WP proves each function against its own,
for tables and files of every size, with the prover CVC4. Eva executes a unit's main on all values that it
names. Prints a line for each unit, and what is not proved. Needs frama-c, why3 and cvc4. Exit code 1 where a
goal is not proved, an alarm is left, or a unit was not analysed; 3 where a tool is missing.
"""

import argparse
import sys

from conformance.frama_c.units import MissingTool, Outcome, analysed, units
from target_arch.plan.printed.text import table


def main() -> int:
    """Exit code as above."""
    parser = argparse.ArgumentParser(prog="python -m conformance.frama_c", description=__doc__)
    parser.add_argument("units", nargs="*", metavar="UNIT", help="their names; all without one")
    options = parser.parse_args()
    unknown = sorted(set(options.units) - {unit.name for unit in units()})
    if unknown:
        parser.error(f"no such unit: {', '.join(unknown)}; there are {', '.join(u.name for u in units())}")
    try:
        outcomes = [analysed(unit) for unit in units() if not options.units or unit.name in options.units]
    except MissingTool as missing:
        print(missing, file=sys.stderr)
        return 3
    return _told(outcomes)


def _told(outcomes: list[Outcome]) -> int:
    rows = [(o.unit.name, o.unit.tool, str(o.proved), str(o.total), f"{o.seconds:.0f} s") for o in outcomes]
    print(table(("unit", "by", "proved", "of", "time"), rows, right=range(2, 5)), end="")
    for outcome in outcomes:
        for line in outcome.left:
            print(f"{outcome.unit.name}: {line}")
    return int(any(not outcome.whole for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
