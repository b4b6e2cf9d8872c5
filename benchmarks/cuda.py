"""The chip `orin_like` on a CUDA device of this computer: results, and times beside those of the simulated
run.

    python -m benchmarks.cuda [MODEL…] [--rounds 20] [--costs FILE]

Without models: those of ../shared/models. What their operators and copies take on the device is measured
first (`target-arch calibrate --port cuda`), with what every order costs the host, and written to FILE. Each
model is then compiled with these costs for as many frames in flight as make results come faster: *placed* by
them, with all on the device that it takes, and the same with constants that stay there. *outputs* compares a
run with the reference, *orders* are the steps of a frame that the host starts, *assumed* is the simulated run
by the SoC file's own numbers, *predicted* that by the measured costs, *run* the shortest time that one took;
the last two columns are the same for a frame, while others are in flight.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from attrs import evolve

from benchmarks.latency import difference
from benchmarks.two_cores_frames import SHARED, in_flight, runs_of, shortest
from target_arch import calibrate_costs
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.objective import Objective
from target_arch.plan.printed.text import table
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Copy, Dispatch
from target_arch.run import reference_for
from target_arch.soc import read_soc
from target_arch.soc.costs import Costs

_HEADER = (
    "model",
    "placed",
    "outputs",
    "orders",
    "assumed us",
    "predicted",
    "run",
    "frames",
    "predicted",
    "frame",
)


_PLACED: Mapping[str, Mapping[str, Any]] = {
    "by costs": {},
    "on the device": {"prefer": {"*": "cuda"}},
    "resident": {"prefer": {"*": "cuda"}, "resident": Resident.AUTO},
}
"""Parts of requests, by what the table calls them."""


def row(request: CompileRequest, costs: Costs, rounds: int, folder: Path) -> list[str]:
    """The cells of a model from `outputs` on; times in microseconds."""
    reference = reference_for(request.model_path)
    (frame,) = reference.frames(1, seed=0)
    assumed = compile_model(evolve(request, objective=Objective.LATENCY, frames=1)).makespan
    plan, program, library = in_flight(evolve(request, costs=costs), frame, folder)
    outputs = difference(program.outputs(), reference.answer(frame)[0])
    best = shortest(library, runs_of(library), rounds)
    times = [f"{each * 1e6:,.0f}" for each in (assumed, plan.alone, best["run"], plan.period, best["frame"])]
    orders = sum(isinstance(s, Copy | Dispatch) and s.event is not None for s in plan.order.steps)
    return [outputs, f"{orders / plan.rounds:.0f}", *times[:3], str(plan.frames), *times[3:]]


def rows(models: Sequence[Path], rounds: int, output: Path | None) -> list[list[str]]:
    """The rows of models. Prints how far costs of models left out are off."""
    report = calibrate_costs(models, "orin_like", port="cuda")
    print(report)
    if output is not None:
        output.write_text(report.cost_file, encoding="utf-8")
    found = []
    for model, placed in product(models, _PLACED):
        request = CompileRequest(
            model_path=model,
            soc=read_soc("orin_like"),
            name="net",
            port="cuda",
            objective=Objective.THROUGHPUT,
            frames="auto",
            **_PLACED[placed],
        )
        with tempfile.TemporaryDirectory() as folder:
            found.append([model.stem, placed, *row(request, report.costs, rounds, Path(folder))])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--costs", type=Path, metavar="FILE")
    options = parser.parse_args()
    models = options.models or sorted(SHARED.glob("*.tflite"))
    print(table(_HEADER, rows(models, options.rounds, options.costs), right=range(3, len(_HEADER))))


if __name__ == "__main__":
    main()
