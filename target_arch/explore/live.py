"""The page of a search while it runs: written again every few seconds, with the front so far.

Tests: `tests/explore/test_live.py`.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from target_arch.diagnostics import refusal
from target_arch.report.facts.space import ShownProgress

EVERY = 5.0
"""Seconds between two pages, at least."""
_SHARE = 20
"""How many times as long as the page takes to write the next one waits: it costs a twentieth at most."""


@define(kw_only=True)
class LivePage:
    """A file that shows the progress. `dashboard` is the address of the workers' own page, empty without
    one.
    """

    file: Path
    dashboard: str = ""
    _next: float = field(default=0.0, init=False)

    def heard(self, done: int, every: int, page: Callable[[ShownProgress], str]) -> None:
        """So many points of so many are known; the page is made where it is time for it."""
        before = time.monotonic()
        if before < self._next:
            return
        progress = ShownProgress(done=done, every=every, seconds=round(EVERY), dashboard=self.dashboard)
        write_page(self.file, page(progress))
        after = time.monotonic()
        self._next = after + max(EVERY, _SHARE * (after - before))


def write_page(file: Path, text: str) -> None:
    """Write a page at once: who reads it has the old one or the new one. Raises DiagnosticError where it
    cannot be written.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(file)
    except OSError as error:
        said = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise refusal("page-unwritable", file, said) from error
