"""The time for a line of a cache that another core wrote, measured on this computer.

Lines are read in an order that no processor foresees, each read saying where the next one is: once after this
core wrote them all, once after another one did. The difference is the price of a `line` in a SoC file.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from target_arch.run.tools.toolchain import find_compiler

_FLAGS = ("-O2", "-std=c11", "-pthread")
_TIMEOUT = 60
_PROBE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { LINES = 2048, WORDS = 16, ROUNDS = 400 };

static _Alignas(64) unsigned places[LINES * WORDS];
static unsigned order[LINES];
static atomic_int asked;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#ifdef __linux__
static cpu_set_t usable; /* the processors of this process before one of its threads stays on one */

/* Stay on the first or the last of them. */
static void stay(int last)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &usable))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (!last)
            break;
    }
    (void)sched_setaffinity(0, sizeof one, &one);
}
#else
static void stay(int last)
{
    (void)last;
}
#endif

/* A random order, the same in each run. */
static void shuffle(void)
{
    unsigned state = 1;
    for (unsigned i = 0; i < LINES; i++)
        order[i] = i;
    for (unsigned i = LINES - 1; i > 0; i--) {
        state = state * 1664525u + 1013904223u;
        const unsigned other = (state >> 8) % (i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void write_lines(void)
{
    for (unsigned i = 0; i < LINES; i++)
        places[order[i] * WORDS] = order[(i + 1) % LINES] * WORDS;
}

static void *other_core(void *unused)
{
    stay(1);
    for (int round = 0; round < ROUNDS; round++) {
        while (!atomic_load(&asked))
            (void)sched_yield();
        write_lines();
        atomic_store(&asked, 0);
    }
    return unused;
}

/* The least seconds of a line in all rounds, where it was written by this core or by the other. */
static double least(int foreign)
{
    double found = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        if (foreign) {
            atomic_store(&asked, 1);
            while (atomic_load(&asked))
                (void)sched_yield();
        } else {
            write_lines();
        }
        const double begun = now();
        unsigned place = 0;
        for (unsigned i = 0; i < LINES; i++)
            place = *(volatile unsigned *)&places[place];
        const double took = now() - begun;
        found = took < found ? took : found;
    }
    return found / LINES;
}

int main(void)
{
    pthread_t thread;
#ifdef __linux__
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return 1;
#endif
    stay(0);
    shuffle();
    const double own = least(0);
    if (pthread_create(&thread, NULL, other_core, NULL) != 0)
        return 1;
    const double foreign = least(1);
    (void)pthread_join(thread, NULL);
    (void)printf("%.12f\n", foreign > own ? foreign - own : 0.0);
    return 0;
}
"""


def line_seconds() -> float | None:
    """The seconds that a read of a line takes longer, where another core of this computer wrote it; None
    where this process has one core, or threads cannot be made. ToolMissing without a C compiler.
    """
    compiler = find_compiler()
    if _usable() < 2:
        return None
    with TemporaryDirectory() as folder:
        source, program = Path(folder) / "line.c", Path(folder) / "line"
        source.write_text(_PROBE, encoding="utf-8")
        try:
            _answer(*compiler.command, *_FLAGS, str(source), "-o", str(program))
            return float(_answer(str(program)))
        except subprocess.SubprocessError:
            return None


def _answer(*command: str) -> str:
    """The words that a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=_TIMEOUT).stdout


def _usable() -> int:
    """How many processors this process may use, as far as the system says."""
    able = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if able is None else len(able(0))
