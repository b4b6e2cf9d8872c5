"""CPU time and memory of place + order + plan over generated graphs of 100 to 100,000 partitions.

    python -m benchmarks.scale [--sizes 100,1000,10000] [--shapes layered,random] [--model FILE]

Each measurement is a process of its own, so that its peak of memory is its own. The growth exponent is that
of the time between one size and the next: 1.0 is linear. `--model` adds a real model, repeated.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from math import log
from pathlib import Path

from benchmarks import graphs
from target_arch.plan.model import Model
from target_arch.plan.text import table
from target_arch.stages.check import check
from target_arch.stages.lower_pass import Passes
from target_arch.stages.lowering_order import lowering_order
from target_arch.stages.place import place

SIZES = (100, 1_000, 10_000, 100_000)
LIMITS = {10_000: 10.0, 100_000: 180.0}
"""CPU seconds that place + order + plan may take."""

_PHASES = ("place", "order", "plan", "check")


def generated(shape: str, size: int, model: str | None) -> Model:
    """The model of that many operators."""
    if shape != "repeated":
        return graphs.SHAPES[shape](size)
    from target_arch.relax.importer import import_model

    return graphs.repeated(import_model(Path(model or ""), None, ())[0], size)


def measure(shape: str, size: int, model: str | None) -> dict[str, float]:
    """CPU seconds of each phase, MiB at the peak, partitions and steps."""
    subject = generated(shape, size, model)
    times = [time.process_time()]
    graph = place(subject, graphs.CHIP, graphs.BACKENDS)
    times.append(time.process_time())
    order = lowering_order(graph, graphs.CHIP, graphs.CODEGENS)
    times.append(time.process_time())
    passed = Passes(graphs.CHIP, graphs.MODE, graphs.CODEGENS, graphs.lower).run(graph, order)
    times.append(time.process_time())
    assert passed.settled is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    check(graphs.CHIP, passed.settled.steps, passed.settled.plan)
    times.append(time.process_time())
    seconds = {name: times[n + 1] - times[n] for n, name in enumerate(_PHASES)}
    return {
        **seconds,
        "peak": peak,
        "partitions": len(graph.partitions),
        "steps": len(passed.settled.steps.steps),
    }


def main() -> int:
    """Print the table; 1 where a limit was not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="operators, separated by commas")
    parser.add_argument("--shapes", default=",".join(graphs.SHAPES), help="which graphs")
    parser.add_argument("--model", help="a model file to repeat")
    parser.add_argument("--one", action="store_true", help="only the first of both, here, as JSON")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    shapes = [*options.shapes.split(","), *(["repeated"] if options.model and not options.one else [])]
    if options.one:
        print(json.dumps(measure(shapes[0], sizes[0], options.model)))
        return 0
    rows, late = [], False
    for shape in shapes:
        before: tuple[int, float] | None = None
        for size in sizes:
            found = _apart(shape, size, options.model)
            total = found["place"] + found["order"] + found["plan"]
            grown = "" if before is None else f"{log(total / before[1]) / log(size / before[0]):.2f}"
            rows.append(_row(shape, size, found, total, grown))
            late |= total > LIMITS.get(size, total)
            before = (size, total)
    header = ("graph", "operators", "partitions", "steps", *_PHASES, "place+order+plan", "growth", "peak MiB")
    print(table(header, rows, right=range(1, len(header))), end="")
    return int(late)


def _apart(shape: str, size: int, model: str | None) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "--one", "--shapes", shape, "--sizes", str(size)]
    command += ["--model", model] if model else []
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _row(shape: str, size: int, found: dict[str, float], total: float, grown: str) -> tuple[str, ...]:
    counts = (f"{size:,}", f"{int(found['partitions']):,}", f"{int(found['steps']):,}")
    seconds = tuple(f"{found[name]:.2f} s" for name in _PHASES)
    return (shape, *counts, *seconds, f"{total:.2f} s", grown, f"{found['peak']:.0f}")


if __name__ == "__main__":
    sys.exit(main())
