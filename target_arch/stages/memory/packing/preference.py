"""Sections of time, and the orders in which buffers are preferred.

An order is a word of letters, the most important first, each meaning `more first`: T, the most bytes live at
once while the buffer is live; W, the steps it is live; S, the sections it lives in; A, bytes times steps; Z,
bytes; L, the steps from its first one to the end, so that the earliest come first; U, its last step, so that
the latest do. TWA and WAT are among the orders that minimalloc's authors recommend; LZ and UZ sweep through
time, which keeps a search of full memories close to the last choice. The time with each differs from instance
to instance by orders of magnitude, so they are tried in turn.
"""

from bisect import bisect_left
from collections.abc import Sequence
from random import Random

import numpy as np

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.measure import live_bytes

ORDERS = ("TWA", "TSA", "SAT", "WAT", "ZWT", "LZ", "UZ")

UNIT = 1024
"""The scale of jitter. Integers: alike on every machine."""


def sections(buffers: Sequence[Buffer]) -> tuple[list[int], list[int]]:
    """Per buffer the sections `left <= s < right` it lives in.

    A section stands for a largest set of buffers live at once: the last step before an end that follows a
    beginning.
    """
    events = sorted([(b.first, 0) for b in buffers] + [(b.last, 1) for b in buffers])
    steps: list[int] = []
    begun = False
    for step, ends in events:
        if not ends:
            begun = True
        elif begun:
            steps.append(step)
            begun = False
    left = [bisect_left(steps, buffer.first) for buffer in buffers]
    right = [bisect_left(steps, buffer.last + 1) for buffer in buffers]
    return left, right


class Preference:
    """Orders of the same buffers."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        live = live_bytes(buffers)
        steps, values = list(live), np.array(list(live.values()), dtype=np.int64)
        most = [
            int(values[bisect_left(steps, b.first) : bisect_left(steps, b.last + 1)].max()) for b in buffers
        ]
        length = [buffer.last - buffer.first + 1 for buffer in buffers]
        sizes = [buffer.bytes for buffer in buffers]
        self._sections = list(zip(*sections(buffers), strict=True))
        crossed = [right - left for left, right in self._sections]
        area = [size * steps for size, steps in zip(sizes, length, strict=True)]
        end = max((buffer.last for buffer in buffers), default=0)
        early, late = [end - buffer.first for buffer in buffers], [buffer.last for buffer in buffers]
        self._keys = {"T": most, "W": length, "S": crossed, "A": area, "Z": sizes, "L": early, "U": late}
        self._ties = [(buffer.first, buffer.name) for buffer in buffers]

    def order(
        self,
        letters: str,
        random: Random | None = None,
        jitter: int = 0,
        weights: Sequence[int] | None = None,
    ) -> list[int]:
        """The numbers of the buffers, the preferred first; with `random`, every key changes by up to
        `jitter` of UNIT. With `weights` of the sections, the greatest weight that a buffer lives in goes
        before all letters.
        """
        columns = [self._keys[letter] for letter in letters]
        if random is not None:
            columns = [
                [key * (UNIT + random.randrange(-jitter, jitter + 1)) for key in column] for column in columns
            ]
        if weights is not None:
            columns.insert(0, [max(weights[left:right]) for left, right in self._sections])
        keys = [tuple(-key for key in row) for row in zip(*columns, strict=True)]
        return sorted(range(len(self._ties)), key=lambda number: (keys[number], self._ties[number]))
