"""Complex numbers in integers or float32, as Kiss FFT (`_kiss_fft_guts.h`) computes with them."""

import math
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

Complex = tuple[Any, Any]
Array = np.ndarray[Any, Any]
_WIDE = {"int16": "int32", "int32": "int64", "float32": "float32"}


@frozen(kw_only=True)
class Numbers:
    """Complex numbers of one element type in buffers whose last dimension is real and imaginary part."""

    dtype: str

    @property
    def _most(self) -> int:
        return int(np.iinfo(self.dtype).max)

    @property
    def real(self) -> bool:
        return self.dtype == "float32"

    def const(self, value: int) -> Any:
        return tirx.const(value, _WIDE[self.dtype])

    def at(self, buffer: Any, *place: Any) -> Complex:
        """A number, wide enough for products."""
        first, second = (buffer[(*place, part)].astype(_WIDE[self.dtype]) for part in (0, 1))
        return first, second

    def store(self, buffer: Any, value: Complex, *place: Any) -> None:
        for part in (0, 1):
            ib.buffer_store(buffer, value[part].astype(self.dtype), [*place, part])

    def product(self, a: Complex, b: Complex) -> Complex:
        return self._rounded(a[0] * b[0] - a[1] * b[1]), self._rounded(a[0] * b[1] + a[1] * b[0])

    def divided(self, value: Complex, by: int) -> Complex:
        """Integers over a small number; floats as they are."""
        if self.real:
            return value
        first, second = (self._rounded(each * self.const(self._most // by)) for each in value)
        return first, second

    def scaled(self, value: Complex, by: Any) -> Complex:
        """Each part times a real number."""
        return self._rounded(value[0] * by), self._rounded(value[1] * by)

    def halved(self, value: Any) -> Any:
        return value * tirx.const(0.5, "float32") if self.real else value >> self.const(1)

    def _rounded(self, product: Any) -> Any:
        if self.real:
            return product
        bits = self._most.bit_length()
        return (product + self.const(1 << (bits - 1))) >> self.const(bits)

    def circle(self, phases: list[float]) -> Array:
        """The points of the unit circle at these angles."""
        points = [(math.cos(phase), math.sin(phase)) for phase in phases]
        if self.real:
            return np.array(points, np.float32)
        return np.array(
            [[math.floor(0.5 + self._most * part) for part in point] for point in points], self.dtype
        )


def plus(a: Complex, b: Complex) -> Complex:
    """The sum."""
    return a[0] + b[0], a[1] + b[1]


def minus(a: Complex, b: Complex) -> Complex:
    """The difference."""
    return a[0] - b[0], a[1] - b[1]
