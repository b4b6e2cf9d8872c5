"""What tuning gains on the int8 models of MLPerf Tiny: kernels before and after, and whole runs of bundles.

    python -m benchmarks.tuning [MODEL...] [--trials N] [--cflags FLAGS] [--cc COMMAND] [--optimize GOAL]

Kernel times are the sums that `target-arch tune` reports, from one run. Whole runs are processor time of the
runner for 50 frames, the least of three, built as the goal's Makefile says; both bundles are first compared
with the reference. The goal is `size` unless another is given, which is without kernels; `--optimize balanced
--cc "cc -DTA_KERNELS_PORTABLE"` has kernels as on a core without forms of its own.
"""

import argparse
import resource
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.goal import Goal
from target_arch.run import Executable, build, reference_for, run_frames, verify, write_bundle
from target_arch.run.tools.toolchain import find_compiler
from target_arch.soc import read_soc
from target_arch.tune import TuneRequest, tune

MODELS = Path(__file__).parents[1].parent / "shared" / "models"
NAMES = ("ad01_int8", "kws_int8", "vww_96_int8", "ic_resnet_int8")
FRAMES = 50


def seconds(executable: Executable, frames: Sequence[bytes]) -> float:
    """Processor time of one frame."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run_frames(executable, frames)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return best / len(frames)


def built(request: CompileRequest, folder: Path, compiler: str) -> Executable:
    """The bundle of a request, which computes every bit as the reference does."""
    write_bundle(compile_model(request).bundle, folder)
    found = verify(request.model_path, folder, count=5)
    assert found.equal == found.outputs, str(found)
    return build(folder, compiler=find_compiler(compiler))


def row(model: Path, trials: int, flags: tuple[str, ...], compiler: str, goal: str) -> str:
    request = CompileRequest(model_path=model, soc=read_soc("mcu_m7"), optimize=goal)
    report = tune(TuneRequest(compilation=request, trials=trials, flags=flags, compiler=compiler))
    kernels = [
        sum(time * len(gain.operators) for gain, time in zip(report.gains, times, strict=True))
        for times in ([g.before for g in report.gains], [g.after for g in report.gains])
    ]
    frames = [
        b"".join(part.tobytes() for part in frame) for frame in reference_for(model).frames(FRAMES, seed=0)
    ]
    better = evolve(request, tuning=report.tuning)
    with tempfile.TemporaryDirectory() as folder:
        plain = seconds(built(request, Path(folder) / "plain", compiler), frames)
        tuned = seconds(built(better, Path(folder) / "tuned", compiler), frames)
    kept = sum(gain.kept for gain in report.gains)
    cells = (
        f"{kept} of {len(report.gains)}",
        *(f"{time * 1e6:,.0f}" for time in kernels),
        f"{kernels[0] / kernels[1]:.2f}",
        *(f"{time * 1e6:,.0f}" for time in (plain, tuned)),
        f"{plain / tuned:.2f}",
    )
    return f"| `{model.stem}` | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="*", type=Path, help="default: the int8 models beside the repository")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--cflags", default="-O2")
    parser.add_argument("--cc", default="cc", metavar="COMMAND")
    parser.add_argument("--optimize", default="size", choices=tuple(Goal))
    options = parser.parse_args()
    models = options.model or [MODELS / f"{name}.tflite" for name in NAMES]
    print("| model | tasks better | kernels, us | tuned | times | whole run, us | tuned | times |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for model in models:
        print(
            row(model, options.trials, tuple(shlex.split(options.cflags)), options.cc, options.optimize),
            flush=True,
        )


if __name__ == "__main__":
    main()
