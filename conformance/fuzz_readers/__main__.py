"""Read mutants, and print each finding when it comes.

    python -m conformance.fuzz_readers [READER…] [--executions N] [--start N] [--seconds N]
        [--keep FOLDER]

A finding is an exception other than a message, a message with characters that no terminal prints, a signal,
more than 20 s of CPU time, or more than 2 GiB.

`--keep FOLDER` writes the mutants of all findings there; `--start 1234 --executions 1` reads one of them.
`--seconds N` ends each reader's mutants after so long by the clock; the last line says which were read.
Exit code 1 where there is a finding.
"""

import argparse
import sys
import time
from math import inf
from pathlib import Path

from conformance.fuzz_readers.campaign import Finding, campaign
from conformance.fuzz_readers.readers import READERS


def main() -> int:
    """Run the campaigns that the arguments name, all readers by default."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    arguments.add_argument("--executions", type=int, default=1_000_000, metavar="N", help="of each reader")
    arguments.add_argument("--start", type=int, default=0, metavar="N", help="the number of the first mutant")
    arguments.add_argument("--seconds", type=float, default=inf, metavar="N", help="of each reader, at most")
    arguments.add_argument("--keep", type=Path, metavar="FOLDER", help="write the mutants of findings there")
    options = arguments.parse_args()
    wrong = 0
    for name in options.readers or READERS:
        numbers = range(options.start, options.start + options.executions)
        wrong += _run(name, numbers, options.seconds, options.keep)
    return min(wrong, 1)


def _run(name: str, numbers: range, most: float, keep: Path | None) -> int:
    reader, start = READERS[name], time.monotonic()

    def said(finding: Finding) -> None:
        print(f"  {name} mutant {finding.number}: {finding.what}", flush=True)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}-{finding.number}").write_bytes(reader.mutate(reader.seeds(), finding.number))

    found = campaign(reader, numbers, said=said, seconds=most)
    seconds, last = time.monotonic() - start, numbers.start + found.executions - 1
    print(
        f"{name}: {found.executions:,} executions, {found.accepted:,} accepted, "
        f"{len(found.findings)} findings, {seconds:.0f} s, mutants {numbers.start} to {last}",
        flush=True,
    )
    return len(found.findings)


if __name__ == "__main__":
    sys.exit(main())
