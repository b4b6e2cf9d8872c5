"""Estimated cycles of every step beside measured ones, and the rates that fit them.

    python -m benchmarks.estimates [--only TEXT] [--errors | --page] [--fit] [--clock HERTZ]

Models are those of `benchmarks.instructions`, and `ic_resnet_fp32`. Cortex-M7 (isa `armv7e-m`), Cortex-M55
(`armv8.1-m`), and Cortex-M7 without its DSP extension (`generic`) are instructions counted on boards in QEMU;
x86-64 are cycles at `--clock`, from the least time of many runs. The table in `docs/kernels.md` is this
program's with `--page`. `--errors` prints only how far estimates are off.

Of the steps with different functions every second one is for calibration: `--fit` prints the rates that fit
these best (non-negative least squares of relative errors, with SciPy), for `plain_c/work/rates.py`. Errors
are stated for the other half too.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from attrs import frozen

from benchmarks.instructions import NAMES, SHARED, with_isa
from target_arch.backends.plain_c.kernels.pick import predicted
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.emit.programs.tracer import trace_table
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Call
from target_arch.plan.printed.text import table
from target_arch.run import Compiler, build, read_manifest, reference_for, run_on_machine, write_bundle
from target_arch.run.execute.traced import traced
from target_arch.soc import read_soc
from target_arch.soc.words import InstructionSet

MODELS = (*NAMES, "ic_resnet_fp32")
_RUNS = 200
_CALL = 200.0
"""Cycles of a call that are not fitted: few steps are small enough to show them."""


@frozen(kw_only=True)
class Machine:
    """The SoC file of a processor, its port, and the compiler's words where they are not the port's."""

    soc: str
    isa: InstructionSet
    port: str = "qemu_mps2"
    compiler: tuple[str, ...] = ()


MACHINES: Mapping[str, Machine] = {
    "Cortex-M7": Machine(soc="mcu_m7", isa=InstructionSet.ARMV7E_M),
    "Cortex-M55": Machine(soc="mcu_m55", isa=InstructionSet.ARMV8_1_M),
    "generic": Machine(
        soc="mcu_m7",
        isa=InstructionSet.GENERIC,
        compiler=("arm-none-eabi-gcc", "-DTA_KERNELS_PORTABLE"),
    ),
    "x86-64": Machine(soc="mcu_m7", isa=InstructionSet.X86_64, port="host"),
}


@frozen(kw_only=True)
class Step:
    """A call of a function: its operators' kernels, their work, and cycles."""

    model: str
    operator: str
    function: str
    how: str
    work: Work
    estimated: float
    measured: float

    @property
    def error(self) -> float:
        """How far the estimate is off, as a share of the measurement."""
        return self.estimated / self.measured - 1


def steps(name: str, machine: Machine, clock: float) -> Iterator[Step]:
    """The calls of a model on a machine."""
    path = SHARED / "models" / f"{name}.tflite"
    soc = with_isa(read_soc(machine.soc), machine.isa)
    made = compile_model(CompileRequest(model_path=path, soc=soc, port=machine.port))
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        write_bundle(made.bundle, bundle)
        measured = _measured(path, bundle, machine, clock)
    calls = [call for kernel in made.kernels.values() for call in kernel.actions if isinstance(call, Call)]
    for number, call in enumerate(calls):
        following = calls[number + 1].operator if number + 1 < len(calls) else None
        yield _step(name, made, call, following, machine.isa, measured[call.operator])


def _step(
    name: str, made: CompiledModel, call: Call, following: str | None, isa: InstructionSet, measured: float
) -> Step:
    """The call with all operators up to the next call's."""
    operators = made.model.operators
    first = made.model.numbers[call.operator]
    last = len(operators) if following is None else made.model.numbers[following]
    picks = [predicted(operator, made.model, isa) for operator in operators[first:last]]
    work: dict[WorkUnit, float] = {}
    for pick in picks:
        work |= {part: work.get(part, 0) + count for part, count in pick.work.items()}
    return Step(
        model=name,
        operator=call.operator,
        function=call.function,
        how=" and ".join(str(pick.kernel or "definition") for pick in picks),
        work=work,
        estimated=sum(cycles(pick.work, isa) for pick in picks),
        measured=measured,
    )


def _measured(path: Path, bundle: Path, machine: Machine, clock: float) -> dict[str, float]:
    """Cycles by the operator of a step."""
    (model,) = read_manifest(bundle).models
    words = [step.what.split() for step in model.steps]
    compiler = Compiler(command=machine.compiler, version="") if machine.compiler else None
    (inputs,) = reference_for(path).frames(1, seed=0)
    frame = b"".join(part.tobytes() for part in inputs)
    if machine.port == "host":
        source = trace_table(model.name, (), len(words))
        traces = traced(build(bundle, tracer=source), (), (frame,) * _RUNS)
        counts = [float(least) * clock for least in np.min([each.seconds for each in traces], axis=0)]
    else:
        _, profile = run_on_machine(build(bundle, compiler=compiler), (frame,))
        counts = [float(count) for count in profile.steps]
    return {word[1]: count for word, count in zip(words, counts, strict=True) if word[0] == "dispatch"}


def halves(found: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Steps with different functions and times, by turns for calibration and for the statement of errors."""
    different = list({(step.function, round(step.measured, -2)): step for step in found}.values())
    kinds = sorted({step.how for step in different})
    fitted: list[Step] = []
    for kind in kinds:
        fitted += [step for step in different if step.how == kind][::2]
    return fitted, [step for step in different if step not in fitted]


_TOGETHER = (WorkUnit.GATHERED, WorkUnit.GROUP, WorkUnit.REAL_PRODUCT)
"""A unit of each kernel, in the order in which kernels are fitted; what was fitted before is known."""


def fit(fitted: Sequence[Step]) -> dict[WorkUnit, float]:
    """The rates that fit steps of kernels best. Where a kernel works in strips, too few steps remain to tell
    products at a border from others.
    """
    from scipy.optimize import nnls

    strips = any(WorkUnit.STRIP in step.work for step in fitted)
    same = {WorkUnit.EDGE: WorkUnit.TAP} if strips else {}
    rates: dict[WorkUnit, float] = {WorkUnit.CALL: _CALL}
    for kernel in _TOGETHER:
        some = [step for step in fitted if kernel in step.work and WorkUnit.CALL in step.work]
        names = sorted({same.get(part, part) for step in some for part in step.work} - set(rates))
        if not names:
            continue
        shares = np.zeros((len(some), len(names)))
        rest = np.ones(len(some))
        for row, step in enumerate(some):
            for part, count in step.work.items():
                if part in rates:
                    rest[row] -= rates[part] * count / step.measured
                else:
                    shares[row, names.index(same.get(part, part))] += count / step.measured
        scale = np.where(shares.any(axis=0), shares.max(axis=0, initial=0), 1)
        found, _ = nnls(shares / scale, rest)
        rates |= dict(zip(names, (found / scale).tolist(), strict=True))
    return rates | {part: rates[other] for part, other in same.items() if other in rates}


def errors(title: str, some: Sequence[Step]) -> str:
    """A line about the errors of kernels' steps."""
    off = [abs(step.error) for step in some if WorkUnit.CALL in step.work]
    return f"{title}: {len(off)} steps, mean error {fmean(off):.1%}, greatest {max(off):.0%}"


def page(clock: float) -> Iterator[str]:
    """The lines of a table in Markdown: int8 steps in thousands of instructions, on both Cortex-M."""
    titles = ("Cortex-M7", "Cortex-M55")
    found = [[step for name in NAMES for step in steps(name, MACHINES[title], clock)] for title in titles]
    columns = " | ".join(f"{title[7:]} estimated | measured | error" for title in titles)
    yield f"| model | step | by | {columns} |"
    yield "|---|---|---" + "|---:" * 6 + "|"
    before = ""
    for pair in zip(*found, strict=True):
        step = pair[0]
        numbers = (f"{_thousands(s.estimated)} | {_thousands(s.measured)} | {s.error:+.0%}" for s in pair)
        model = "" if step.model == before else f"`{step.model}`"
        yield f"| {model} | `{step.operator}` | {step.how} | " + " | ".join(numbers) + " |"
        before = step.model


def _thousands(count: float) -> str:
    """Three digits of small numbers, all of large ones."""
    return f"{count / 1000:.1f}" if count < 99_950 else f"{count / 1000:.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="machines whose name contains this")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--errors", action="store_true")
    form.add_argument("--page", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--clock", type=float, default=2.445e9, help="of this computer, in hertz")
    options = parser.parse_args(arguments)
    if options.page:
        print(*page(options.clock), sep="\n")
        return
    for title, machine in MACHINES.items():
        if options.only.lower() not in title.lower():
            continue
        found = [step for name in MODELS for step in steps(name, machine, options.clock)]
        fitted, rest = halves(found)
        if not options.errors:
            rows = [
                (s.model, s.operator, s.how, f"{s.estimated:,.0f}", f"{s.measured:,.0f}", f"{s.error:+.0%}")
                for s in found
            ]
            print(table(("model", "step", "by", "estimated", "measured", "error"), rows, right=(3, 4, 5)))
        print(errors(f"{title}, calibrated", fitted), errors("others", rest), sep="\n", flush=True)
        if options.fit:
            for part, rate in fit(fitted).items():
                print(f"    WorkUnit.{part.name}: {rate:.3g},")


if __name__ == "__main__":
    main()
