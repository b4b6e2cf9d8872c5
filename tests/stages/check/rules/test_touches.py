"""Whether slices have bytes in common, against the lists of their bytes."""

import random

from target_arch.plan.kernels import Slice
from target_arch.stages.check.rules.touches import listed, meet


def test_slices_that_meet() -> None:
    """Rows apart, side by side, over each other, and all at one place."""
    dice, met = random.Random(30), 0
    for _ in range(20_000):
        one, other = (
            Slice(
                of="a",
                offset=dice.randrange(24),
                row_bytes=dice.randint(1, 6),
                rows=dice.randint(1, 5),
                stride=dice.choice((0, 1, 2, 4, 6, 9, 16)),
            )
            for _ in range(2)
        )
        common = not set(listed(one).tolist()).isdisjoint(listed(other).tolist())
        assert meet(one, other) == common, (one, other)
        met += common
    assert 2_000 < met < 18_000
