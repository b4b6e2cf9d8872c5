"""`conformance.combinations` draws the same calls for the same seed, and tells refusals from findings."""

from pathlib import Path

import pytest

from conformance.combinations import Cases, outcome
from tests.e2e.conftest import DIGITS


def test_a_seed_and_a_number_give_one_call(tmp_path: Path) -> None:
    cases = Cases(3, tmp_path)
    calls = [cases.call(number) for number in range(12)]
    assert calls == [Cases(3, tmp_path).call(number) for number in range(12)]
    assert len({tuple(call) for call in calls}) == len(calls)


def test_a_refusal_is_no_finding() -> None:
    found = outcome(["verify", str(DIGITS), "--soc", "no_such_chip", "--format", "json", "--quiet"])
    assert found.rule
    assert not found.finding


@pytest.mark.parametrize("code", [1, 3])
def test_a_difference_and_a_tool_that_is_missing_are_findings(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.combinations.main", lambda call: code)
    assert f"exit code {code}" in outcome(["verify"]).finding


def test_an_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(call: list[str]) -> int:
        raise KeyError(call[0])

    monkeypatch.setattr("conformance.combinations.main", fail)
    assert "KeyError: 'verify'" in outcome(["verify"]).finding
