"""Runs in two environments need not run a test twice.

`--record FILE` writes which tests passed and which goldens they read; a run with `--after FILE` leaves those
tests out and counts those goldens as read.
"""

import json
from pathlib import Path

import pytest
from attrs import define, field, frozen


@frozen(kw_only=True)
class EarlierRun:
    """Node ids of the tests that passed, and paths of the goldens read, from the repository."""

    passed: frozenset[str] = frozenset()
    goldens: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: str | None) -> "EarlierRun":
        if path is None:
            return cls()
        found = json.loads(Path(path).read_text())
        return cls(passed=frozenset(found["passed"]), goldens=frozenset(found["goldens"]))


@define
class Record:
    """A plugin that collects outcomes in the process that all workers report to."""

    _passed: set[str] = field(factory=set, init=False)
    _other: set[str] = field(factory=set, init=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed:
            self._passed.add(report.nodeid)
        else:
            self._other.add(report.nodeid)

    def write(self, path: str, goldens: frozenset[str]) -> None:
        passed = sorted(self._passed - self._other)
        Path(path).write_text(json.dumps({"passed": passed, "goldens": sorted(goldens)}, indent=1))
