"""Parameters of which a newcomer's run tries some, CI more, and a person all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_except(
    quick: Collection[object], values: Iterable[object], by_hand: Collection[object] = ()
) -> list[Any]:
    """The values as parameters; those that are not among the quick ones have the marker `slow`, or `long`
    where they are run by hand.
    """

    def marked(value: object) -> Any:
        if value in quick:
            return value
        return pytest.param(value, marks=pytest.mark.long if value in by_hand else pytest.mark.slow)

    return [marked(value) for value in values]
