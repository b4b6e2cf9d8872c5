"""Run the programs of a built bundle."""

import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.build.build_files import with_weights
from target_arch.emit.model.weights import FOLDER, VARIABLE
from target_arch.emit.programs.program_table import PROFILE_HEAD
from target_arch.plan.manifest.bundle import Manifest
from target_arch.run.executables.executable import Executable
from target_arch.run.execute.needs import require
from target_arch.run.tools.toolchain import tool

_COMPLAINT = re.compile(r"^(?:port|weights): (?P<said>.+)", re.MULTILINE | re.DOTALL)
_OF_NO_STEP = ("TA_ERROR_CORRUPT", "TA_ERROR_ABI_MISMATCH")
"""Statuses about bytes of the whole bundle, which come before anything looks at steps."""
_FAILED_STEP = re.compile(
    r"^(?P<phase>init|run)(?: (?P<model>.+))?: step (?P<step>-?\d+): (?P<status>\w+)$", re.MULTILINE
)


def run_frames(
    executable: Executable,
    inputs: Sequence[bytes],
    *,
    timeout: float = 300.0,
    lazy: bool = False,
    jitter: int = 0,
    in_flight: bool = False,
) -> tuple[bytes, ...]:
    """Run the model on frames, one after the other in one process, and return the output bytes of each.

    A frame is the bytes of all inputs, in order. `lazy` lets simulated devices do nothing before they are
    waited for; `jitter` is the seed of random delays, 0 for none. With `in_flight`, of a bundle with frames
    in flight on the host port, a frame is submitted while others are at work. DiagnosticError where the
    bundle fails or does not end within `timeout` seconds; ValueError for a frame of the wrong size.
    """
    size = sum(executable.input_bytes)
    if any(len(frame) != size for frame in inputs):
        names = ", ".join(model.name for model in executable.manifest.models)
        raise ValueError(f"a frame of {names} has {size} B")
    if size == 0 and len(inputs) > 1:  # a program whose models have no inputs runs once
        alone = (run_frames(executable, [each], timeout=timeout, lazy=lazy, jitter=jitter) for each in inputs)
        return tuple(result for results in alone for result in results)
    if executable.machine is not None:
        return run_on_machine(executable, inputs, timeout=timeout)[0]
    require(executable.manifest.toolchain.needs)
    options = [*(["--lazy"] if lazy else []), *(["--jitter", str(jitter)] if jitter else [])]
    options += ["--in-flight"] if in_flight else []
    command = (str(executable.runner.absolute()), *options)
    answer = started(executable, command, b"".join(inputs), timeout)
    if answer.returncode != 0:
        raise failed(executable, answer)
    return _frames(executable, answer.stdout, len(inputs))


@frozen(kw_only=True)
class Profile:
    """The cost of a model's last run on an emulated machine.

    `instructions` are those of the whole run, `steps` those of each step by its number (0 for one that the
    port does not see: a load or a wait). `stack` is how many bytes of the stack were used since reset.

    Instructions are counted by the machine's timer, since all of them take the same time there: exact to one
    instruction, with about thirty of the counting itself in every step.
    """

    instructions: int
    steps: tuple[int, ...]
    stack: int


def run_on_machine(
    executable: Executable, inputs: Sequence[bytes], *, timeout: float = 300.0
) -> tuple[tuple[bytes, ...], Profile]:
    """Run frames on the emulated machine of a bundle: the outputs of each, and the cost of the last one.

    ToolMissing without the emulator, ValueError where the bundle is for this computer; otherwise as
    `run_frames`.
    """
    answer, folder = _emulate(executable, executable.runner, b"".join(inputs), timeout)
    if answer.returncode != 0:
        raise failed(executable, answer)
    return _frames(executable, folder["results"], len(inputs)), _profile(executable, folder["profile"])


def self_test_on_machine(executable: Executable, *, timeout: float = 300.0) -> tuple[bool, Profile] | None:
    """As `run_self_test`, with the cost of the run; raises as `run_on_machine`."""
    if executable.self_test is None:
        return None
    answer, folder = _emulate(executable, executable.self_test, b"", timeout)
    if answer.returncode not in (0, 1) or _FAILED_STEP.search(answer.stderr.decode(errors="replace")):
        raise failed(executable, answer)
    return answer.returncode == 0, _profile(executable, folder["profile"])


def _emulate(
    executable: Executable, program: Path, frames: bytes, timeout: float
) -> tuple[subprocess.CompletedProcess[bytes], dict[str, bytes]]:
    """Run a program with a file of frames. How it ended, and the files it left."""
    machine = executable.machine
    if machine is None:
        raise ValueError(f"{executable.directory} is not for an emulated machine")
    tool(machine.emulator[0], machine.packages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "frames").write_bytes(frames)
        files = executable.manifest.weights.weights if executable.manifest.weights else ()
        emulator = with_weights(machine.emulator, files, str(executable.directory.absolute()))
        command = (*emulator, str(program.absolute()))
        answer = started(executable, command, b"", timeout, folder)
        return answer, {path.name: path.read_bytes() for path in folder.iterdir()}


def _profile(executable: Executable, content: bytes) -> Profile:
    words = struct.unpack(f"<{len(content) // 8}Q", content)
    machine = executable.machine
    assert machine is not None
    per_instruction = machine.counter_hz * 2**machine.shift / 1e9
    counted = [round(word / per_instruction) for word in (words[0], *words[PROFILE_HEAD:])]
    return Profile(instructions=counted[0], steps=tuple(counted[1:]), stack=words[1])


def _frames(executable: Executable, written: bytes, count: int) -> tuple[bytes, ...]:
    """The outputs of each frame. DiagnosticError where there are not as many as there should be."""
    size = sum(executable.output_bytes)
    if len(written) != size * count:
        got = f"{len(written)} B of output for {count} frames of {size} B"
        raise _error("run-failed", str(executable.directory), f"the bundle wrote {got}")
    return tuple(written[start : start + size] for start in range(0, len(written), size))


def run_self_test(executable: Executable, *, timeout: float = 300.0) -> bool | None:
    """True where the bundle's own vector passes, None where it has none.

    DiagnosticError where it fails to run.
    """
    if executable.self_test is None:
        return None
    if executable.machine is not None:
        found = self_test_on_machine(executable, timeout=timeout)
        return None if found is None else found[0]
    require(executable.manifest.toolchain.needs)
    answer = started(executable, (str(executable.self_test.absolute()),), b"", timeout)
    if answer.returncode not in (0, 1) or _FAILED_STEP.search(answer.stderr.decode(errors="replace")):
        raise failed(executable, answer)
    return answer.returncode == 0


def started(
    executable: Executable, command: Sequence[str], data: bytes, timeout: float, folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A program of a bundle, ended. DiagnosticError where it takes longer than `timeout` seconds."""
    environment = {**os.environ, VARIABLE: str((executable.directory / FOLDER).absolute())}
    try:
        return subprocess.run(
            command,
            input=data,
            capture_output=True,
            timeout=timeout,
            cwd=folder,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        message = f"the bundle did not end within {timeout:.0f} s"
        raise _error("run-timeout", str(executable.directory), message) from None


def failed(executable: Executable, answer: subprocess.CompletedProcess[bytes]) -> DiagnosticError:
    """An error with the step that failed, if the program names one; else its output, and how it ended."""
    said = answer.stderr.decode(errors="replace").strip()
    found = _FAILED_STEP.search(said)
    if found is None:
        ended = f"signal {-answer.returncode}" if answer.returncode < 0 else f"status {answer.returncode}"
        message = f"the bundle ended with {ended}" + (f":\n{said}" if said else "")
        return _error("run-failed", str(executable.directory), message)
    number = -1 if found["status"] in _OF_NO_STEP else int(found["step"])
    place = _step(executable.manifest, found["model"], number)
    said = "".join(f": {each['said']}" for each in _COMPLAINT.finditer(said))
    return _error("run-failed", place, f"{found['phase']} failed with {found['status']}{said}")


def _step(manifest: Manifest, model: str | None, number: int) -> str:
    """The step of a model, which is named where there are several."""
    named = [entry for entry in manifest.models if model in (None, entry.name)]
    of = f"model {model}, " if model is not None else ""
    steps = named[0].steps if named else ()
    if not 0 <= number < len(steps):
        return "bundle" if not named or model is None else f"model {model}"
    return f"{of}step {number} ({steps[number].what})"


def _error(rule: str, place: str, message: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place=place, message=message)])
