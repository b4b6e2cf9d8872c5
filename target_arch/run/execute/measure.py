"""Measure kernels on this computer: compile `runtime_c/programs/kernel_timer.c` with the table of a kernel,
run it, read its output.
"""

import subprocess
import tempfile
from pathlib import Path

from attrs import frozen

from target_arch.emit.programs.kernel_timer import TIMED_KERNEL
from target_arch.resources import runtime_c
from target_arch.run.tools.toolchain import Compiler

_TIMEOUT = 60.0
_FLAGS = ("-std=c99", "-w")


@frozen(kw_only=True)
class KernelTime:
    """Seconds of one call, a hash of the results, and the runner it was measured on (0: this computer)."""

    seconds: float
    hash: int
    runner: int = 0


@frozen(kw_only=True)
class LocalRunner:
    """Runs the programs of tables of kernels one after the other on this computer."""

    compiler: Compiler
    flags: tuple[str, ...]

    def __call__(self, tables: tuple[str, ...]) -> tuple[KernelTime | None, ...]:
        """The measurement of each program; None for one that does not compile, fails, or takes a minute."""
        return tuple(self._one(table) for table in tables)

    def _one(self, table: str) -> KernelTime | None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "measure"
            if not compile_timer(table, program, self.compiler, self.flags):
                return None
            try:
                answer = subprocess.run(
                    (str(program),), capture_output=True, text=True, timeout=_TIMEOUT, check=False
                )
            except subprocess.TimeoutExpired:
                return None
        if answer.returncode != 0:
            return None
        found, seconds = answer.stdout.split()
        return KernelTime(seconds=float(seconds), hash=int(found))


def compile_timer(table: str, output: Path, compiler: Compiler, flags: tuple[str, ...]) -> bool:
    """Compile the timer of the kernel with this table (`emit.programs.kernel_timer`) to a program, or to a
    shared object with the flags for it; False where that fails.
    """
    source = runtime_c() / "programs" / "kernel_timer.c"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / TIMED_KERNEL).write_text(table, encoding="utf-8")
        include = (f"-I{folder}", f"-I{runtime_c()}")
        command = (*compiler.command, *_FLAGS, *include, *flags, "-o", str(output), str(source), "-lm")
        try:
            answer = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return False
    return answer.returncode == 0
