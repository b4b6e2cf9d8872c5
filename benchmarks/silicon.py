"""Predicted time of MLPerf Tiny's models beside the published time of chips, each task left out of the fit.

    python -m benchmarks.silicon [--classes] [--energy] [--bounds]

For TFLite Micro and microTVM with CMSIS-NN: the instructions that the backend `cmsis_nn` executes on QEMU's
board, and those of CMSIS-NN's dense layers and additions, which it leaves to C; LLVM's machine code analyser
gives their cycles on the core, and one factor per chip what caches, wait states and the compiler add. The
factor is the geometric mean over the three other tasks. For the chip with an Ethos-U: the simulated run with
Vela's cycles, and for the two tasks whose program takes and gives floats in the vendor's build the time of
converting them, at the time of one value that the other of the two says.

`--classes` prints the shares of classes of instructions and the cycles by the classes of
`target_arch/soc/chip/processors.toml`; `--energy` joules as the power of the other tasks times the published
time, with an accelerator's products on top of the power of its core where that was published alone, and from
one voltage to another; `--bounds` this project's own kernels beside the best published time of each chip.
Needs what `benchmarks.machine_code` needs, `../shared`, and Vela.
"""

import argparse
import csv
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import exp, log
from pathlib import Path
from statistics import fmean, median

from attrs import frozen

from benchmarks.instructions import LIBRARY, MACHINES, NAMES, SHARED, with_library
from benchmarks.machine_code import (
    PROCESSORS,
    AnalysedProcessor,
    ExecutedBlock,
    classes,
    cycles,
    executed,
    executed_program,
)
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.printed.text import table
from target_arch.relax.importer import import_model
from target_arch.soc import read_soc
from target_arch.soc.chip.processors import processors

TASKS: Mapping[str, str] = dict(zip(NAMES, ("kws", "vww", "ic", "ad"), strict=True))
_SHOWN = 4
"""Functions of each task that is predicted below what is published."""
_NUMBER = re.compile(r"[0-9.]+")
_VOLTS = re.compile(r" ([0-9.]+) V$")
_ENOUGH = 3
"""Tasks with microjoules, without which nothing is predicted of a chip."""
_REST = Path(__file__).with_name("cmsis_nn_rest.c")
_FUNCTIONS = (
    "arm_fully_connected_s8.c",
    "arm_nn_vec_mat_mult_t_s8.c",
    "arm_nn_vec_mat_mult_t_per_ch_s8.c",
    "arm_elementwise_add_s8.c",
    "arm_vector_sum_s8.c",
)
_BOARDS = {
    "Cortex-M7": ("mps2-an386", "cortex-m4", "soft"),
    "Cortex-M55": ("mps3-an547", "cortex-m55", "hard"),
}


CONVERTED: Mapping[str, int] = {"ic": 32 * 32 * 3 + 10, "ad": 2 * 640}
"""Values that Renesas' compiler converts from and to floats on the processor of the RA8P1, by task: its model
zoo has a unit of the processor before and behind that of the NPU for these two, and none for the others.
"""


@frozen(kw_only=True)
class PublishedRow:
    """A row of the table: milliseconds and microjoules by task; none where nothing was published."""

    chip: str
    framework: str
    megahertz: float
    milliseconds: Mapping[str, float]
    microjoules: Mapping[str, float]


@frozen(kw_only=True)
class PredictedChip:
    """A row that is predicted from instructions: its chip, the words of its framework, and the processor."""

    chip: str
    framework: str
    processor: str


CHIPS = (
    PredictedChip(chip="STM32L4R5", framework="microTVM + CMSIS-NN", processor="cortex-m4"),
    PredictedChip(chip="RA6M4", framework="TFLM", processor="cortex-m33"),
    PredictedChip(chip="RA8D1", framework="TFLM", processor="cortex-m85"),
    PredictedChip(chip="RA8D1", framework="TFLM", processor="cortex-m55"),
)
"""RA8D1 twice: by LLVM's table of the Cortex-M85, and by the Cortex-M55's."""
_OWN = (
    ("STM32L4R5", "cortex-m4"),
    ("STM32U575", "cortex-m33"),
    ("STM32H7A3", "cortex-m7"),
    ("RA8D1", "cortex-m85"),
)


_REPLACED = {"ad": (("host_cpu_dense", "ta_s8_"), "DENSE"), "ic": (("host_cpu_add",), "ADD")}
"""By task, words in the names of our own functions, and the case of `cmsis_nn_rest.c` that stands for them,
as the backend does not call CMSIS-NN there.
"""


def published() -> tuple[PublishedRow, ...]:
    """The rows of the table beside the repository."""
    with (SHARED / "silicon" / "mlperf_tiny.csv").open(encoding="utf-8") as file:
        return tuple(
            PublishedRow(
                chip=row["chip"],
                framework=row["framework_round"],
                megahertz=float(_NUMBER.findall(row["MHz"])[0]),
                milliseconds={t: float(row[f"{t}_ms"]) for t in TASKS.values() if row[f"{t}_ms"]},
                microjoules={t: float(row[f"{t}_uJ"]) for t in TASKS.values() if row[f"{t}_uJ"]},
            )
            for row in csv.DictReader(file)
        )


def library_blocks(machine: str) -> dict[str, tuple[ExecutedBlock, ...]]:
    """By task, what TFLite Micro executes with CMSIS-NN on a board's core."""
    soc = with_library(read_soc(MACHINES[machine].soc), LIBRARY, MACHINES[machine].core)
    found = {}
    for name, task in TASKS.items():
        blocks = executed(SHARED / "models" / f"{name}.tflite", soc, keep_dead=True)
        if task in _REPLACED:
            own, case = _REPLACED[task]
            kept = tuple(each for each in blocks if not any(word in each.function for word in own))
            assert len(kept) < len(blocks), f"{task} has no function of {' or '.join(own)}"
            blocks = (*kept, *_rest(machine, case))
        found[task] = blocks
    return found


def _rest(machine: str, case: str) -> tuple[ExecutedBlock, ...]:
    """The functions of CMSIS-NN that the backend does not call."""
    board, cpu, floats = _BOARDS[machine]
    sources = [str(next((LIBRARY / "Source").rglob(name))) for name in _FUNCTIONS]
    flags = (f"-mcpu={cpu}", "-mthumb", f"-mfloat-abi={floats}", "-O2", "-std=gnu99", f"-D{case}")
    places = "-Wl,--section-start=.vectors=0,-Ttext=0x40,-Tdata=0x20000000,-u,vectors,-e,vectors"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "rest"
        link = ("-nostartfiles", places, "-o", str(program))
        command = ("arm-none-eabi-gcc", *flags, f"-I{LIBRARY / 'Include'}", str(_REST), *sources, *link)
        subprocess.run(command, check=True)
        blocks = executed_program(program, board, folder)
        return tuple(each for each in blocks if each.function.startswith(("arm_", "mem")))


def left_out(measured: Mapping[str, float], expected: Mapping[str, float]) -> dict[str, float]:
    """By task, the prediction with the factor of the other tasks."""
    ratios = {task: measured[task] / expected[task] for task in measured}
    return {
        task: expected[task] * exp(fmean(log(ratios[other]) for other in ratios if other != task))
        for task in measured
    }


@frozen(kw_only=True)
class Prediction:
    """A published number of a chip and its prediction."""

    chip: str
    task: str
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """How far it is off, as a part of the published number."""
        return self.predicted / self.published - 1


def from_instructions(
    rows: Sequence[PublishedRow], blocks: Mapping[str, Mapping[str, tuple[ExecutedBlock, ...]]]
) -> Iterator[Prediction]:
    """Milliseconds of the chips that run CMSIS-NN."""
    for chip in CHIPS:
        row = next(r for r in rows if r.chip == chip.chip and r.framework.startswith(chip.framework))
        processor = PROCESSORS[chip.processor]
        expected = {
            task: cycles(some, processor) / (row.megahertz * 1e3)
            for task, some in blocks[processor.machine].items()
        }
        found = left_out(row.milliseconds, expected)
        for task, value in row.milliseconds.items():
            name = f"{chip.chip}, {chip.processor}"
            yield Prediction(chip=name, task=task, published=value, predicted=found[task])


def on_the_unit() -> dict[str, float]:
    """Milliseconds of the tasks on the RA8P1's Ethos-U55, everything there that it takes."""
    soc = read_soc("ra8p1")
    found = {}
    for name, task in TASKS.items():
        model = SHARED / "models" / f"{name}.tflite"
        request = CompileRequest(model_path=model, soc=soc, keep_dead=True, prefer={"*": "npu"})
        run = compile_model(request).execution
        assert run is not None
        found[task] = run.makespan * 1e3
    return found


def of_a_value(row: PublishedRow, unit: Mapping[str, float], without: str = "") -> float:
    """Milliseconds of converting one value, by the tasks that do, but one."""
    return fmean(
        (row.milliseconds[task] - unit[task]) / count for task, count in CONVERTED.items() if task != without
    )


def from_vela(rows: Sequence[PublishedRow]) -> Iterator[Prediction]:
    """Milliseconds of the chip with an Ethos-U55."""
    row = next(row for row in rows if row.chip == "RA8P1")
    unit = on_the_unit()
    for task, own in unit.items():
        converting = CONVERTED.get(task, 0) * of_a_value(row, unit, task)
        published = row.milliseconds[task]
        yield Prediction(chip="RA8P1, Vela", task=task, published=published, predicted=own + converting)


def energies(rows: Sequence[PublishedRow]) -> Iterator[Prediction]:
    """Microjoules by the power of the other tasks and the published time. Where the chip's core was published
    alone, too, its power counts, and what an accelerator takes on top is for its multiply-accumulates.
    """
    products = multiply_accumulates()
    for row in rows:
        core = alone(rows, row)
        if len(row.microjoules) < _ENOUGH:
            continue
        found = left_out(row.microjoules, row.milliseconds)
        if core is not None:
            found = beside_core(row, core, products)
        for task, value in row.microjoules.items():
            yield Prediction(chip=_named(row), task=task, published=value, predicted=found[task])


def multiply_accumulates() -> dict[str, int]:
    """The multiply-accumulates of each task's model, all of which run on chips."""
    models = {task: import_model(SHARED / "models" / f"{name}.tflite")[0] for name, task in TASKS.items()}
    return {task: sum(map(model.macs, model.operators)) for task, model in models.items()}


def alone(rows: Sequence[PublishedRow], row: PublishedRow) -> PublishedRow | None:
    """The row of a chip without its accelerator, by the same framework; None where there is none."""
    chip, _, accelerator = row.chip.partition(" + ")
    both = (one for one in rows if accelerator and (one.chip, one.framework) == (chip, row.framework))
    return next(both, None)


def beside_core(row: PublishedRow, core: PublishedRow, products: Mapping[str, int]) -> dict[str, float]:
    """Microjoules of each task: its time at the core's power, and its multiply-accumulates at the energy of
    one; both by the other tasks.
    """
    found = {}
    for task, took in row.milliseconds.items():
        others = [other for other in row.microjoules if other != task]
        power = exp(fmean(log(core.microjoules[each] / core.milliseconds[each]) for each in others))
        more = {each: row.microjoules[each] - power * row.milliseconds[each] for each in others}
        energy = exp(fmean(log(more[each] / products[each]) for each in others))
        found[task] = power * took + energy * products[task]
    return found


def at_other_voltages(rows: Sequence[PublishedRow]) -> Iterator[Prediction]:
    """Microjoules of chips that were published at two voltages, from the lower one's: as the square of the
    voltage, with nothing fitted.
    """
    for low, high in product(rows, repeat=2):
        if _chip(low) == _chip(high) and 0 < _voltage(low) < _voltage(high):
            for task, value in high.microjoules.items():
                expected = low.microjoules[task] * (_voltage(high) / _voltage(low)) ** 2
                yield Prediction(chip=_named(high), task=task, published=value, predicted=expected)


def _voltage(row: PublishedRow) -> float:
    """The volts in a row's name; 0 where it names none."""
    found = _VOLTS.search(row.chip)
    return float(found[1]) if found else 0.0


def _chip(row: PublishedRow) -> str:
    """The name of a row's chip, without its volts."""
    return _VOLTS.sub("", row.chip)


def _named(row: PublishedRow) -> str:
    return f"{row.chip}, {row.framework}"


def summary(title: str, some: Sequence[Prediction]) -> str:
    """A line about the errors."""
    errors = [abs(each.error) for each in some]
    return f"{title}: median error {median(errors):.1%}, worst {max(errors):.0%}, {len(errors)} numbers"


def show(some: Sequence[Prediction], unit: str) -> None:
    """Print a table of predictions."""
    rows = [(p.chip, p.task, f"{p.published:.4g}", f"{p.predicted:.4g}", f"{p.error:+.0%}") for p in some]
    print(table(("chip", "task", f"published {unit}", f"predicted {unit}", "error"), rows, right=(2, 3, 4)))


def show_classes(blocks: Mapping[str, Mapping[str, tuple[ExecutedBlock, ...]]]) -> None:
    """Print shares of classes, and cycles per instruction by the classes of every processor."""
    for machine, tasks in blocks.items():
        for task, some in tasks.items():
            counts = classes(some)
            shares = ", ".join(f"{kind} {count / counts.total():.3f}" for kind, count in counts.most_common())
            print(f"{machine} {task}: {shares}")
            own = [name for name, each in PROCESSORS.items() if each.machine == machine]
            by_class = {name: processors()[name].total(counts) / counts.total() for name in own}
            print("  " + ", ".join(f"{name} {value:.3f}" for name, value in by_class.items()))


def show_bounds(
    rows: Sequence[PublishedRow],
    machine_factor: Mapping[str, float],
    library: Mapping[str, Mapping[str, tuple[ExecutedBlock, ...]]],
) -> None:
    """Print this project's own kernels beside the best published time of each chip, and where they are below
    it the functions that take most, of both.
    """
    lines, functions = [], []
    for chip, name in _OWN:
        processor = PROCESSORS[name]
        own_rows = [row for row in rows if row.chip.startswith(chip)]
        for model, task in TASKS.items():
            soc = read_soc(MACHINES[processor.machine].soc)
            blocks = executed(SHARED / "models" / f"{model}.tflite", soc, keep_dead=False)
            factor = machine_factor.get(name, 1.0)
            predicted = factor * cycles(blocks, processor) / (own_rows[0].megahertz * 1e3)
            best = min(row.milliseconds[task] for row in own_rows if task in row.milliseconds)
            lines.append((chip, name, task, f"{best:.4g}", f"{predicted:.4g}", f"{predicted / best:.2f}"))
            if predicted < best:
                for whose, some in (("own", blocks), ("CMSIS-NN", library[processor.machine][task])):
                    functions += [(chip, task, whose, *row) for row in _largest(some, processor)]
    header = ("chip", "processor", "task", "best published ms", "own kernels ms", "ratio")
    print(table(header, lines, right=(3, 4, 5)))
    header = ("below", "task", "kernels", "function", "thousand instructions", "thousand cycles")
    print(table(header, functions, right=(4, 5)))


def _largest(blocks: Sequence[ExecutedBlock], processor: AnalysedProcessor) -> Iterator[tuple[str, str, str]]:
    """The functions that take most cycles: their name, instructions and cycles in thousands."""
    by_name: dict[str, list[ExecutedBlock]] = {}
    for each in blocks:
        by_name.setdefault(each.function.split(".", maxsplit=1)[0], []).append(each)
    taken = {name: cycles(some, processor) for name, some in by_name.items()}
    for name in sorted(taken, key=lambda name: -taken[name])[:_SHOWN]:
        count = sum(each.instructions for each in by_name[name])
        yield name, f"{count / 1e3:,.0f}", f"{taken[name] / 1e3:,.0f}"


def factors(
    rows: Sequence[PublishedRow], blocks: Mapping[str, Mapping[str, tuple[ExecutedBlock, ...]]]
) -> dict[str, float]:
    """By processor, the factor of its chip over all tasks."""
    found = {}
    for chip in CHIPS:
        row = next(r for r in rows if r.chip == chip.chip and r.framework.startswith(chip.framework))
        processor = PROCESSORS[chip.processor]
        ratios = [
            row.milliseconds[task] * row.megahertz * 1e3 / cycles(some, processor)
            for task, some in blocks[processor.machine].items()
        ]
        found[chip.processor] = exp(fmean(map(log, ratios)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--energy", action="store_true")
    parser.add_argument("--bounds", action="store_true")
    options = parser.parse_args(arguments)
    rows = published()
    if options.energy:
        found = list(energies(rows))
        show(found, "uJ")
        print(summary("energy, each task left out", found))
        both = {_named(row) for row in rows if alone(rows, row) is not None}
        print(summary("of which with a core that is known alone", [p for p in found if p.chip in both]))
        scaled = list(at_other_voltages(rows))
        show(scaled, "uJ")
        print(summary("energy at a higher voltage", scaled))
        return
    blocks = {machine: library_blocks(machine) for machine in _BOARDS}
    if options.classes:
        show_classes(blocks)
        return
    if options.bounds:
        show_bounds(rows, factors(rows, blocks), blocks)
        return
    timed = list(from_instructions(rows, blocks))
    vela = list(from_vela(rows))
    show((*timed, *vela), "ms")
    for name, factor in factors(rows, blocks).items():
        print(f"factor of {name}: {factor:.3f}")
    for title, other in (("cortex-m85", "cortex-m55"), ("cortex-m55", "cortex-m85")):
        print(summary(f"CMSIS-NN, RA8D1 as {title}", [p for p in timed if not p.chip.endswith(other)]))
    print(summary("Vela", vela))
    print(summary("both, RA8D1 as cortex-m55", [*(p for p in timed if not p.chip.endswith("m85")), *vela]))


if __name__ == "__main__":
    main()
