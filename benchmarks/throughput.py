"""Frames in flight.

    python -m benchmarks.throughput [--only NAME] [--models FOLDER] [--objective latency] [--divide host]
        [--resident auto] [--in-turn]

All reference models on all shipped SoCs with more than one instance, compiled with as many frames in flight
as make results come faster, placed for throughput unless `--objective` says otherwise. For each: the
simulated run, the simulated period, its bound (the busiest instance, engine or host, or a memory that has no
room for two of a buffer) and what that is, the gap between both, the run over the period, frames, and the
bytes of the workspaces of a run and of the pipeline. Exit code 1 where a period is below its bound.

With `--in-turn` each is also placed for the shortest run, which brings its weights itself. How much longer a
frame takes where such runs come one after the other is printed last.
"""

import argparse
import sys
from pathlib import Path

from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.division import Divide
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.objective import Objective
from target_arch.plan.resident import Resident
from target_arch.resources import soc_configs
from target_arch.soc import read_soc

MODELS = Path(__file__).parents[2] / "shared" / "models"


def main() -> int:
    """Exit code: 0 unless a period is below its bound."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="NAME", help="models and SoCs with that in their names")
    parser.add_argument("--objective", default="throughput", choices=("latency", "throughput"))
    parser.add_argument("--divide", default=Divide.NEVER, choices=tuple(Divide))
    parser.add_argument("--resident", default=Resident.NEVER, choices=tuple(Resident))
    parser.add_argument("--in-turn", action="store_true", help="also the shortest run, one after the other")
    parser.add_argument("--models", type=Path, default=MODELS, metavar="FOLDER")
    options = parser.parse_args()
    wrong = 0
    print(f"{'':32} {'run':>9} {'period':>9} {'bound':>9}  {'gap':>6}  {'faster':>6}  frames  bytes, busiest")
    for model in sorted(options.models.glob("*.tflite")):
        for config in sorted(soc_configs().glob("*.toml")):
            name = f"{model.stem} {config.stem}"
            if options.only in name and len(read_soc(config.stem).instances) > 1:
                request = CompileRequest(
                    model_path=model,
                    soc=read_soc(config.stem),
                    frames="auto",
                    objective=Objective(options.objective),
                    divide=options.divide,
                    resident=options.resident,
                )
                wrong += _row(name, request, options.in_turn)
    return 1 if wrong else 0


def _row(name: str, request: CompileRequest, in_turn: bool) -> int:
    try:
        made = compile_model(request)
    except DiagnosticError as refusal:
        print(f"{name:32} {str(refusal).splitlines()[0]}", flush=True)
        return 0
    found = made.frames
    assert found is not None
    times = (found.alone, found.period, found.bound)
    told = " ".join(f"{time * 1e6:9.1f}" for time in times)
    told += f"  {found.gap:6.1%}  {found.alone / found.period:6.2f}  {found.frames:6}"
    told += f"  {_bytes(made.plan):,} -> {_bytes(found.plan):,}, {found.busiest}"
    if in_turn:
        shortest = _shortest_run(request)
        told += f"; in turn {shortest * 1e6:.1f}, {shortest / found.period:.2f} times as long"
    print(f"{name:32} {told}", flush=True)
    return int(found.gap < -1e-9)


def _shortest_run(request: CompileRequest) -> float:
    """The simulated seconds of a run that nothing but its own time was planned for."""
    divide = Divide.NEVER if request.divide is Divide.HOST else request.divide
    alone = evolve(request, frames=None, objective=Objective.LATENCY, resident=Resident.NEVER, divide=divide)
    execution = compile_model(alone).execution
    return 0.0 if execution is None else execution.makespan


def _bytes(plan: MemoryPlan) -> int:
    return sum(peak for arena, peak in plan.peaks.items() if arena.shareable)


if __name__ == "__main__":
    sys.exit(main())
