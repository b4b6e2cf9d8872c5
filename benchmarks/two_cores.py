"""Real time of a run on two cores of this computer.

    python -m benchmarks.two_cores [MODEL…] [--large] [--only TEXT] [--rounds 15] [--calibrated]

Without models: the small nets of `benchmarks.networks`, or the `--large` ones, in float and in QDQ. Ours is
built with -O3 -march=native for one core, and for two with operators divided. Outputs are compared first:
those of two cores with those of one, in every bit where they are quantized, and with the peer's, onnxruntime
(LiteRT for a TFLite file) with two threads. Then all take turns for some rounds, and the shortest run of each
counts, since a busy computer only adds time. *ceiling* is how much faster two independent programs of one
core finish their runs side by side than one after the other: as much as this computer gives to two cores that
have nothing to do with each other. What a line of the other core's cache takes is measured first; with
`--calibrated`, what operators take, too.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import geometric_mean

import numpy as np
from attrs import frozen

from benchmarks.latency import difference, ours, quantized
from benchmarks.networks import LARGE, NETWORKS
from benchmarks.peers import NATIVE
from benchmarks.timed import TIMER, Array, Frame
from conformance.topologies import written
from target_arch.api.calibration import calibrate_costs
from target_arch.calibrate.cache_lines import line_seconds
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.division import Divide
from target_arch.plan.printed.text import table
from target_arch.run import reference_for, write_bundle
from target_arch.soc import Cores, DLDevice, Memory, MemoryMode, SoC, TargetArch
from target_arch.soc.costs import Costs

_SLICE = 0.1
"""Seconds of a measurement: as many runs as fit."""
_REST = 0.05
"""Seconds between two: threads of a peer look for work a while after its runs."""
_HEADER = ("model", "one us", "two us", "faster", "ceiling", "of ceiling", "peer us", "ratio", "outputs")
_DECLARATIONS = """#include "{stem}.h"
int timer_start(void) {{ return {stem}_init(&ta_port_host); }}
int timer_once(void) {{ timer_restore(); return {stem}_run(); }}"""


@cache
def line() -> float:
    """The seconds for a line of the cache that the other core wrote."""
    return line_seconds() or 0.0


def computer(cores: int) -> SoC:
    """A computer like this one with so many cores, behind coherent caches."""
    shared = {"worker": 0x1000_0000} if cores > 1 else {}
    ram = Memory(
        name="ram",
        size=2**30,
        base=0x1000_0000,
        observers=shared,
        read_bandwidth=10e9,
        write_bandwidth=10e9,
    )
    like = TargetArch(
        name="host",
        backend="c",
        device=DLDevice(type="kDLCPU", id=0),
        host=True,
        clock=2.5e9,
        isa="x86_64",
        memory=("ram",),
    )
    worker = TargetArch(
        name="worker",
        backend="c",
        device=DLDevice(type="kDLCPU", id=1),
        instances=max(cores - 1, 1),
        clock=2.5e9,
        isa="x86_64",
        memory=("ram",),
        operands="outputs",
        cores=Cores(stack=65536, wake=4e-7, coherent=True, line=line()),
    )
    archs = (like, worker) if cores > 1 else (like,)
    return SoC(
        name="computer",
        memories=(ram,),
        dmas=(),
        copies=(),
        archs=archs,
        modes=(MemoryMode(name="default", workspace=("ram",), constants=("ram",), io=("ram",)),),
        partitioning=tuple(arch.name for arch in archs),
    )


@frozen(kw_only=True)
class Timed:
    """A program: its outputs, and a function that runs it once."""

    outputs: Callable[[], list[Array]]
    once: Callable[[], object]

    def seconds(self, runs: int) -> float:
        """Wall time of the shortest of so many runs."""
        least = float("inf")
        for _ in range(runs):
            begun = time.perf_counter()
            self.once()
            least = min(least, time.perf_counter() - begun)
        return least


def measured(model: Path, cores: int) -> Costs:
    """What the model's operators take on this computer, built for its very processor."""
    os.environ.setdefault("CC", "cc -march=native")
    return calibrate_costs([model], computer(cores), port="host").costs


def built(model: Path, cores: int, frame: Frame, folder: Path, costs: Costs | None = None) -> Timed:
    """Our bundle as a shared library in this process."""
    divide = Divide.AUTO if cores > 1 else Divide.NEVER
    made = compile_model(
        CompileRequest(model_path=model, soc=computer(cores), divide=divide, name="net", costs=costs)
    )
    write_bundle(made.bundle, folder)
    header = folder / "include" / "net.h"
    (folder / "src" / "timer.c").write_text(
        TIMER.format(declarations=_DECLARATIONS.format(stem="net"), call="net_run()")
    )
    program = ours(header, NATIVE, frame)
    library = next(folder.glob("*.so"))
    return Timed(outputs=program.outputs, once=ctypes.CDLL(str(library)).timer_once)


def peer(model: Path, frame: Frame) -> Timed:
    """The program that people use for this format, on two threads."""
    if model.suffix == ".tflite":
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(str(model), num_threads=2)
        interpreter.allocate_tensors()
        inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
        for each, value in zip(inputs, frame, strict=True):
            interpreter.set_tensor(each["index"], value)
        interpreter.invoke()
        return Timed(
            outputs=lambda: [interpreter.get_tensor(each["index"]) for each in outputs],
            once=interpreter.invoke,
        )
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = 2, 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feed = {each.name: value for each, value in zip(session.get_inputs(), frame, strict=True)}
    return Timed(outputs=lambda: list(session.run(None, feed)), once=lambda: session.run(None, feed))


_BESIDE = """
import ctypes, sys, time
once = ctypes.CDLL(sys.argv[1])
assert once.timer_start() == 0
for line in sys.stdin:
    least = float("inf")
    runs = int(line)
    for _ in range(runs):
        begun = time.perf_counter()
        once.timer_once()
        least = min(least, time.perf_counter() - begun)
    begun = time.perf_counter()
    once[sys.argv[2]](runs)
    print(least, (time.perf_counter() - begun) / runs, flush=True)
"""
"""A process with a program of one core: runs it as often as a line says, and again, in a loop in C that is
named, and prints the shortest run of the first and the mean of the second ones.
"""


class Beside:
    """Two independent processes with our program for one core."""

    def __init__(self, library: Path, loop: str = "timer_seconds") -> None:
        command = [sys.executable, "-c", _BESIDE, str(library), loop]
        self._children = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in "12"
        ]

    def seconds(self, runs: int, both: bool) -> float:
        """The longer of the shortest runs of both, which run at once, or that of one alone."""
        return max(least for least, _ in self._runs(runs, both))

    def mean(self, runs: int) -> float:
        """The longer of the mean runs of both, which run at once, one right after the other."""
        return max(mean for _, mean in self._runs(runs, both=True))

    def _runs(self, runs: int, both: bool) -> list[tuple[float, float]]:
        asked = self._children if both else self._children[:1]
        for child in asked:
            assert child.stdin is not None
            print(runs, file=child.stdin, flush=True)
        answers = []
        for child in asked:
            assert child.stdout is not None
            least, mean = child.stdout.readline().split()
            answers.append((float(least), float(mean)))
        return answers

    def close(self) -> None:
        """End both."""
        for child in self._children:
            child.communicate()


def row(model: Path, rounds: int, folder: Path, *, calibrated: bool = False) -> tuple[list[str], list[float]]:
    """The cells of a model, and the ratios of its means: faster over ceiling, and ours over the peer's."""
    (frame,) = reference_for(model).frames(1, seed=0)
    one = built(model, 1, frame, folder / f"{model.stem}_1")
    costs = measured(model, 2) if calibrated else None
    two = built(model, 2, frame, folder / f"{model.stem}_2", costs)
    other = peer(model, frame)
    mine, divided, theirs = one.outputs(), two.outputs(), other.outputs()
    again = two.outputs()
    for a, b, c in zip(mine, divided, again, strict=True):
        if not np.array_equal(b, c) or (quantized(model) and not np.array_equal(a, b)):
            raise SystemExit(f"{model.stem}: two cores give other bits than one, or than before")
    runs = max(1, int(_SLICE / one.seconds(2)))
    beside = Beside(next((folder / f"{model.stem}_1").glob("*.so")))
    kinds: dict[str, Callable[[], float]] = {
        "one": lambda: one.seconds(runs),
        "two": lambda: two.seconds(runs),
        "peer": lambda: other.seconds(runs),
        "alone": lambda: beside.seconds(runs, both=False),
        "both": lambda: beside.seconds(runs, both=True),
    }
    best = dict.fromkeys(kinds, float("inf"))
    for _ in range(rounds):
        for name, timed in kinds.items():
            time.sleep(_REST)
            best[name] = min(best[name], timed())
    beside.close()
    faster, ceiling = best["one"] / best["two"], 2 * best["alone"] / best["both"]
    found = [faster / ceiling, best["two"] / best["peer"]]
    cells = [model.stem, *(f"{best[name] * 1e6:,.0f}" for name in ("one", "two"))]
    cells += [f"{faster:.2f}", f"{ceiling:.2f}", f"{found[0]:.2f}", f"{best['peer'] * 1e6:,.0f}"]
    return [*cells, f"{found[1]:.2f}", difference(divided, theirs)], found


def models(folder: Path, only: str, *, large: bool) -> Iterator[Path]:
    """The nets with a name that contains this."""
    for name, made in (LARGE if large else NETWORKS).items():
        for form in ("float", "qdq_channels"):
            path = folder / f"{name}_{form}.onnx"
            if only in path.name:
                written(made(), form, path)
                yield path


def main() -> None:
    """Print the table and the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--large", action="store_true", help="nets of the sizes of the papers")
    parser.add_argument("--only", default="", metavar="TEXT", help="nets whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calibrated", action="store_true")
    options = parser.parse_args()
    rows, ratios = [], []
    with tempfile.TemporaryDirectory() as name:
        for model in options.models or models(Path(name), options.only, large=options.large):
            cells, found = row(model, options.rounds, Path(name), calibrated=options.calibrated)
            rows.append(cells)
            ratios.append(found)
            print(" ".join(cells), file=sys.stderr, flush=True)
    print(table(_HEADER, rows, right=range(1, len(_HEADER) - 1)))
    of_ceiling, over_peer = (geometric_mean(column) for column in zip(*ratios, strict=True))
    print(f"geometric means: {of_ceiling:.2f} of the ceiling, {over_peer:.2f} of the peer's time")
    print(f"a line that the other core wrote takes {line() * 1e9:.0f} ns longer")
    print(f"load of this computer, on {os.cpu_count()} processors: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
