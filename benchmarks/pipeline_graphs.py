"""Published throughput problems: `python -m benchmarks.pipeline_graphs [FILE...] [--exact SECONDS]`.

The workloads of "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), in
`../shared/pipeline_graphs` or of the files named, each brought to the search that places models for
throughput. For each: our time per frame, the best known one, ours over it, the lower bound, how far ours is
above that, and seconds of processor time. `--exact` lets CP-SAT go on for about so many. Exit code 1 where
ours is more than 1.01 of the best known.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from conformance.pipeline_graphs import GRAPHS, KNOWN, UNIT, assignment, on_a_cpu
from target_arch.stages.placement.search.throughput import least_busy

MOST = 1.01


def main() -> int:
    """Exit code: 0 unless ours is too far from the best known."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pipeline_graphs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--exact", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    print(f"{'':28} {'ours':>8} {'known':>8} {'over':>7} {'bound':>8} {'gap':>7} {'seconds':>7}")
    far = [_row(file, options.exact) for file in options.files or sorted(GRAPHS.glob("*.json"))]
    return int(any(far))


def _row(file: Path, exact: float) -> bool:
    problem = assignment(json.loads(file.read_text()))
    begin = time.process_time()
    ours = least_busy(problem, [on_a_cpu(problem)], limit=exact or None)
    spent, known = time.process_time() - begin, KNOWN.get(file.stem)
    period, bound = ours.period / UNIT, ours.bound / UNIT
    against = " " * 16 if known is None else f"{known:8.3f} {period / known:7.4f}"
    print(
        f"{file.stem:28} {period:8.3f} {against} {bound:8.3f} {period / bound - 1:7.1%} {spent:7.1f}",
        flush=True,
    )
    return known is not None and period > known * MOST


if __name__ == "__main__":
    sys.exit(main())
