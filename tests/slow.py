"""Parameters of which a newcomer's run tries some, and CI all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_except(quick: Collection[object], values: Iterable[object]) -> list[Any]:
    """The values as parameters; those that are not among the quick ones have the marker `slow`."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
