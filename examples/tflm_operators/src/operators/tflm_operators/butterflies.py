"""The steps of a Fourier transform that combine 2, 3, 4 or 5 numbers.

Source: Kiss FFT `kiss_fft.c`, whose order of operations bits depend on.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from .complex_numbers import Complex, Numbers, minus, plus

RADICES = (4, 2, 3, 5)
"""In the order in which factors of a length are taken."""
_SCRATCH = 6
_SCRATCH_OF_FIVE = 13


def scratch_of(radices: list[int]) -> int:
    """How many numbers a transform of these radices holds beside its own."""
    return _SCRATCH_OF_FIVE if 5 in radices else _SCRATCH


@frozen(kw_only=True, eq=False)
class Butterflies:
    """Statements on numbers at some places of `work`, the later ones turned by some points of the circle.

    `turn` gives a point of the circle by its part of a whole turn: a number of `half`.
    """

    numbers: Numbers
    work: Any
    scratch: Any
    inverse: bool
    half: int
    turn: Callable[[int], Complex]

    def combine(self, places: list[Any], points: list[Complex]) -> None:
        """As many numbers as there are places."""
        {2: self._two, 3: self._three, 4: self._four, 5: self._five}[len(places)](places, points)

    @property
    def _tools(self) -> tuple[Any, Any, Any, Any]:
        return self.numbers.at, self.numbers.store, self.work, self.scratch

    def _two(self, places: list[Any], points: list[Complex]) -> None:
        at, store, work, scratch = self._tools
        store(scratch, self.numbers.product(at(work, places[1]), points[0]), 0)
        turned = at(scratch, 0)
        store(work, minus(at(work, places[0]), turned), places[1])
        store(work, plus(at(work, places[0]), turned), places[0])

    def _four(self, places: list[Any], points: list[Complex]) -> None:
        at, store, work, scratch = self._tools
        for part in (1, 2, 3):
            store(scratch, self.numbers.product(at(work, places[part]), points[part - 1]), part - 1)
        one, two, three = (at(scratch, part) for part in range(3))
        first, (even, odd, rest) = places[0], (3, 4, 5)
        store(scratch, minus(at(work, first), two), rest)
        store(work, plus(at(work, first), two), first)
        store(scratch, plus(one, three), even)
        store(scratch, minus(one, three), odd)
        store(work, minus(at(work, first), at(scratch, even)), places[2])
        store(work, plus(at(work, first), at(scratch, even)), first)
        real, imaginary = at(scratch, odd)
        turned = (-imaginary, real) if self.inverse else (imaginary, -real)
        store(work, plus(at(scratch, rest), turned), places[1])
        store(work, minus(at(scratch, rest), turned), places[3])

    def _turned(self, places: list[Any], points: list[Complex]) -> None:
        """The later numbers turned, at the same places of the scratch."""
        for part, point in enumerate(points, 1):
            product = self.numbers.product(self.numbers.at(self.work, places[part]), point)
            self.numbers.store(self.scratch, product, part)

    def _three(self, places: list[Any], points: list[Complex]) -> None:
        at, store, work, scratch = self._tools
        self._turned(places, points)
        store(scratch, plus(at(scratch, 1), at(scratch, 2)), 3)
        store(scratch, minus(at(scratch, 1), at(scratch, 2)), 0)
        total, first = at(scratch, 3), at(work, places[0])
        store(work, minus(first, (self.numbers.halved(total[0]), self.numbers.halved(total[1]))), places[1])
        store(scratch, self.numbers.scaled(at(scratch, 0), self.turn(self.half // 3)[1]), 0)
        store(work, plus(first, total), places[0])
        real, imaginary = at(scratch, 0)
        store(work, plus(at(work, places[1]), (imaginary, -real)), places[2])
        store(work, plus(at(work, places[1]), (-imaginary, real)), places[1])

    def _five(self, places: list[Any], points: list[Complex]) -> None:
        at, store, work, scratch = self._tools
        near, far = self.turn(self.half // 5), self.turn(2 * (self.half // 5))
        self._turned(places, points)
        store(scratch, at(work, places[0]), 0)
        for one, other, total, rest in ((1, 4, 7, 10), (2, 3, 8, 9)):
            store(scratch, plus(at(scratch, one), at(scratch, other)), total)
            store(scratch, minus(at(scratch, one), at(scratch, other)), rest)
        store(work, plus(at(scratch, 0), plus(at(scratch, 7), at(scratch, 8))), places[0])
        self._pair(near, far, places[1], places[4], after=True)
        self._pair(far, near, places[2], places[3], after=False)

    def _pair(self, near: Complex, far: Complex, first: Any, second: Any, *, after: bool) -> None:
        """Two opposite ones of five numbers; of the first of them what is turned is taken away."""
        at, store, work, scratch = self._tools
        scaled = self.numbers.scaled
        middle = plus(at(scratch, 0), scaled(at(scratch, 7), near[0]))
        store(scratch, plus(middle, scaled(at(scratch, 8), far[0])), 5)
        outer, inner = scaled(at(scratch, 10), near[1]), scaled(at(scratch, 9), far[1])
        if after:
            store(scratch, (outer[1] + inner[1], -outer[0] - inner[0]), 6)
        else:
            store(scratch, (outer[1] - inner[1], inner[0] - outer[0]), 6)
        store(work, minus(at(scratch, 5), at(scratch, 6)), first)
        store(work, plus(at(scratch, 5), at(scratch, 6)), second)
