"""Run the programs of a built bundle."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.run.build import Executable

_FAILED_STEP = re.compile(r"^(?P<phase>init|run): step (?P<step>-?\d+): (?P<status>\w+)$", re.MULTILINE)


def run_frames(
    executable: Executable,
    inputs: Sequence[bytes],
    *,
    timeout: float = 300.0,
    lazy: bool = False,
    jitter: int = 0,
) -> tuple[bytes, ...]:
    """Run the model on frames, one after the other in one process, and return the output bytes of each.

    A frame is the bytes of all inputs, in order. `lazy` lets simulated devices do nothing before they are
    waited for; `jitter` is the seed of random delays, 0 for none. DiagnosticError where the bundle fails or
    does not end within `timeout` seconds; ValueError for a frame of the wrong size.
    """
    size = sum(executable.input_bytes)
    if any(len(frame) != size for frame in inputs):
        raise ValueError(f"a frame of {executable.manifest['model']} has {size} B")
    options = [*(["--lazy"] if lazy else []), *(["--jitter", str(jitter)] if jitter else [])]
    answer = _run(executable, executable.runner, options, b"".join(inputs), timeout)
    if answer.returncode != 0:
        raise _failed(executable, answer)
    size = sum(executable.output_bytes)
    if len(answer.stdout) != size * len(inputs):
        got = f"{len(answer.stdout)} B of output for {len(inputs)} frames of {size} B"
        raise _error("run-failed", str(executable.directory), f"the bundle wrote {got}")
    return tuple(answer.stdout[start : start + size] for start in range(0, len(answer.stdout), size))


def run_self_test(executable: Executable, *, timeout: float = 300.0) -> bool | None:
    """True where the bundle's own vector passes, None where it has none.

    DiagnosticError where it fails to run.
    """
    if executable.self_test is None:
        return None
    answer = _run(executable, executable.self_test, [], b"", timeout)
    if answer.returncode not in (0, 1) or _FAILED_STEP.search(answer.stderr.decode(errors="replace")):
        raise _failed(executable, answer)
    return answer.returncode == 0


def _run(
    executable: Executable, program: Path, options: Sequence[str], data: bytes, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    command = (str(program.absolute()), *options)
    try:
        return subprocess.run(command, input=data, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        message = f"the bundle did not end within {timeout:.0f} s"
        raise _error("run-timeout", str(executable.directory), message) from None


def _failed(executable: Executable, answer: subprocess.CompletedProcess[bytes]) -> DiagnosticError:
    """Name the step that failed, where the program said so; else what it said, and how it ended."""
    said = answer.stderr.decode(errors="replace").strip()
    found = _FAILED_STEP.search(said)
    if found is None:
        ended = f"signal {-answer.returncode}" if answer.returncode < 0 else f"status {answer.returncode}"
        message = f"the bundle ended with {ended}" + (f":\n{said}" if said else "")
        return _error("run-failed", str(executable.directory), message)
    place = _step(executable.manifest["steps"], int(found["step"]))
    return _error("run-failed", place, f"{found['phase']} failed with {found['status']}")


def _step(steps: Sequence[dict[str, Any]], number: int) -> str:
    return f"step {number} ({steps[number]['what']})" if 0 <= number < len(steps) else "bundle"


def _error(rule: str, place: str, message: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place=place, message=message)])
