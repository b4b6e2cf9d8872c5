"""HVX: instructions and packets of instructions of every kernel of a Hexagon in one run, under QEMU.

    python -m benchmarks.hvx [MODEL...] [--ref REVISION] [--kernels]

MODEL are files; by default the int8 models beside the repository. Each is compiled for the SoC file of
`examples/hexagon` with `isa = "hvxv67"` and every operator on the DSP, and its bundle run with `--firmware`:
a row is printed only where the outputs equal those of the model's reference. With `--ref` the same is done
with the program as it was at a revision of this repository, and the columns stand side by side. `--kernels`
prints every call of a function, in the order of the run.

Packets are what LLVM made of a function: instructions that the core issues at once. QEMU counts them in a
register beside that of instructions, which a second run reads in its place.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from target_arch.calibrate.counters import CORE_LOG
from target_arch.emit.build.firmware import DESCRIPTION
from target_arch.plan.printed.text import table

REPOSITORY = Path(__file__).parents[1]
MODELS = REPOSITORY.parent / "shared" / "models"
NAMES = ("kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8")
SOC = REPOSITORY / "examples" / "hexagon" / "hexagon_edge.toml"
_WITH_HVX = (
    ('clock = "300 MHz"', 'clock = "300 MHz"\nisa = "hvxv67"'),
    ("macs_per_cycle = 4.0, ", ""),
    ("firmware_stack = 4096", "firmware_stack = 16384"),
)
_COUNTER = "firmware/runtime/firmware/system.h"
_INSTRUCTIONS, _PACKETS = "0x6a15c000", "0x6a14c000"
"""`r0 = c21` and `r0 = c20`, the registers of QEMU that count them."""


@frozen(kw_only=True)
class Kernel:
    """A call of a function."""

    function: str
    instructions: int
    packets: int


def soc_text() -> str:
    """The SoC file of the example, whose DSP has HVX."""
    text = SOC.read_text(encoding="utf-8")
    for old, new in _WITH_HVX:
        if text.count(old) != 1:
            raise ValueError(f"{SOC} does not have `{old}` once")
        text = text.replace(old, new)
    return text


def kernels(model: Path, program: Path, folder: Path) -> list[Kernel]:
    """The calls of one run of a model, by the program whose repository is in the folder `program`."""
    soc, bundle = folder / "soc.toml", folder / "bundle"
    soc.write_text(soc_text(), encoding="utf-8")
    on_dsp = ("--prefer", "*=dsp_cpu", "--quiet")
    _command(program, "compile", str(model), "--soc", str(soc), *on_dsp, "-o", str(bundle))
    functions = json.loads((bundle / DESCRIPTION).read_text(encoding="utf-8"))[0]["functions"]
    instructions = _logged(program, bundle, folder / "instructions")
    counter = bundle / _COUNTER
    counter.write_text(counter.read_text(encoding="utf-8").replace(_INSTRUCTIONS, _PACKETS), encoding="utf-8")
    packets = _logged(program, bundle, folder / "packets")
    return [
        Kernel(function=functions[number], instructions=one, packets=two)
        for (number, one), (_, two) in zip(instructions, packets, strict=True)
    ]


def _logged(program: Path, bundle: Path, log: Path) -> list[tuple[int, int]]:
    """Function and count of every call."""
    _command(program, "run", str(bundle), "--firmware", "--quiet", log=log)
    lines = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    return [(int(number), int(count)) for _, number, count in lines]


def _command(program: Path, *arguments: str, log: Path | None = None) -> None:
    """Runs the command line of a program; ends where it fails, with what it said."""
    environment = {**os.environ, "PYTHONPATH": str(program)}
    environment |= {CORE_LOG: str(log)} if log else {}
    command = (sys.executable, "-m", "target_arch", *arguments)
    done = subprocess.run(command, check=False, cwd=program, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


@contextmanager
def revision(name: str) -> Iterator[Path]:
    """The repository as it was at a revision, in a folder of its own."""
    git = ("git", "-C", str(REPOSITORY), "worktree")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        subprocess.run([*git, "add", "--quiet", "--detach", str(path), name], check=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)


def counted(models: Sequence[Path], program: Path) -> dict[str, list[Kernel]]:
    """The calls of every model."""
    found = {}
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            found[model.stem] = kernels(model.absolute(), program, Path(folder))
    return found


def total(calls: Sequence[Kernel]) -> tuple[int, int]:
    """Instructions and packets."""
    return sum(call.instructions for call in calls), sum(call.packets for call in calls)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.hvx", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--ref", help="a revision of this repository to stand beside it")
    parser.add_argument("--kernels", action="store_true", help="also every call of a function")
    arguments = parser.parse_args()
    models = arguments.models or [MODELS / f"{name}.tflite" for name in NAMES]
    now = counted(models, REPOSITORY)
    before = None
    if arguments.ref:
        with revision(arguments.ref) as program:
            before = counted([model.absolute() for model in models], program)
    print(_totals(now, before, arguments.ref))
    for name, calls in now.items() if arguments.kernels else ():
        rows = [(each.function, f"{each.instructions:,}", f"{each.packets:,}") for each in calls]
        print(f"\n{name}\n{table(('function', 'instructions', 'packets'), rows, (1, 2))}", end="")


def _totals(now: dict[str, list[Kernel]], before: dict[str, list[Kernel]] | None, ref: str | None) -> str:
    """A row for each model."""
    head, rows = ["model", "instructions", "packets"], []
    if before is not None:
        head += [f"instructions at {ref}", f"packets at {ref}", "packets now of those"]
    for name, calls in now.items():
        own = total(calls)
        row = [name, *(f"{count:,}" for count in own)]
        if before is not None:
            other = total(before[name])
            row += [*(f"{count:,}" for count in other), f"{own[1] / other[1]:.3f}"]
        rows.append(row)
    return table(head, rows, range(1, len(head)))


if __name__ == "__main__":
    main()
