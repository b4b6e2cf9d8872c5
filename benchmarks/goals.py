"""Bytes and instructions of the goals of `--optimize`, on emulated Cortex-M boards.

    python -m benchmarks.goals [MODEL...]

MODEL are files; by default the int8 models beside the repository. Each bundle is first compared with the
model's reference on random inputs; its row says `differs` where an output does. Code is with read-only data
and vector table, constants are weights and what kernels make of them; the program is the frame runner.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.instructions import MACHINES, NAMES, SHARED, Measured, measure
from target_arch.plan.goal import Goal
from target_arch.plan.printed.text import table
from target_arch.soc import read_soc

BOARDS = ("Cortex-M7", "Cortex-M55")
CODE = ("vector table", "code", "read-only data")
COLUMNS = ("model", "on", "goal", "outputs", "code", "constants", "instructions")


def row(model: Path, board: str, goal: Goal) -> tuple[str, ...]:
    """A row of the table, in the order of COLUMNS."""
    machine = MACHINES[board]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(model, machine, read_soc(machine.soc), Path(folder), goal)
    said = "equal" if found.equal else "differs"
    code, constants = flash(found)
    return model.stem, board, goal, said, f"{code:,}", f"{constants:,}", f"{found.instructions:,}"


def flash(found: Measured) -> tuple[int, int]:
    """Bytes of code and of constants."""
    return sum(found.sizes.get(part, 0) for part in CODE), found.sizes["constants"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="*", type=Path, help="default: the int8 models beside the repository")
    options = parser.parse_args(arguments)
    models = options.model or [SHARED / "models" / f"{name}.tflite" for name in NAMES]
    rows = []
    for model in models:
        for board in BOARDS:
            for goal in Goal:
                rows.append(row(model, board, goal))
                print(*rows[-1], flush=True)
    print(table(COLUMNS, rows, right=(4, 5, 6)), end="")


if __name__ == "__main__":
    main()
