"""Runs last: every golden is read by a test."""


def test_no_golden_is_an_orphan(orphan_goldens: list[str]) -> None:
    assert orphan_goldens == []
