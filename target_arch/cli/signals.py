"""Signals as exceptions: a command that is to end unwinds, so that its temporary files are removed.

Neither KeyboardInterrupt nor SystemExit would do. Python, once code in a string was left by the first,
ends with SIGINT whatever its exit code; and the second, raised in the hook of a plug-in, is the fault of the
plug-in. TVM's callbacks hand on exceptions that they know by name. A library may make another exception of
one all the same: `received` tells.
Tests: `tests/cli/test_process.py`.
"""

import signal
import sys
import time
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TWICE_WITHIN = 0.5
"""Seconds: a terminal sends an interrupt to parent and child, and the parent passes its own on."""
_AGAIN_AFTER = 0.01
"""Seconds: an interrupt that met code in which no exception has an effect."""


class Interrupted(BaseException):
    """A signal of `ENDING` has come."""


received: list[int] = []
"""The signals that are to end this process."""


def become_exceptions() -> None:
    """Every signal of `ENDING` raises Interrupted from now on; a second one at once is the same.

    Python ignores an exception where nothing can catch it, as in the callback of a weak reference: it is
    raised again a moment later.
    """
    last = float("-inf")

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _TWICE_WITHIN:
            last = now
            received.append(number)
            end(number, frame)

    def end(number: int, frame: FrameType | None) -> None:
        if callbacks := sys.modules.get("tvm_ffi.error"):
            callbacks.register_error(Interrupted.__name__, Interrupted)
        raise Interrupted

    def ignored(found: "sys.UnraisableHookArgs") -> None:
        if isinstance(found.exc_value, Interrupted):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_AFTER)
        else:
            sys.__unraisablehook__(found)

    for each in ENDING:
        signal.signal(each, interrupt)
    signal.signal(signal.SIGALRM, end)
    sys.unraisablehook = ignored


def ignore() -> None:
    """The command ends already: nothing interrupts what is left of it."""
    for each in (*ENDING, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
