"""Pause Python's cyclic garbage collector during allocation-heavy stages, or let it look seldom.

A stage keeps most of the values that it makes, so the collector finds nothing and yet scans all of them again
and again: this is a third of planning time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Around (or, as a decorator, for) work that leaves no cycles behind and runs no foreign code."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


_SELDOM = 100_000
"""New objects after which the collector looks at them: Python itself waits for 700."""


@contextmanager
def gc_seldom() -> Iterator[None]:
    """Around (or, as a decorator, for) long work with foreign code, which may leave cycles behind."""
    usual = gc.get_threshold()
    gc.set_threshold(max(_SELDOM, usual[0]) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
