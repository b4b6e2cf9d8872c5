"""Fourier transforms of an even number of real values, in integers or in float32.

A transform of half as many complex numbers, in stages of 4, 2, 3 and 5, is taken apart afterwards (or put
together before). In integers every stage divides by its radix, rounded, so that nothing exceeds its type.
Sources: Kiss FFT `kiss_fft.c`, `kiss_fftr.c` (the order of operations, on which bits depend), TFLite Micro
`signal/micro/kernels/{rfft,irfft}.cc`.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

from .butterflies import RADICES, Butterflies, scratch_of
from .complex_numbers import Array, Complex, Numbers, minus, plus


@frozen(kw_only=True)
class FourierTransform:
    """Rows of `length` real values, of which the first `given` are there, as length / 2 + 1 complex numbers;
    or the other way round.
    """

    rows: int
    length: int
    given: int
    inverse: bool
    numbers: Numbers

    @property
    def half(self) -> int:
        """How many complex numbers are transformed."""
        return self.length // 2

    def tables(self) -> tuple[Array, Array, Array]:
        """From where each number is taken, and points of the circle for the stages and for the ends."""
        sign = 1 if self.inverse else -1
        turns = [sign * 2 * math.pi * i / self.half for i in range(self.half)]
        ends = [sign * math.pi * ((i + 1) / self.half + 0.5) for i in range(self.half // 2)]
        order = np.array(_order(list(range(self.half)), _radices(self.half)), np.int32)
        return order, self.numbers.circle(turns), self.numbers.circle(ends)

    def write(self, out: Any, x: Any, order: Any, turns: Any, ends: Any) -> None:
        """All rows, each as it is stored."""
        work = local("work", (self.half, 2), self.numbers.dtype)
        held = local("held", (self.half, 2), self.numbers.dtype)
        scratch = local("scratch", (scratch_of(_radices(self.half)), 2), self.numbers.dtype)
        with ib.serial(0, self.rows) as row:
            if self.inverse:
                self._join(held, x, row, ends, scratch)
            else:
                self._fill(held, x, row)
            with ib.serial(0, self.half) as i:
                self.numbers.store(work, self.numbers.at(held, order[i]), i)
            self._stages(work, turns, scratch)
            if self.inverse:
                with ib.grid(self.half, 2) as (i, part):
                    ib.buffer_store(out, self._left(work[i, part]), [row, 2 * i + part])
            else:
                self._take_apart(out, work, row, ends, scratch)

    def _left(self, value: Any) -> Any:
        """A result of the inverse transform; floats are divided only here."""
        return value * tirx.const(1 / self.length, "float32") if self.numbers.real else value

    def _fill(self, held: Any, x: Any, row: Any) -> None:
        """The values in pairs, zeros where there are none."""
        with ib.grid(self.half, 2) as (i, part):
            ib.buffer_store(held, tirx.const(0, self.numbers.dtype), [i, part])
            with ib.If(2 * i + part < self.given), ib.Then():
                ib.buffer_store(held, x[row, tirx.min(2 * i + part, self.given - 1)], [i, part])

    def _stages(self, work: Any, turns: Any, scratch: Any) -> None:
        """The transform in place, the shortest parts first."""
        parts = Butterflies(
            numbers=self.numbers,
            work=work,
            scratch=scratch,
            inverse=self.inverse,
            half=self.half,
            turn=partial(self.numbers.at, turns),
        )
        size = 1
        for radix in reversed(_radices(self.half)):
            stride = self.half // (size * radix)
            with ib.grid(stride, size) as (block, k):
                first = block * (size * radix) + k
                places = [first + part * size for part in range(radix)]
                points = [self.numbers.at(turns, part * k * stride) for part in range(1, radix)]
                for place in places:
                    self.numbers.store(work, self.numbers.divided(self.numbers.at(work, place), radix), place)
                parts.combine(places, points)
            size *= radix

    def _pair(
        self, source: Any, scratch: Any, here: tuple[Any, ...], there: tuple[Any, ...], point: Complex
    ) -> None:
        """A number and the conjugate of its partner: their halves' sum, and their difference turned."""
        at, store = self.numbers.at, self.numbers.store
        store(scratch, at(source, *here), 0)
        real, imaginary = at(source, *there)
        store(scratch, (real, -imaginary), 1)
        for part in (0, 1):
            store(scratch, self.numbers.divided(at(scratch, part), 2), part)
        store(scratch, plus(at(scratch, 0), at(scratch, 1)), 2)
        store(scratch, minus(at(scratch, 0), at(scratch, 1)), 3)
        store(scratch, self.numbers.product(at(scratch, 3), point), 4)

    def _take_apart(self, out: Any, work: Any, row: Any, ends: Any, scratch: Any) -> None:
        at, halved, dtype = self.numbers.at, self.numbers.halved, self.numbers.dtype

        def leave(value: Any, place: Any, part: int) -> None:
            ib.buffer_store(out, value.astype(dtype), [row, 2 * place + part])

        self.numbers.store(scratch, self.numbers.divided(at(work, 0), 2), 0)
        real, imaginary = at(scratch, 0)
        leave(real + imaginary, 0, 0)
        leave(real - imaginary, self.half, 0)
        for place in (0, self.half):
            leave(self.numbers.const(0), place, 1)
        with ib.serial(1, self.half // 2 + 1) as k:
            self._pair(work, scratch, (k,), (self.half - k,), at(ends, k - 1))
            total, turned = at(scratch, 2), at(scratch, 4)
            for part in (0, 1):
                leave(halved(total[part] + turned[part]), k, part)
            leave(halved(total[0] - turned[0]), self.half - k, 0)
            leave(halved(turned[1] - total[1]), self.half - k, 1)

    def _join(self, held: Any, x: Any, row: Any, ends: Any, scratch: Any) -> None:
        at, store = self.numbers.at, self.numbers.store
        first, last = at(x, row, 0)[0], at(x, row, self.half)[0]
        store(held, (first + last, first - last), 0)
        store(held, self.numbers.divided(at(held, 0), 2), 0)
        with ib.serial(1, self.half // 2 + 1) as k:
            self._pair(x, scratch, (row, k), (row, self.half - k), at(ends, k - 1))
            total, turned = at(scratch, 2), at(scratch, 4)
            store(held, plus(total, turned), k)
            store(held, minus(total, turned), self.half - k)
            real, imaginary = at(held, self.half - k)
            store(held, (real, -imaginary), self.half - k)


def _radices(count: int) -> list[int]:
    """The factors of a number, fours first, of those that there are stages for."""
    found = []
    for radix in RADICES:
        while count % radix == 0:
            found.append(radix)
            count //= radix
    return found


def is_transformed(length: int) -> bool:
    """Whether so many real values have a transform: half of them is more than one, a product of radices."""
    return length % 2 == 0 and length > 2 and math.prod(_radices(length // 2)) == length // 2


def _order(places: list[int], radices: list[int]) -> list[int]:
    """The order in which the first stage reads."""
    if not radices:
        return places
    radix, *rest = radices
    return [place for part in range(radix) for place in _order(places[part::radix], rest)]
