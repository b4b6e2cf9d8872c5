"""The programs of a bundle: C that is the same for all bundles, and the tables that it reads."""

from target_arch.emit.build.build_files import MAINS
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.programs.program_table import program_table
from target_arch.emit.programs.test_vectors import VECTORS, test_vectors
from target_arch.resources import runtime_c

FOLDER = "programs"
"""Where the runtime has them, and a bundle the headers that they share."""


def program_files(inputs: EmitInputs) -> dict[str, str]:
    """Path in the bundle → text of the runner, the self-test (on a machine without an operating system where
    a model has a vector), and what they include.
    """
    machine = inputs.port.bare_metal is not None
    headers = ["program.h", "turns.h", "machine.h" if machine else "hosted.h"]
    runner, self_test = MAINS
    files = {runner: _text("runner.c"), "src/program_table.h": program_table(inputs)}
    if not machine or any(member.self_test is not None for member in inputs.members):
        headers.append("elements.h")
        files |= {self_test: _text("selftest.c"), VECTORS: test_vectors(inputs)}
    return files | {f"runtime/{FOLDER}/{name}": _text(name) for name in headers}


def _text(name: str) -> str:
    return (runtime_c() / FOLDER / name).read_text(encoding="utf-8")
