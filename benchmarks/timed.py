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
#include <stdlib.h>
#include <string.h>
#include <time.h>
static struct {{
    void *place;
    void *value;
    size_t size;
}} timer_inputs[64];
static int timer_count;
void timer_keep(void *place, const void *value, size_t size)
{{
    timer_inputs[timer_count].place = place;
    timer_inputs[timer_count].value = memcpy(malloc(size), value, size);
    timer_inputs[timer_count].size = size;
    timer_count++;
}}
void timer_restore(void)
{{
    for (int i = 0; i < timer_count; ++i) {{
        memcpy(timer_inputs[i].place, timer_inputs[i].value, timer_inputs[i].size);
    }}
}}
{declarations}
static double timer_now(void)
{{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}}
double timer_seconds(int runs)
{{
    const double begun = timer_now();
    for (int run = 0; run < runs; ++run) {{
        timer_restore();
    }}
    const double restored = timer_now();
    for (int run = 0; run < runs; ++run) {{
        timer_restore();
        {call};
    }}
    return timer_now() - restored - (restored - begun);
}}
"""
"""What is added to C, so that it can be called and timed as a shared library. The inputs that `timer_keep`
takes are written again before each run, since their bytes may hold results, and that time is taken away.
"""


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
