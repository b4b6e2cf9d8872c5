"""Are random models computed right on random chips?

    python -m conformance.random_nets [--nets N] [--start S] [--keep FOLDER] [--divide]

Tries the models from number S on, in groups that share a chip. Prints what was wrong with which number, and
how many were refused by which rule. Exit code 1 where one was wrong. `--keep` writes models that are wrong.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from conformance.random_nets.campaign import GROUP, Result, group
from conformance.random_nets.nets import net
from target_arch.plan.division import Divide


def main() -> int:
    """Exit code: 0 where nothing was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.random_nets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nets", type=int, default=200, metavar="N", help="how many models")
    parser.add_argument("--start", type=int, default=0, metavar="S", help="the number of the first model")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write models that are wrong there")
    parser.add_argument("--divide", action="store_true", help="divide operators where that is faster")
    options = parser.parse_args()
    divide = Divide.AUTO if options.divide else Divide.NEVER
    total, start, numbers = Result(), time.monotonic(), range(options.start, options.start + options.nets)
    for first in range(numbers.start - numbers.start % GROUP, numbers.stop, GROUP):
        chosen = [number for number in range(first, first + GROUP) if number in numbers]
        with TemporaryDirectory() as folder:
            found = group(chosen, Path(folder), divide)
        for number, said in found.wrong.items():
            print(f"net {number}: {said}", flush=True)
        total += found
    for number in total.wrong if options.keep is not None else ():
        options.keep.mkdir(parents=True, exist_ok=True)
        onnx.save(net(number), options.keep / f"n{number}.onnx")
    rules = ", ".join(f"{count} {rule}" for rule, count in sorted(Counter(total.refused.values()).items()))
    print(
        f"nets {numbers.start} to {numbers.stop - 1} on {-(-options.nets // GROUP)} chips: "
        f"{len(total.wrong)} wrong, {len(total.refused)} refused{f' ({rules})' if rules else ''}, "
        f"{f'{total.divided} divided, ' if options.divide else ''}"
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
