"""The parts of a round that starts several frames. Each part starts one of them, and all are equally long:
they are the rounds of the table.
"""

from collections.abc import Sequence
from itertools import count, pairwise

from attrs import frozen

from target_arch.soc.rounding import ceil_div


@frozen(kw_only=True)
class Parts:
    """Where the parts of a round begin, and how many steps each has when the shorter ones were filled up."""

    starts: tuple[int, ...]
    steps: int
    length: int

    @property
    def filled(self) -> int:
        """The steps of the round when its parts are equally long."""
        return len(self.starts) * self.length

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The first step of every part, and the one behind its last."""
        return tuple(pairwise((*self.starts, self.steps)))

    def place(self, step: int) -> int:
        """The number of a step when the parts are equally long."""
        part = max(number for number, start in enumerate(self.starts) if start <= step)
        return part * self.length + step - self.starts[part]


def parts_of(steps: int, firsts: Sequence[int]) -> Parts:
    """The shortest parts of a round of so many steps: a part begins no later than the `firsts` step of the
    frame that it starts.
    """
    for length in count(ceil_div(steps, len(firsts))):
        starts = [0]
        for first in firsts[1:]:
            starts.append(max(starts[-1], min(first, starts[-1] + length)))
        if steps - starts[-1] <= length:
            return Parts(starts=tuple(starts), steps=steps, length=length)
    raise AssertionError("no length is enough")
