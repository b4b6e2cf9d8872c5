"""Instructions of one run on emulated processors: plain C, and the same model through Arm's CMSIS-NN.

    python -m benchmarks.instructions [MODEL...] [--only TEXT] [--library FOLDER] [--arm64 FOLDER] [--steps]
                                      [--sizes]

MODEL are files; by default the int8 models beside the repository. Each bundle is first compared with the
model's reference on random inputs; its row says `differs` where an output does. Cortex-M7 and Cortex-M55 are
counted by the timer of the emulated board. AArch64 and RISC-V are programs under QEMU's user mode, with a
plug-in that counts (`block_counter.c`): one run is two frames less one. Portable forms there are those of
the layout that all instruction sets without one of their own have. `--only` keeps the columns
whose name contains TEXT, `--steps` prints every step, or function, of each bundle, and `--sizes` the bytes of
a Cortex-M image and the bound of its stack.

A processor with AVX2 and nothing newer is `qemu-x86_64 -cpu Haswell`. LiteRT on one thread runs there, too,
from Python: its count is that of many runs, less that of a start with one. `--arm64` is a folder with LiteRT
for AArch64, which `benchmarks.arm64_litert` makes: then it is counted on those processors, too.

CMSIS-NN is `../shared/third_party/CMSIS-NN` or `--library`, with the core's instructions (DSP, MVE); without
it its columns are left out.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from benchmarks.arm64_litert import python_of
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.goal import Goal
from target_arch.plan.printed.text import table
from target_arch.run import (
    Compiler,
    Executable,
    build,
    reference_for,
    run_frames,
    run_on_machine,
    write_bundle,
)
from target_arch.run.verification.verify import compare
from target_arch.soc import SoC, read_soc
from target_arch.soc.words import InstructionSet

SHARED = Path(__file__).parents[2] / "shared"
NAMES = ("kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8")
LIBRARY = SHARED / "third_party" / "CMSIS-NN"
FRAMES = 2
"""Random inputs of the comparison."""
_COUNTER = Path(__file__).with_name("block_counter.c")
_TIMEOUT = 600.0
_SHOWN = 1000
"""A function is shown if it takes more than one in that many of all instructions."""


@frozen(kw_only=True)
class Machine:
    """A processor: the SoC file that describes it, and the port of its emulated board. Without a port, the
    emulator of user mode and its compiler. Weights of kernels are laid out for `isa`, where that is not
    the one of the SoC file.
    """

    soc: str
    port: str = "host"
    core: str = ""
    isa: InstructionSet | None = None
    emulator: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()
    litert: bool = False
    """Whether LiteRT runs there: that of this very Python, or on AArch64 that of a folder."""


@frozen(kw_only=True)
class Measured:
    """Instructions of one run, of its parts (steps or functions) by their names, and bytes."""

    equal: bool
    instructions: int
    parts: Mapping[str, int]
    sizes: Mapping[str, int]


_PORTABLE = "-DTA_KERNELS_PORTABLE"
_AARCH64 = ("aarch64-linux-gnu-gcc", "-static")
_QUIET = "-Wno-unused-command-line-argument"
_RISCV = ("clang-16", "--target=riscv64-linux-gnu", "-static")
_VECTORS = Machine(
    soc="mcu_m7",
    isa=InstructionSet.RV64GCV,
    emulator=("qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"),
    # QEMU 7.2 aborts on the vectors of floats that the compiler would make of loops.
    compiler=(*_RISCV, "-march=rv64gcv", "-mllvm", "-vectorize-loops=false", _QUIET),
)
MACHINES: Mapping[str, Machine] = {
    "Cortex-M7": Machine(soc="mcu_m7", port="qemu_mps2", core="dsp"),
    "Cortex-M55": Machine(soc="mcu_m55", port="qemu_mps2", core="mve"),
    "AArch64 portable": Machine(
        soc="mcu_m7",
        isa=InstructionSet.GENERIC,
        emulator=("qemu-aarch64", "-cpu", "cortex-a53"),
        compiler=(*_AARCH64, "-march=armv8-a", _PORTABLE),
    ),
    "AArch64 NEON": Machine(
        soc="mcu_m7",
        isa=InstructionSet.AARCH64,
        emulator=("qemu-aarch64", "-cpu", "cortex-a53"),
        compiler=(*_AARCH64, "-march=armv8-a"),
        litert=True,
    ),
    "AArch64 dot product": Machine(
        soc="mcu_m7",
        isa=InstructionSet.AARCH64,
        emulator=("qemu-aarch64", "-cpu", "neoverse-n1"),
        compiler=(*_AARCH64, "-march=armv8.2-a+dotprod"),
        litert=True,
    ),
    "AArch64 i8mm": Machine(
        soc="mcu_m7",
        isa=InstructionSet.AARCH64,
        emulator=("qemu-aarch64", "-cpu", "max"),
        compiler=(*_AARCH64, "-march=armv8.2-a+dotprod+i8mm"),
        litert=True,
    ),
    "RISC-V portable": Machine(
        soc="mcu_m7",
        isa=InstructionSet.GENERIC,
        emulator=("qemu-riscv64", "-cpu", "rv64"),
        compiler=(*_RISCV, "-march=rv64gc", _PORTABLE),
    ),
    "RISC-V V": _VECTORS,
    "x86-64 AVX2": Machine(
        soc="mcu_m7",
        isa=InstructionSet.X86_64,
        emulator=("qemu-x86_64", "-cpu", "Haswell"),
        litert=True,
    ),
    "RISC-V V of 256 bits": evolve(
        _VECTORS, emulator=("qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256")
    ),
}


def with_isa(soc: SoC, isa: InstructionSet) -> SoC:
    """The same chip, whose host has another instruction set."""
    return evolve(soc, archs=tuple(evolve(each, isa=isa) if each.host else each for each in soc.archs))


def with_library(soc: SoC, library: Path, core: str) -> SoC:
    """The same chip, whose host calls the library where it has a function."""
    options = {"library": str(library), "core": core}
    return evolve(
        soc,
        archs=tuple(
            evolve(each, backend="cmsis_nn", options=options) if each.host else each for each in soc.archs
        ),
    )


def on_board(executable: Executable, frame: bytes) -> tuple[int, dict[str, int]]:
    """Instructions of a run on an emulated board, and of each step by its text."""
    _, profile = run_on_machine(executable, (frame,))
    (model,) = executable.manifest.models
    steps = (step.what for step in model.steps)
    return profile.instructions, dict(zip(steps, profile.steps, strict=True))


def counter(folder: Path) -> Path:
    """The plug-in, compiled."""
    made = folder / "libblock_counter.so"
    flags = ("-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
    subprocess.run(("cc", *flags, "-o", str(made), str(_COUNTER)), check=True)
    return made


_LITERT = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
for each in interpreter.get_input_details():
    interpreter.set_tensor(each["index"], np.ones(each["shape"], each["dtype"]))
for _ in range(int(sys.argv[2])):
    interpreter.invoke()
"""
_ENOUGH = 1_000_000_000
"""Instructions of the runs of LiteRT that are counted, at least: two starts differ by some millions."""


def interpreter(machine: Machine, arm64: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Words for the emulator of a machine, and those of a Python there that has LiteRT, if there is one."""
    if not machine.litert:
        return None
    if machine.isa is InstructionSet.X86_64:
        return (), (sys.executable, "-c", _LITERT)
    if arm64 is None:
        return None
    *python, path = python_of(arm64)
    return ("-L", str(arm64)), (*python, path + _LITERT)


def in_litert(model: Path, machine: Machine, folder: Path, arm64: Path | None) -> int:
    """Instructions of a run in LiteRT, 0 where there is none."""
    found = interpreter(machine, arm64)
    if found is None:
        return 0
    words, python = found
    log = folder / "litert"
    start = (*machine.emulator, *words, "-plugin", f"{counter(folder)},out={log}", *python)

    def total(runs: int) -> int:
        words = (*start, str(model), str(runs))
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"})
        return sum(counts(log).values())

    once, runs = total(1), 8
    while (more := total(1 + runs) - once) < _ENOUGH:
        runs *= 4
    return more // runs


def counts(file: Path) -> Counter[str]:
    """Instructions of each function in what the plug-in wrote."""
    found: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        _, instructions, count, name = line.split(" ", 3)
        found[name] += int(instructions) * int(count)
    return found


def emulated(executable: Executable, machine: Machine, folder: Path) -> Executable:
    """The program with its runner under the emulator, which leaves its counts in the file `counts`."""
    script, plugin = folder / "emulated", counter(folder)
    words = (*machine.emulator, "-plugin", f"{plugin},out={folder}/counts", str(executable.runner))
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return evolve(executable, runner=script, self_test=None)


def in_user_mode(executable: Executable, frame: bytes, folder: Path) -> tuple[int, dict[str, int]]:
    """Instructions of a run under an emulator of user mode, and of each function that counts: two frames less
    one.
    """
    both: list[Counter[str]] = []
    for frames in (1, 2):
        run_frames(executable, (frame,) * frames, timeout=_TIMEOUT)
        both.append(counts(folder / "counts"))
    once, twice = both
    found = {name: count - once[name] for name, count in twice.items()}
    total = sum(found.values())
    return total, {name: count for name, count in found.items() if count * _SHOWN > total}


def measure(model: Path, machine: Machine, soc: SoC, folder: Path, goal: Goal = Goal.BALANCED) -> Measured:
    """Compile, compare with the reference, and count one run."""
    request = CompileRequest(model_path=model, soc=soc, port=machine.port, optimize=goal)
    return counted(compile_model(request).bundle, model, machine, folder)


def counted(bundle: BundleFiles, model: Path, machine: Machine, folder: Path) -> Measured:
    """Build the bundle of a model in a folder, compare it with the reference, and count one run."""
    write_bundle(bundle, folder / "bundle")
    compiler = Compiler(command=machine.compiler, version="") if machine.compiler else None
    executable = build(folder / "bundle", compiler=compiler)
    if machine.emulator:
        executable = emulated(executable, machine, folder)
    reference = reference_for(model)
    found = compare(reference, executable, count=FRAMES)
    (inputs,) = reference.frames(1, seed=0)
    frame = b"".join(part.tobytes() for part in inputs)
    run = in_user_mode(executable, frame, folder) if machine.emulator else on_board(executable, frame)
    instructions, parts = run
    return Measured(
        equal=found.equal == found.outputs,
        instructions=instructions,
        parts=parts,
        sizes=sizes(executable),
    )


def sizes(executable: Executable) -> dict[str, int]:
    """Bytes of the program on a board, by what they are, and the bound of its stack."""
    if executable.image is None:
        return {}
    found: dict[str, int] = {}
    for part in executable.image.sections:
        found[part.what] = found.get(part.what, 0) + part.predicted
    return {**found, "stack": executable.image.stack.predicted}


def columns(library: Path, only: str) -> Iterator[tuple[str, Machine, SoC]]:
    """Name, machine and chip of each measurement."""
    for name, machine in MACHINES.items():
        soc = read_soc(machine.soc)
        soc = with_isa(soc, machine.isa) if machine.isa else soc
        every = [(name, machine, soc)]
        if machine.core and library.is_dir():
            every.append((f"{name}, CMSIS-NN", machine, with_library(soc, library, machine.core)))
        yield from (each for each in every if only.lower() in each[0].lower())


def details(name: str, model: str, measured: Measured, *, steps: bool, bytes_: bool) -> None:
    """Print the parts of one measurement."""
    for wanted, values in ((steps, measured.parts), (bytes_, measured.sizes)):
        if wanted and values:
            rows = [(what, f"{count:,}") for what, count in values.items()]
            print(f"{model} on {name}\n" + table(("what", "number"), rows, right=(1,)), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="*", type=Path, help="default: the int8 models beside the repository")
    parser.add_argument("--only", default="", help="columns whose name contains this")
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--arm64", type=Path, help="a folder of `benchmarks.arm64_litert`")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args(arguments)
    models = options.model or [SHARED / "models" / f"{name}.tflite" for name in NAMES]
    rows = []
    for name, machine, soc in columns(options.library, options.only):
        for model in models:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(model, machine, soc, Path(folder))
                litert = in_litert(model, machine, Path(folder), options.arm64)
            rows.append((model.stem, name, "equal" if found.equal else "differs", f"{found.instructions:,}"))
            print(*rows[-1], flush=True)
            if litert:
                rows.append((model.stem, f"{name}, LiteRT", "", f"{litert:,}"))
                print(*rows[-1], flush=True)
            details(name, model.stem, found, steps=options.steps, bytes_=options.sizes)
    print(table(("model", "on", "outputs", "instructions"), sorted(rows), right=(3,)))


if __name__ == "__main__":
    main()
