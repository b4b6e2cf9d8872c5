"""Frames in flight on two cores of this computer.

    python -m benchmarks.two_cores_frames [MODEL…] [--rounds 10]

Without models: those of ../shared/models. What their operators take is measured first (`target-arch
calibrate`). Each is compiled for a host and a second core, which has a thread of its own, with as many frames
in flight as make results come faster (`--objective throughput`), and built with -O3 -march=native. Runs in
turn and frames in flight of this bundle, and two independent programs of one core side by side, take turns
for some rounds of many, and the shortest mean of a round counts, since a busy computer only adds time. All
do the same in a loop in C: each frame's inputs are copied in, its outputs out.
*predicted* is the simulated run over the simulated period, *faster* is the same as it was measured, *of
ceiling* is how many frames come while two independent programs make as many runs.
"""

import argparse
import ctypes
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks.latency import ours
from benchmarks.peers import NATIVE
from benchmarks.timed import TIMER, Frame, Program
from benchmarks.two_cores import Beside, computer, measured
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.frames import FramePipeline
from target_arch.plan.objective import Objective
from target_arch.plan.printed.text import table
from target_arch.run import reference_for, write_bundle

SHARED = Path(__file__).parents[2] / "shared" / "models"
_SLICE = 0.1
"""Seconds of a measurement: as many runs as fit."""
_HEADER = ("model", "frames", "run us", "frame us", "predicted", "faster", "of predicted", "of ceiling")
_RUNS = """#include <string.h>
#include "net.h"
static unsigned char given_bytes[{inputs}][{most}], taken_bytes[{outputs}][{most}];
int timer_start(void) {{ return net_init(&ta_port_{port}); }}
int timer_once(void) {{ timer_restore(); return net_run(); }}
int runs_in_turn(int count)
{{
    for (int run = 0; run < count; run++) {{
{give}
        if (net_run() != TA_OK)
            return -1;
{take}
    }}
    return 0;
}}
"""
_FRAMES = """int frames_in_flight(int count)
{{
    const void *starts[{inputs}];
    void *ends[{outputs}];
    net_frame_inputs from;
    net_frame_outputs to;
    for (int i = 0; i < {inputs}; i++)
        starts[i] = given_bytes[i];
    for (int i = 0; i < {outputs}; i++)
        ends[i] = taken_bytes[i];
    memcpy(&from, starts, sizeof from);
    memcpy(&to, ends, sizeof to);
    for (int given = 0, taken = 0; taken < count; given++) {{
        ta_frame frame;
        if (net_exchange(given < count ? &from : NULL, &to, &frame) != TA_OK)
            return -1;
        if (frame.status != TA_OK && frame.status != TA_ERROR_BUSY)
            return frame.status;
        taken += frame.status == TA_OK;
    }}
    return 0;
}}
"""


def row(model: Path, rounds: int, folder: Path) -> list[str]:
    """The cells of a model."""
    (frame,) = reference_for(model).frames(1, seed=0)
    alone = CompileRequest(model_path=model, soc=computer(1), name="net")
    _library(compile_model(alone).bundle, alone.port, frame, folder / "one")
    plan, _, library = in_flight(on_two_cores(model), frame, folder / "two")
    predicted = plan.alone / plan.period
    runs = runs_of(library)
    beside = Beside(next((folder / "one").glob("*.so")), "runs_in_turn")
    best = shortest(library, runs, rounds, {"both": lambda: beside.mean(runs)})
    beside.close()
    faster = best["run"] / best["frame"]
    ratios = (predicted, faster, faster / predicted, best["both"] / 2 / best["frame"])
    times = (f"{best[name] * 1e6:,.0f}" for name in ("run", "frame"))
    return [model.stem, str(plan.frames), *times, *(f"{ratio:.2f}" for ratio in ratios)]


def in_flight(
    request: CompileRequest, frame: Frame, folder: Path
) -> tuple[FramePipeline, Program, ctypes.CDLL]:
    """The plan of the frames of our bundle, which is called `net`, and the bundle in this process: as a
    program with the frame as its inputs, and as a library.
    """
    made = compile_model(request)
    assert made.frames is not None
    program = _library(made.bundle, request.port, frame, folder, _FRAMES)
    return made.frames, program, ctypes.CDLL(str(next(folder.glob("*.so"))))


def _library(bundle: BundleFiles, port: str, frame: Frame, folder: Path, loops: str = "") -> Program:
    """A bundle that is called `net` as a program, with loops in C over its runs, and others."""
    write_bundle(bundle, folder)
    header = folder / "include" / "net.h"
    inputs, outputs = (_terminals(header.read_text(), which) for which in ("input", "output"))
    text = (_RUNS + loops).format(
        port=port,
        inputs=len(inputs),
        outputs=len(outputs),
        most=max((*inputs.values(), *outputs.values())),
        give="\n".join(_copies(inputs, "(void *){place}, given_bytes[{number}]")),
        take="\n".join(_copies(outputs, "taken_bytes[{number}], {place}")),
    )
    (folder / "src" / "timer.c").write_text(TIMER.format(declarations=text, call="net_run()"))
    return ours(header, NATIVE, frame)


def _terminals(header: str, which: str) -> dict[str, int]:
    """The bytes of inputs or outputs, by the function that says where they are."""
    sizes = dict(re.findall(r"define (NET_\w+)_BYTES (\d+)", header))
    return {name: int(sizes[name.upper()]) for name in re.findall(rf"\*(net_{which}_\w+)\(void\)", header)}


def _copies(places: Mapping[str, int], ends: str) -> Iterator[str]:
    """Statements that copy what is in these places."""
    for number, (name, size) in enumerate(places.items()):
        yield f"        memcpy({ends.format(place=f'{name}()', number=number)}, {size});"


def on_two_cores(model: Path) -> CompileRequest:
    """As many frames in flight as make results come faster, by costs that are measured first."""
    return CompileRequest(
        model_path=model,
        soc=computer(2),
        name="net",
        objective=Objective.THROUGHPUT,
        frames="auto",
        costs=measured(model, 2),
    )


def runs_of(library: ctypes.CDLL) -> int:
    """How many runs a measurement has."""
    return max(2, int(_SLICE / _seconds(lambda: _succeeds(library.runs_in_turn(2)), 2)))


def shortest(
    library: ctypes.CDLL,
    runs: int,
    rounds: int,
    others: Mapping[str, Callable[[], float]] = MappingProxyType({}),
) -> dict[str, float]:
    """The shortest time of a `run` in turn, of a `frame` in flight, and of others that are timed by turns."""
    kinds: dict[str, Callable[[], float]] = {
        "run": lambda: _seconds(lambda: _succeeds(library.runs_in_turn(runs)), runs),
        "frame": lambda: _seconds(lambda: _succeeds(library.frames_in_flight(runs)), runs),
        **others,
    }
    best = dict.fromkeys(kinds, float("inf"))
    for _ in range(rounds):
        for name, timed in kinds.items():
            best[name] = min(best[name], timed())
    return best


def _succeeds(status: int) -> None:
    if status:
        raise SystemExit(f"a run ended with status {status}")


def _seconds(work: Callable[[], object], runs: int) -> float:
    """Wall time of one of so many runs or frames."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) / runs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    rows = []
    for model in options.models or sorted(SHARED.glob("*.tflite")):
        with tempfile.TemporaryDirectory() as name:
            rows.append(row(model, options.rounds, Path(name)))
    print(table(_HEADER, rows, right=range(1, len(_HEADER))))
    print(f"load of this computer, on {os.cpu_count()} processors: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
