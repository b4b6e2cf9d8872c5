"""Measure how many cycles the convolutions of a model take in Verilated RTL, and write them as a cost file.

    python benchmarks/rtl_cycles.py MODEL --soc SOC [-o costs.json]

Every convolution that a target_arch with RTL takes is placed there, the bundle is built with the RTL and run
once on a random input. An operator's cycles are the sum over its commands: the command itself, as the core
counts it, and the accesses to its registers, one cycle each on the bus side. Copies are not among them:
placement counts those by the copy paths of the SoC. `target-arch partition MODEL --soc SOC --cost costs.json`
then places by what was measured.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model, partition_model
from target_arch.plan.kernels import Call
from target_arch.run import ToolMissing, build, run_frames, write_bundle
from target_arch.run.references.find import reference_for
from target_arch.run.references.reference import Reference
from target_arch.soc import SoC, read_soc

ENGINE = "conv2d_engine"
COUNTS = 3
"""Counts at the end of a line of the log: command, register accesses, transfers."""
BEFORE_WORDS = 4
"""Engine, core, begin and end."""

Words = tuple[int, ...]


def main() -> int:
    """Exit codes as those of `target-arch`: 2 the input is wrong, 3 a tool is missing."""
    options = _arguments()
    try:
        costs = measure(options.model, read_soc(options.soc))
    except ToolMissing as error:
        print(error, file=sys.stderr)
        return 3
    except DiagnosticError as error:
        print(error, file=sys.stderr)
        return 2
    text = json.dumps(costs, indent=2) + "\n"
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text)
    return 0


def measure(model: Path, soc: SoC) -> dict[str, Any]:
    """The cost file: cycles of each operator, and of one multiply-accumulate on average, per target_arch."""
    made = compile_model(CompileRequest(model_path=model, soc=soc, require=_taken(model, soc)))
    found = operators(made, _commands(made, reference_for(model)))
    return {"schema": 1, "operators": {arch: _table(made, found[arch]) for arch in sorted(found)}}


def operators(made: CompiledModel, cycles: Mapping[Words, int]) -> dict[str, dict[str, int]]:
    """Cycles per target_arch and operator id, from the cycles of each command."""
    found: dict[str, dict[str, int]] = {}
    for kernel in made.kernels.values():
        arch = made.request.soc.instance(kernel.instance).arch
        if arch.backend != ENGINE:
            continue
        table = found.setdefault(arch.name, {})
        for action in kernel.actions:
            if isinstance(action, Call):
                table[action.operator] = table.get(action.operator, 0) + cycles[action.words]
    return found


def read_log(text: str) -> dict[Words, int]:
    """Cycles by the words of a command. How long one takes follows from its words alone."""
    found: dict[Words, int] = {}
    for line in text.splitlines():
        fields = [int(field) for field in line.split()[1:]]
        command, access, _ = fields[-COUNTS:]
        found[tuple(fields[BEFORE_WORDS - 1 : -COUNTS])] = command + access
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--soc", required=True)
    parser.add_argument("-o", "--output", type=Path)
    return parser.parse_args()


def _taken(model: Path, soc: SoC) -> dict[str, str]:
    """The operators that a target_arch with RTL takes, and which."""
    graph = partition_model(CompileRequest(model_path=model, soc=soc))
    return {
        choice.operator: soc.instance(candidate.instance).arch.name
        for choice in graph.choices
        for candidate in choice.candidates
        if candidate.refusal is None and soc.instance(candidate.instance).arch.backend == ENGINE
    }


def _commands(made: CompiledModel, reference: Reference) -> dict[Words, int]:
    frame = b"".join(value.tobytes() for value in reference.frames(1, 0)[0])
    with tempfile.TemporaryDirectory() as folder:
        directory, log = Path(folder) / "bundle", Path(folder) / "cycles"
        write_bundle(made.bundle, directory)
        executable = build(directory, rtl=True)
        os.environ["TARGET_ARCH_RTL_CYCLES"] = str(log)
        try:
            run_frames(executable, [frame])
        finally:
            del os.environ["TARGET_ARCH_RTL_CYCLES"]
        return read_log(log.read_text())


def _table(made: CompiledModel, cycles: Mapping[str, int]) -> dict[str, str]:
    macs = sum(_macs(made, operator) for operator in cycles)
    table = {operator: f"{cycles[operator]} cycles" for operator in sorted(cycles)}
    return {"conv2d": f"{sum(cycles.values()) / macs:.4f} cycles/mac", **table}


def _macs(made: CompiledModel, id: str) -> int:
    operator = next(each for each in made.model.operators if each.id == id)
    _, height, width, channels = made.model.tensors[operator.output].shape
    weights = made.model.tensors[operator.constants[0]]
    return height * width * channels * weights.bytes // weights.shape[0]


if __name__ == "__main__":
    sys.exit(main())
