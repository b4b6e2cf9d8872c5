"""Time of a run on this computer, beside the programs that people use, on one thread.

    python -m benchmarks.latency [MODEL…] [--only TEXT] [--rounds 15] [--peer-python FILE]

Without models: those of ../shared/models, MobileNetV2 as TFLite, and nets of `benchmarks.networks` and
`conformance.topologies` in float and in QDQ. A TFLite model is compared with LiteRT, an ONNX model with
onnxruntime, and with IREE and emx-onnx-cgen where a Python that has them is named (`benchmarks.peers`). Ours
is the bundle for one CPU, built with -O2 and with -O3 -march=native; a peer chooses its own kernels. Outputs
are compared first: steps of the output where it is quantized, else the largest
difference. Then all take turns for some rounds, and the medians count. Times are those of the thread's
processor, so that a busy computer harms little. The last lines are geometric means of the ratios, ours over
the peer's, for quantized and for float models: below 1, ours is faster.
"""

import argparse
import ctypes
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np

from benchmarks.networks import NETWORKS
from benchmarks.peers import NATIVE, peers
from benchmarks.timed import TIMER, Array, Frame, Program, loaded
from conformance.mobilenet import mobilenet
from conformance.topologies import NETS, written
from target_arch.plan.printed.text import table
from target_arch.run import reference_for

SHARED = Path(__file__).parents[2] / "shared" / "models"
FLAGS = ("-O2", NATIVE)
CHOSEN = {
    **NETWORKS,
    **{name: NETS[name] for name in ("mobilenet_v2", "resnet", "unet_resize", "transformer")},
}
"""Nets of the sizes that people run, and small ones that stand for the others of `conformance.topologies`."""

SLICE = 0.02
"""Seconds of a measurement: as many runs as fit."""

DECLARATIONS = """#include "{stem}.h"
int timer_start(void) {{ return {stem}_init(&ta_port_host); }}
int timer_once(void) {{ timer_restore(); return {stem}_run(); }}"""


def bundle(model: Path, folder: Path) -> Path:
    """The bundle of a model for one CPU like this one. SystemExit with what was said where it is refused."""
    command = ("-m", "target_arch", "compile", str(model), "--target", "c,isa=x86_64", "-o", str(folder))
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{model.name}: {done.stderr.strip().splitlines()[0]}")
    (stem,) = (path.stem for path in (folder / "include").glob("*.h") if not path.stem.endswith("_soc"))
    (folder / "src" / "timer.c").write_text(
        TIMER.format(declarations=DECLARATIONS.format(stem=stem), call=f"{stem}_run()")
    )
    return folder / "include" / f"{stem}.h"


def ours(header: Path, flags: str, frame: Frame) -> Program:
    """A bundle as a shared library, built with these flags."""
    folder = header.parents[1]
    library = folder / f"{re.sub('[^a-z0-9]', '_', flags.lower())}.so"
    programs = ("runner", "selftest")
    sources = [path for path in sorted((folder / "src").glob("*.c")) if path.stem not in programs]
    sources += sorted((folder / "runtime").rglob("*.c"))
    include = (f"-I{folder}/include", f"-I{folder}/runtime", f"-I{folder}/weights")
    code = loaded([*flags.split(), *include, *map(str, sources)], library)
    if code.timer_start():
        raise SystemExit(f"{folder}: the bundle does not start")
    text = header.read_text()
    stem = header.stem
    inputs = re.findall(rf"\*({stem}_input_\w+)\(void\)", text)
    outputs = re.findall(rf"const \w+ \*({stem}_output_\w+)\(void\)", text)

    def place(name: str) -> int:
        function = getattr(code, name)
        function.restype = ctypes.c_void_p
        return int(function())

    def size(name: str) -> int:
        (found,) = re.findall(rf"define {name.upper()}_BYTES (\d+)", text)
        return int(found)

    values = [value.tobytes() for value in frame]
    for name, value in zip(inputs, values, strict=True):
        code.timer_keep(ctypes.c_void_p(place(name)), value, ctypes.c_size_t(size(name)))

    def answer() -> list[Array]:
        if code.timer_once():
            raise SystemExit(f"{folder}: the bundle fails")
        return [np.frombuffer(ctypes.string_at(place(name), size(name)), np.uint8) for name in outputs]

    return Program(name=flags, outputs=answer, seconds=code.timer_seconds)


def difference(found: Sequence[Array], wanted: Sequence[Array]) -> str:
    """`equal`, or the largest difference of an element."""
    most = 0.0
    for mine, theirs in zip(found, wanted, strict=True):
        values = mine.view(theirs.dtype).astype(np.float64)
        most = max(most, float(np.abs(values - theirs.ravel().astype(np.float64)).max()))
    return f"{most:.2g}" if most else "equal"


def medians(programs: Sequence[Program], rounds: int) -> list[float]:
    """Microseconds of a run of each, which take turns."""
    runs = [max(1, int(SLICE / max(each.seconds(2) / 2, 1e-7))) for each in programs]
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for each, count, found in zip(programs, runs, times, strict=True):
            found.append(each.seconds(count) / count)
    return [median(each) * 1e6 for each in times]


def compared(
    model: Path, options: argparse.Namespace, folder: Path
) -> Iterator[tuple[list[str], list[float]]]:
    """For each peer the cells of its row, and the ratios of the builds."""
    (frame,) = reference_for(model).frames(1, seed=0)
    header = bundle(model, folder / model.stem)
    builds = [ours(header, flags, frame) for flags in FLAGS]
    python = None if quantized(model) else options.peer_python
    others = list(peers(model, frame, python, folder))
    times = medians([*builds, *others], options.rounds)
    mine, theirs = times[: len(builds)], times[len(builds) :]
    found = [each.outputs() for each in builds]
    for peer, reference in zip(others, theirs, strict=True):
        wanted = peer.outputs()
        differences = dict.fromkeys(difference(each, wanted) for each in found)
        cells = [model.stem, peer.name, f"{reference:,.1f}"]
        for microseconds in mine:
            cells += [f"{microseconds:,.1f}", f"{microseconds / reference:.2f}"]
        yield [*cells, ", ".join(differences)], [each / reference for each in mine]


def quantized(model: Path) -> bool:
    """Whether the name of a model says so."""
    return "int8" in model.stem or "qdq" in model.stem


def models(folder: Path, only: str) -> Iterator[Path]:
    """The shared models, where they are, and the nets, with a name that contains this."""
    for path in sorted(SHARED.glob("*.tflite")):
        if only in path.name:
            yield path
    path = folder / "mobilenet_v2_035_int8.tflite"
    if only in path.name:
        path.write_bytes(mobilenet())
        yield path
    for name, made in CHOSEN.items():
        for form in ("float", "qdq_channels"):
            path = folder / f"{name}_{form}.onnx"
            if only in path.name:
                written(made(), form, path)
                yield path


def main() -> None:
    """Print the table and the means."""
    options = _arguments()
    rows: list[list[str]] = []
    ratios: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in options.models or models(folder, options.only):
            kind = "quantized" if quantized(model) else "float"
            for cells, found in compared(model, options, folder):
                rows.append(cells)
                ratios[kind, cells[1]].append(found)
                print(" ".join(cells), file=sys.stderr, flush=True)
    header = ["model", "peer", "us"]
    for flags in FLAGS:
        header += [flags, "ratio"]
    print(table((*header, "outputs"), rows, right=range(2, len(header))))
    for (kind, peer), each in sorted(ratios.items()):
        columns = zip(zip(*each, strict=True), FLAGS, strict=True)
        means = (
            f"{geometric_mean(column):.2f}, {max(column):.2f} at most ({flags})" for column, flags in columns
        )
        print(f"{kind}, over {peer}: geometric mean {'; '.join(means)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--peer-python", type=Path, metavar="FILE", help="a Python that has IREE and emx-onnx-cgen"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
