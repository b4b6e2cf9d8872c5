"""Energy of published silicon as an objective: `python -m benchmarks.energy`.

MLPerf Tiny publishes milliseconds and microjoules of the STM32U3C5 twice: of its Cortex-M33 alone, and with
the HSP, its signal processor, which is quicker for all four models and takes more energy for three of them.
Each model gets the published time and energy of both, divided over its operators as the time on the
Cortex-M33 is by our estimates; copies between the two are for nothing. Printed are the run and its energy by
the objective, and how many operators are on the HSP: for a short run, for the least energy, and for the least
energy in the mean of both published times, with its lower bound.

That is as far as public times go: nothing says what an operator takes on the HSP or what a hand-over costs,
and no backend here writes its commands, so that nothing here could run on the part. Needs `../shared`.
"""

import argparse
import csv
import tempfile
from collections.abc import Mapping
from pathlib import Path

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model, partition_model
from target_arch.plan.printed.text import table
from target_arch.resources import soc_configs
from target_arch.soc import SoC, read_soc
from target_arch.soc.costs import Costs, Measured, MeasuredTime

SHARED = Path(__file__).parents[2] / "shared"
TASKS: Mapping[str, str] = {
    "kws": "kws_int8",
    "vww": "vww_96_int8",
    "ic": "ic_resnet_int8",
    "ad": "ad01_int8",
}
CHIPS: Mapping[str, str] = {"host_cpu": "STM32U3C5", "hsp": "STM32U3C5 + HSP"}
_HSP = """[target_arch.hsp]
backend = "c"
device = { type = "kDLCPU", id = 1 }
clock = "96 MHz"
memory = ["sram"]
operands = "outputs"
load = { process = "firmware", image = "hsp.elf" }

[memory_mode.default]"""


def main() -> None:
    """Print a row for each model and objective."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.energy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soc = with_hsp(Path(folder))
    rows = [row for task in TASKS for row in _rows(task, soc)]
    head = ("model", "objective", "run", "energy", "on the HSP", "bound", "above")
    print(table(head, rows, right=range(2, 7)), end="")


def with_hsp(folder: Path) -> SoC:
    """The STM32U3C5 with a second instance that sees its memories."""
    text = (soc_configs() / "chips" / "stm32u3c5.toml").read_text()
    for base in ("0x0800_0000", "0x2000_0000"):
        text = text.replace(f"base = {base}", f"base = {base}\nobservers = {{ hsp = {base} }}")
    text = text.replace("[memory_mode.default]", _HSP).replace(
        'order = ["host_cpu"]', 'order = ["hsp", "host_cpu"]'
    )
    file = folder / "stm32u3c5_hsp.toml"
    file.write_text(text)
    return read_soc(str(file))


def published(task: str) -> dict[str, tuple[float, float]]:
    """Seconds and joules of a task by target_arch."""
    with (SHARED / "silicon" / "mlperf_tiny.csv").open() as file:
        rows = {row["chip"]: row for row in csv.DictReader(file)}
    picked = {arch: rows[chip] for arch, chip in CHIPS.items()}
    return {
        arch: (float(row[f"{task}_ms"]) / 1e3, float(row[f"{task}_uJ"]) / 1e6) for arch, row in picked.items()
    }


def divided_costs(task: str, soc: SoC) -> Costs:
    """The published time and energy of a task, divided over the operators of its model."""
    graph = partition_model(CompileRequest(model_path=_file(task), soc=soc, targets=("host_cpu",)))
    times = {choice.operator: choice.compute("host_cpu") for choice in graph.choices}
    whole = sum(times.values())
    return Costs(
        operators={
            arch: {
                id: Measured(time=MeasuredTime(amount=seconds * own / whole), energy=joules * own / whole)
                for id, own in times.items()
            }
            for arch, (seconds, joules) in published(task).items()
        }
    )


def _file(task: str) -> Path:
    return SHARED / "models" / f"{TASKS[task]}.tflite"


def _rows(task: str, soc: SoC) -> list[tuple[str, ...]]:
    costs, times = divided_costs(task, soc), [seconds for seconds, _ in published(task).values()]
    within = sum(times) / len(times)
    wishes = {
        "latency": CompileRequest(model_path=_file(task), soc=soc, costs=costs),
        "energy": CompileRequest(model_path=_file(task), soc=soc, costs=costs, objective="energy"),
        f"energy within {within * 1e3:.1f} ms": CompileRequest(
            model_path=_file(task), soc=soc, costs=costs, objective="energy", within=within
        ),
    }
    return [_row(task, name, compile_model(wish)) for name, wish in wishes.items()]


def _row(task: str, name: str, made: CompiledModel) -> tuple[str, ...]:
    facts, run = made.graph.facts, made.execution
    assert facts is not None
    assert run is not None
    on = sum(choice.instance == "hsp" for choice in made.graph.choices)
    bound = "" if facts.objective is None else f"{facts.objective.bound * 1e6:.1f} uJ"
    above = "" if facts.objective is None else f"{facts.objective.gap:.2%}"
    energy, count = f"{facts.energy * 1e6:.1f} uJ", f"{on} of {len(made.graph.choices)}"
    return (task, name, f"{run.makespan * 1e3:.2f} ms", energy, count, bound, above)


if __name__ == "__main__":
    main()
