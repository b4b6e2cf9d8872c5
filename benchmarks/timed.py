"""A program that is compared and timed: what `benchmarks.latency` knows of ours and of its peers."""

import ctypes
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

Array = np.ndarray[Any, np.dtype[Any]]
Frame = Sequence[Array]

SHARED_LIBRARY = ("cc", "-shared", "-fPIC", "-pthread", "-std=c99")

TIMER = """#define _POSIX_C_SOURCE 200809L
#include <time.h>
{declarations}
double timer_seconds(int runs)
{{
    struct timespec begun, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    for (int run = 0; run < runs; ++run) {{
        {call};
    }}
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - begun.tv_sec) + 1e-9 * (double)(ended.tv_nsec - begun.tv_nsec);
}}
"""
"""What is added to C, so that it can be called and timed as a shared library."""


@frozen(kw_only=True)
class Program:
    """A model with a frame of inputs: its outputs, and the processor seconds of so many runs."""

    name: str
    outputs: Callable[[], list[Array]]
    seconds: Callable[[int], float]


def repeated(run: Callable[[], object]) -> Callable[[int], float]:
    """The processor time of this thread for so many calls."""

    def seconds(runs: int) -> float:
        begun = time.thread_time()
        for _ in range(runs):
            run()
        return time.thread_time() - begun

    return seconds


def loaded(command: Sequence[str], library: Path) -> ctypes.CDLL:
    """The library that a compiler's command makes, which has `timer_seconds`."""
    subprocess.run([*SHARED_LIBRARY, *command, "-o", str(library), "-lm"], check=True)
    found = ctypes.CDLL(str(library))
    found.timer_seconds.restype = ctypes.c_double
    return found
