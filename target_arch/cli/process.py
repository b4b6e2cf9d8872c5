"""The command line as a process: its streams, its signals, and crashes of native code as messages.

Commands that read models run in a child, since the libraries that read them are native code. The parent
passes signals on and reports how the child ended; it costs a fork of a process that has imported nothing yet.
Tests: `tests/cli/test_process.py`.
"""

import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePath
from types import FrameType

from target_arch.cli import signals
from target_arch.cli.arguments.parser import command_of
from target_arch.cli.main import WRONG_INPUT, main, wants_traceback
from target_arch.cli.text.output import discard_stdout, flush, message, rendered
from target_arch.diagnostics import DiagnosticError, refusal

ENDED = 4
"""Exit code of a process that a defect or the system ended."""
_MODELS = (".onnx", ".pt2", ".relax", ".tflite")
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
            signals.become_exceptions()
        else:
            os.close(outgoing)
            _pass_on(child)
    if child != 0:
        return _ended(child, incoming, arguments)
    return _guarded(arguments)


def _guarded(arguments: Sequence[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as error:
        # argparse has printed help, or the version.
        return _flushed(error.code if isinstance(error.code, int) else 0)
    except (KeyboardInterrupt, signals.Interrupted):
        return _interrupted()
    except MemoryError:
        discard_stdout()
        hint = "use a computer with more memory, or a smaller model"
        message(rendered(refusal("out-of-memory", "target-arch", "there is not enough memory", hint)))
        return ENDED
    except Exception as error:
        if signals.received:
            return _interrupted()
        discard_stdout()
        message(rendered(_defect(arguments, error)))
        return ENDED


def _interrupted() -> int:
    """Say so, and nothing more: TVM warns of what an exception leaves half done, when that is deleted."""
    signals.ignore()
    message("interrupted")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return 128 + (signals.received or [signal.SIGINT])[0]


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
    if number in signals.ENDING:
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
    """No signal is lost between a fork and the handlers that are set after it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals.ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.ENDING)


def _pass_on(child: int) -> None:
    def pass_on(number: int, frame: FrameType | None) -> None:
        # Between its end and that of `waitpid`, the child is no more.
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for each in signals.ENDING:
        signal.signal(each, pass_on)


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
