"""The command line as a process: no traceback whatever happens to its streams, and to itself."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.commands.test_models import DIGITS
from tests.slow import slow_except

PROGRAM = (sys.executable, "-m", "target_arch")
COMPILE = (*PROGRAM, "compile", DIGITS, "--soc", "mcu_m7", "-o")


def shell(line: str, *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a line of the shell, in which `"$@"` is the program with its arguments."""
    command = ("sh", "-c", line, "sh", *PROGRAM, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


FULL = "stdout: error: cannot be written: No space left on device [output-unwritable]\n"


@pytest.mark.parametrize(
    ("line", "code", "said"), [('"$@" > /dev/full', 2, FULL), ('"$@" >&- 2>&- <&-', 0, "")]
)
def test_streams(line: str, code: int, said: str) -> None:
    assert shell(line, "check", "mcu_m7") == (code, said)


def test_a_reader_that_goes_away() -> None:
    command = (
        "bash",
        "-c",
        'set -o pipefail; "$@" | head -c 1 > /dev/null',
        "bash",
        *PROGRAM,
        "show",
        "zynq_edge",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


CRASH = """
import ctypes, sys
from target_arch.cli import process
from target_arch.{module} import {name}
import target_arch.{module} as module

def crash(*arguments, **named):
    {first}

module.{name} = crash
sys.exit(process.run(sys.argv[1:]))
"""
BUS_ERROR = "import os; os.kill(os.getpid(), 7)"


def crashing(module: str, name: str, first: str) -> tuple[int, str]:
    code = CRASH.format(module=module, name=name, first=first)
    command = (sys.executable, "-c", code, "compile", DIGITS, "--soc", "mcu_m7", "-o", "/nowhere/out")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("module", "name", "first", "code", "said"),
    [
        (
            "relax.importer",
            "content_kind",
            BUS_ERROR,
            2,
            f"{DIGITS}: error: the library that reads it crashed (SIGBUS) [model-crash]\n"
            "hint: the file is damaged, or meets a defect of the library\n",
        ),
        (
            "cli.commands.compile",
            "compiled",
            "import os; os.kill(os.getpid(), 9)",
            4,
            f"{DIGITS}: error: the system ended the process (SIGKILL), as it does where memory is exhausted "
            "[process-ended]\nhint: use a computer with more memory, or a smaller model\n",
        ),
        (
            "cli.commands.compile",
            "compiled",
            "[][0]",
            4,
            "target-arch: error: a defect of target-arch: IndexError: list index out of range [defect]\n"
            "hint: report it with the text that `--traceback` adds\n",
        ),
    ],
)
def test_a_crash_is_a_message(module: str, name: str, first: str, code: int, said: str) -> None:
    assert crashing(module, name, first) == (code, said)


Moment = Callable[[int], None]
"""Waits until a process, given by its number, is where it is to be interrupted."""


def has_loaded_tvm(parent: int) -> None:
    """The process has forked, and its child has begun to read a model: most of its work is to come."""
    while True:
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            if "libtvm" in Path(f"/proc/{child}/maps").read_text():
                return
        time.sleep(0.01)


def after(seconds: float) -> Moment:
    return lambda _: time.sleep(seconds)


def interrupted(
    command: Sequence[str], wait: Moment, number: signal.Signals, *, both: bool
) -> tuple[int, str]:
    """Exit code and stderr of a process that gets a signal, alone or with its children as from a terminal."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait(process.pid)
        if both:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, said = process.communicate()
    return process.returncode, said


def children() -> list[str]:
    """Command lines of processes of this program that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [each for each in found if "-m target_arch compile" in each]


def leaves_nothing(folder: Path, wait: Moment, number: signal.Signals, *, both: bool) -> int:
    """The exit code; asserts that nothing is printed but one word, and nothing is left in the folder."""
    place = folder / "out"
    code, said = interrupted((*COMPILE, str(place)), wait, number, both=both)
    assert said in ("", "interrupted\n")
    assert not [each for each in folder.iterdir() if each.name != "out"]
    assert not [line for line in children() if str(place) in line]
    return code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("both", [False, True])
def test_an_interrupt(tmp_path: Path, number: signal.Signals, code: int, both: bool) -> None:
    assert leaves_nothing(tmp_path, has_loaded_tvm, number, both=both) == code


INTERRUPTED = """
import os, signal, time, weakref
from target_arch.cli import signals
signals.become_exceptions()
try:
    {there}
    time.sleep(20)
except signals.Interrupted as error:
    print(type(error).__name__, signals.received == [signal.{number}])
"""
SIGNALLED = "os.kill(os.getpid(), signal.{number})"
HANDED_ON = "import tvm_ffi; tvm_ffi.convert(lambda: {signalled})()"
IGNORED = "weakref.finalize(type('Thing', (), {{}})(), lambda: {signalled})"
A_PLUG_IN = """
    from target_arch.registry.lookup.guard import Guard
    Guard(lambda: {signalled}, "lower", "acme")()"""


@pytest.mark.parametrize("number", slow_except(["SIGINT"], ["SIGINT", "SIGTERM"]))
@pytest.mark.parametrize("there", [HANDED_ON, IGNORED, A_PLUG_IN])
def test_an_interrupt_passes(there: str, number: str) -> None:
    """Through a callback of TVM, where Python ignores exceptions, and through the hook of a plug-in."""
    signalled = SIGNALLED.format(number=number)
    code = INTERRUPTED.format(there=there.format(signalled=signalled), number=number)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (ended.stdout, ended.stderr) == ("Interrupted True\n", "")


@pytest.mark.long
def test_interrupts_at_any_moment(tmp_path: Path) -> None:
    """Before the program has set itself up, the signal may end it as any process: 130 to a shell, too."""
    draw = random.Random(0)
    codes = [
        leaves_nothing(tmp_path, after(draw.uniform(0.4, 4)), signal.SIGINT, both=draw.random() < 0.5)
        for _ in range(100)
    ]
    assert set(codes) <= {0, 130, -signal.SIGINT}
