"""Time of a run on this computer, beside the programs that people use: LiteRT and onnxruntime, on one thread.

    python -m benchmarks.latency [MODEL…] [--only TEXT] [--rounds 15]

Without models: those of ../shared/models, and nets of `benchmarks.topologies` in float and in QDQ. A TFLite
model is compared with LiteRT, an ONNX model with onnxruntime. Ours is the bundle for one CPU, built with
-O2 and with -O3 -march=native; a peer chooses its own kernels. Outputs are compared first: steps of the
output where it is quantized, else the largest difference. Then all take turns for some rounds, and the
medians count. Times are those of the thread's processor, so that a busy computer harms little. The last
lines are geometric means of the ratios, ours over the peer's, for quantized and for float models: below 1,
ours is faster.
"""

import argparse
import ctypes
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from attrs import frozen

from benchmarks.topologies import NETS, written
from target_arch.plan.text import table
from target_arch.run import reference_for

SHARED = Path(__file__).parents[2] / "shared" / "models"
FLAGS = ("-O2", "-O3 -march=native")
CHOSEN = ("mobilenet_v2", "resnet", "unet_resize", "transformer")
"""The nets of `benchmarks.topologies` that stand for the others."""

SLICE = 0.02
"""Seconds of a measurement: as many runs as fit."""

Array = np.ndarray[Any, np.dtype[Any]]
Frame = Sequence[Array]


@frozen(kw_only=True)
class Program:
    """A model with a frame of inputs: its outputs, and the processor seconds of so many runs."""

    name: str
    outputs: Callable[[], list[Array]]
    seconds: Callable[[int], float]


def repeated(run: Callable[[], object]) -> Callable[[int], float]:
    """The processor time of this thread for so many calls."""

    def seconds(runs: int) -> float:
        begun = time.thread_time()
        for _ in range(runs):
            run()
        return time.thread_time() - begun

    return seconds


def litert(model: Path, frame: Frame) -> Program:
    """LiteRT with XNNPACK, on one thread."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model), num_threads=1)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    for each, value in zip(inputs, frame, strict=True):
        interpreter.set_tensor(each["index"], value)

    def answer() -> list[Array]:
        interpreter.invoke()
        return [interpreter.get_tensor(each["index"]) for each in outputs]

    return Program(name="LiteRT", outputs=answer, seconds=repeated(interpreter.invoke))


def onnxruntime(model: Path, frame: Frame) -> Program:
    """onnxruntime with all its optimizations, on one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feed = {each.name: value for each, value in zip(session.get_inputs(), frame, strict=True)}

    def answer() -> list[Array]:
        return list(session.run(None, feed))

    return Program(name="onnxruntime", outputs=answer, seconds=repeated(answer))


TIMER = """#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include "{stem}.h"
int timer_start(void) {{ return {stem}_init(&ta_port_host); }}
int timer_once(void) {{ return {stem}_run(); }}
double timer_seconds(int runs)
{{
    struct timespec begun, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    for (int run = 0; run < runs; ++run) {{
        {stem}_run();
    }}
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
}}
"""
"""What is added to a bundle, so that it can be called and timed as a shared library."""


def bundle(model: Path, folder: Path) -> Path:
    """The bundle of a model for one CPU. SystemExit with what was said where it is refused."""
    command = ("-m", "target_arch", "compile", str(model), "--target", "c", "-o", str(folder))
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{model.name}: {done.stderr.strip().splitlines()[0]}")
    (stem,) = (path.stem for path in (folder / "include").glob("*.h") if not path.stem.endswith("_soc"))
    (folder / "src" / "timer.c").write_text(TIMER.format(stem=stem))
    return folder / "include" / f"{stem}.h"


def ours(header: Path, flags: str, frame: Frame) -> Program:
    """A bundle as a shared library, built with these flags."""
    folder = header.parents[1]
    library = folder / f"{re.sub('[^a-z0-9]', '_', flags.lower())}.so"
    programs = ("runner", "selftest")
    sources = [path for path in sorted((folder / "src").glob("*.c")) if path.stem not in programs]
    sources += sorted((folder / "runtime").rglob("*.c"))
    include = (f"-I{folder}/include", f"-I{folder}/runtime")
    command = ("cc", "-shared", "-fPIC", "-pthread", "-std=c99", *flags.split(), *include)
    subprocess.run([*command, *map(str, sources), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.timer_seconds.restype = ctypes.c_double
    if loaded.timer_start():
        raise SystemExit(f"{folder}: the bundle does not start")
    text = header.read_text()
    stem = header.stem
    inputs = re.findall(rf"\*({stem}_input_\w+)\(void\)", text)
    outputs = re.findall(rf"const \w+ \*({stem}_output_\w+)\(void\)", text)

    def place(name: str) -> int:
        function = getattr(loaded, name)
        function.restype = ctypes.c_void_p
        return int(function())

    def size(name: str) -> int:
        (found,) = re.findall(rf"define {name.upper()}_BYTES (\d+)", text)
        return int(found)

    def answer() -> list[Array]:
        for name, value in zip(inputs, frame, strict=True):
            ctypes.memmove(place(name), value.tobytes(), size(name))
        if loaded.timer_once():
            raise SystemExit(f"{folder}: the bundle fails")
        return [np.frombuffer(ctypes.string_at(place(name), size(name)), np.uint8) for name in outputs]

    return Program(name=flags, outputs=answer, seconds=loaded.timer_seconds)


def difference(found: Sequence[Array], wanted: Sequence[Array]) -> str:
    """`equal`, or the largest difference of an element."""
    most = 0.0
    for mine, theirs in zip(found, wanted, strict=True):
        values = mine.view(theirs.dtype).astype(np.float64)
        most = max(most, float(np.abs(values - theirs.ravel().astype(np.float64)).max()))
    return f"{most:.2g}" if most else "equal"


def row(model: Path, rounds: int, folder: Path) -> tuple[list[str], list[float]]:
    """The cells of a model, and the ratios of its builds."""
    (frame,) = reference_for(model).frames(1, seed=0)
    peer = (litert if model.suffix == ".tflite" else onnxruntime)(model, frame)
    header = bundle(model, folder / model.stem)
    builds = [ours(header, flags, frame) for flags in FLAGS]
    wanted = peer.outputs()
    differences = [difference(build.outputs(), wanted) for build in builds]
    runs = [max(1, int(SLICE / max(each.seconds(2) / 2, 1e-7))) for each in (peer, *builds)]
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for each, count, found in zip((peer, *builds), runs, times, strict=True):
            found.append(each.seconds(count) / count)
    reference, *mine = (median(each) * 1e6 for each in times)
    cells = [model.stem, peer.name, f"{reference:,.1f}"]
    for microseconds in mine:
        cells += [f"{microseconds:,.1f}", f"{microseconds / reference:.2f}"]
    return [*cells, ", ".join(dict.fromkeys(differences))], [each / reference for each in mine]


def models(folder: Path) -> Iterator[Path]:
    """The shared models, where they are, and the chosen nets in two forms."""
    yield from sorted(SHARED.glob("*.tflite"))
    for name in CHOSEN:
        for form in ("float", "qdq_channels"):
            path = folder / f"{name}_{form}.onnx"
            written(NETS[name](), form, path)
            yield path


def main() -> None:
    """Print the table and the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    rows: list[list[str]] = []
    ratios: dict[str, list[list[float]]] = {"quantized": [], "float": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in options.models or models(folder):
            if options.only in model.name:
                cells, found = row(model, options.rounds, folder)
                rows.append(cells)
                kind = "quantized" if "int8" in model.stem or "qdq" in model.stem else "float"
                ratios[kind].append(found)
                print(" ".join(cells), file=sys.stderr, flush=True)
    header = ["model", "peer", "us"]
    for flags in FLAGS:
        header += [flags, "ratio"]
    print(table((*header, "outputs"), rows, right=range(2, len(header))))
    for kind, found in ratios.items():
        if found:
            means = (
                f"{geometric_mean(column):.2f} ({flags})"
                for column, flags in zip(zip(*found, strict=True), FLAGS, strict=True)
            )
            print(f"{kind}: geometric mean of the ratios {', '.join(means)}")


if __name__ == "__main__":
    main()
