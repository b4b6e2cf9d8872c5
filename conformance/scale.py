"""CPU time and memory of place + order + plan over generated graphs of 100 to 100,000 operators.

    python -m conformance.scale [--sizes 100,1000,10000] [--shapes layered,random] [--model FILE]

Each measurement is a process of its own, so that its peak of memory is its own. Seconds are those of the
processor. What follows a `^` is the growth exponent from the size before: 1.0 is linear. MiB are the peak at
the start (the interpreter and the model) and until the end of each phase. `--model` adds a real model,
repeated. `dense` has up to a million edges; its time grows with these, and it has no limit to keep. What
takes more than `--stop` seconds is given up, and said to be.
"""

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
from math import log
from pathlib import Path

from conformance import graphs
from target_arch.plan.model import Model
from target_arch.plan.printed.text import table
from target_arch.stages.check.plan import check
from target_arch.stages.lowering.one_pass import Passes
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.setting import Setting

SIZES = (100, 1_000, 10_000, 100_000)
LIMITS = {10_000: 10.0, 100_000: 180.0}
"""CPU seconds that place + order + plan may take, but for dense graphs."""
STOP = 1_200
"""CPU seconds after which a measurement is given up."""

_PHASES = ("place", "order", "plan", "check")
_TOTAL = "place+order+plan"
_COUNTS = ("edges", "partitions", "steps")
_HEADER = ("graph", "operators", *_COUNTS, *_PHASES, _TOTAL, "start", *(f"{name} MiB" for name in _PHASES))

Found = dict[str, float]
"""Of one measurement: CPU seconds by phase, MiB at the end of each, counts."""


class _Clock:
    """The time of each phase, and the peak of memory until its end."""

    def __init__(self) -> None:
        self.found: Found = {"start": _peak()}
        self._last = time.process_time()

    def over(self, phase: str) -> None:
        """The phase is over, the next one begins."""
        self.found |= {phase: time.process_time() - self._last, f"{phase} MiB": _peak()}
        self._last = time.process_time()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def generated(shape: str, size: int, model: str | None) -> Model:
    """The model of that many operators."""
    if shape != "repeated":
        return graphs.SHAPES[shape](size)
    from target_arch.registry.backends import Backends
    from target_arch.relax.importer import import_model

    patterns = Backends.discover(())["c"].patterns
    return graphs.repeated(import_model(Path(model or ""), None, patterns)[0], size)


def measure(shape: str, size: int, model: str | None) -> Found:
    """Seconds and MiB of each phase; edges, partitions and steps."""
    subject = generated(shape, size, model)
    setting = Setting.of(graphs.CHIP, graphs.BACKENDS, graphs.MODE)
    clock = _Clock()
    graph = place(subject, setting, graphs.BACKENDS)
    clock.over("place")
    order = lowering_order(graph, graphs.CHIP, graphs.CODEGENS)
    clock.over("order")
    passed = Passes(setting, graphs.lower).run(graph, order)
    assert passed.settled is not None
    clock.over("plan")
    check(graphs.CHIP, passed.settled.steps, passed.settled.plan)
    clock.over("check")
    return {
        **clock.found,
        _TOTAL: sum(clock.found[phase] for phase in _PHASES[:3]),
        "edges": sum(len(operator.inputs) for operator in subject.operators),
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
    parser.add_argument("--stop", type=int, default=STOP, help="CPU seconds for one measurement, at most")
    parser.add_argument("--one", action="store_true", help="only the first of both, here, as JSON")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    shapes = [*options.shapes.split(","), *(["repeated"] if options.model and not options.one else [])]
    if options.one:
        resource.setrlimit(resource.RLIMIT_CPU, (options.stop, options.stop + 5))
        print(json.dumps(measure(shapes[0], sizes[0], options.model)))
        return 0
    rows, late = [], False
    for shape in shapes:
        before: tuple[int, Found] | None = None
        for size in sizes:
            found = _apart(shape, size, options.model, options.stop)
            rows.append(_row(shape, size, found, before, options.stop))
            print("  ".join(rows[-1]), file=sys.stderr)
            taken = options.stop if found is None else found[_TOTAL]
            late |= shape != "dense" and taken > LIMITS.get(size, taken)
            before = None if found is None else (size, found)
    print(table(_HEADER, rows, right=range(1, len(_HEADER))), end="")
    return int(late)


def _apart(shape: str, size: int, model: str | None, stop: int) -> Found | None:
    """Measured in a process of its own; None where that was given up."""
    command = [sys.executable, "-m", "conformance.scale", "--one", "--shapes", shape, "--sizes", str(size)]
    command += ["--stop", str(stop), *(["--model", model] if model else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return None
    done.check_returncode()
    return dict(json.loads(done.stdout))


def _row(
    shape: str, size: int, found: Found | None, before: tuple[int, Found] | None, stop: int
) -> tuple[str, ...]:
    if found is None:
        cells = {_TOTAL: f"given up after {stop} s"}
        return (shape, f"{size:,}", *(cells.get(name, "") for name in _HEADER[2:]))
    counts = (f"{int(found[name]):,}" for name in _COUNTS)
    seconds = (f"{found[name]:.2f} s{_grown(name, size, found, before)}" for name in (*_PHASES, _TOTAL))
    peaks = (f"{found[name]:.0f}" for name in ("start", *(f"{name} MiB" for name in _PHASES)))
    return (shape, f"{size:,}", *counts, *seconds, *peaks)


def _grown(name: str, size: int, found: Found, before: tuple[int, Found] | None) -> str:
    """The growth exponent of a phase; nothing where it is too short to tell."""
    if before is None or size == before[0] or min(found[name], before[1][name]) < 0.005:
        return ""
    return f" ^{log(found[name] / before[1][name]) / log(size / before[0]):.2f}"


if __name__ == "__main__":
    sys.exit(main())
