"""Whole units."""

import pytest

from target_arch.soc.rounding import ceil_div, round_up


@pytest.mark.parametrize(
    ("value", "unit", "count"), [(0, 16, 0), (1, 16, 1), (16, 16, 1), (17, 16, 2), (5, 1, 5)]
)
def test_units_that_cover_a_value(value: int, unit: int, count: int) -> None:
    assert ceil_div(value, unit) == count
    assert round_up(value, unit) == count * unit
