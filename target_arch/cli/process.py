"""The command line as a process: its streams, its signals, and crashes of native code as messages.

Commands that read models run in a child, since the libraries that read them are native code. The parent
passes signals on and reports how the child ended; it costs a fork of a process that has imported nothing yet.
Tests: `tests/cli/test_process.py`.
"""

import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

from target_arch.cli.arguments.parser import command_of
from target_arch.cli.main import INTERRUPTED, WRONG_INPUT, main, wants_traceback
from target_arch.cli.text.output import discard_stdout, flush, message, rendered
from target_arch.diagnostics import DiagnosticError, refusal

ENDED = 4
"""Exit code of a process that a defect or the system ended."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TWICE_WITHIN = 0.5
"""Seconds: a terminal sends an interrupt to parent and child, and the parent passes its own on."""
_AGAIN_AFTER = 0.01
"""Seconds: an interrupt that met code in which no exception has an effect."""
_MODELS = (".onnx", ".pt2", ".tflite")
_READING = ("/relax/readers/", "/relax/importer.py", "/run/references/")
_LONGEST_TRACE = 65536


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code of this process. No exception leaves."""
    _open_streams()
    command = command_of(arguments)
    if command is None or not command.reads_models:
        return _guarded(arguments)
    with _blocked():
        incoming, outgoing = os.pipe()
        parent, child = os.getpid(), os.fork()
        if child == 0:
            faulthandler.enable(outgoing)
            _end_with(parent)
            _be_interruptible()
        else:
            os.close(outgoing)
            _pass_on(child)
    return _guarded(arguments) if child == 0 else _ended(child, incoming, arguments)


def _guarded(arguments: Sequence[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as error:
        # argparse has printed help or a refusal.
        return _flushed(error.code if isinstance(error.code, int) else 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:
        discard_stdout()
        hint = "use a computer with more memory, or a smaller model"
        message(rendered(refusal("out-of-memory", "target-arch", "there is not enough memory", hint)))
        return ENDED
    except Exception as error:
        discard_stdout()
        message(rendered(_defect(arguments, error)))
        return ENDED


def _flushed(code: int) -> int:
    try:
        flush()
    except BrokenPipeError:
        discard_stdout()
    except DiagnosticError as error:
        message(rendered(error))
        return WRONG_INPUT
    return code


def _defect(arguments: Sequence[str], error: Exception) -> DiagnosticError:
    if wants_traceback(arguments):
        message("".join(traceback.format_exception(error)))
    said = (str(error).strip() or "no text").splitlines()[0]
    text = f"a defect of target-arch: {type(error).__name__}: {said}"
    return refusal("defect", "target-arch", text, "report it with the text that `--traceback` adds")


def _ended(child: int, traces: int, arguments: Sequence[str]) -> int:
    """The exit code for a child; a message where a signal ended it."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if number in _PASSED_ON:
        return 128 + number
    os.set_blocking(traces, False)
    try:
        trace = os.read(traces, _LONGEST_TRACE).decode(errors="replace")
    except BlockingIOError:
        trace = ""
    if wants_traceback(arguments):
        message(trace)
    reading = any(part in trace for part in _READING)
    message(rendered(_crash(signal.Signals(number).name, arguments, reading=reading)))
    return WRONG_INPUT if reading else ENDED


def _crash(name: str, arguments: Sequence[str], *, reading: bool) -> DiagnosticError:
    models = [word.rpartition("=")[2] for word in arguments if PurePath(word).suffix.lower() in _MODELS]
    place = ", ".join(models) or "target-arch"
    if reading:
        text = f"the library that reads it crashed ({name})"
        return refusal("model-crash", place, text, "the file is damaged, or meets a defect of the library")
    if name == "SIGKILL":
        text = "the system ended the process (SIGKILL), as it does where memory is exhausted"
        return refusal("process-ended", place, text, "use a computer with more memory, or a smaller model")
    text = f"native code crashed ({name})"
    return refusal("process-ended", place, text, "report it with the text that `--traceback` adds")


@contextmanager
def _blocked() -> Iterator[None]:
    """No signal is lost between a fork and the handlers for what follows it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)


def _pass_on(child: int) -> None:
    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for each in _PASSED_ON:
        signal.signal(each, pass_on)


def _be_interruptible() -> None:
    """Signals become exceptions, so that temporary files are removed; a second one at once is the same.

    Python ignores an exception where nothing can catch it, as in the callback of a weak reference: it is
    raised again a moment later.
    """
    last, received = float("-inf"), signal.SIGINT

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last, received
        now = time.monotonic()
        if now - last < _TWICE_WITHIN:
            return
        last, received = now, signal.Signals(number)
        end(number, frame)

    def end(number: int, frame: FrameType | None) -> None:
        if received == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + received)

    def ignored(found: "sys.UnraisableHookArgs") -> None:
        if isinstance(found.exc_value, KeyboardInterrupt | SystemExit):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_AFTER)
        else:
            sys.__unraisablehook__(found)

    for each in _PASSED_ON:
        signal.signal(each, interrupt)
    signal.signal(signal.SIGALRM, end)
    sys.unraisablehook = ignored


def _end_with(parent: int) -> None:
    """Ask the system for SIGTERM when the parent ends, however it does. Linux only."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(ENDED)


def _open_streams() -> None:
    """Closed standard streams lead to nowhere, and text that a terminal cannot show is escaped."""
    while os.open(os.devnull, os.O_RDWR) <= 2:
        pass
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
