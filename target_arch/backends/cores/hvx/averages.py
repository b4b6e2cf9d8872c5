"""Averages of whole images of int8: 128 bytes are added at once, as halfwords.

A sum is divided by the number of pixels as a product with a multiplier, whose upper half is shifted; it is
rounded half away from zero, so magnitudes are divided.
"""

from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx

from target_arch.backends.cores.hvx.copies import Place, copy
from target_arch.backends.cores.hvx.instructions import (
    PAIR,
    everywhere,
    intrinsic,
    kept,
    registers,
    word_of,
)
from target_arch.backends.cores.hvx.requantizer import twice, within
from target_arch.backends.cores.hvx.windows import ImageWindows, image_windows
from target_arch.backends.cores.hvx.writer import (
    BYTE,
    BYTES,
    VECTOR,
    WORD,
    WORDS,
    Pointer,
    Writer,
    pair,
    store_pair,
    store_vector,
    vector,
)
from target_arch.plan.arithmetic import activation_range, counts_in_multiplier
from target_arch.plan.model import Model, Operator
from target_arch.relax.lower.operators import definition_of, signature_of
from target_arch.relax.te.definition import Definition
from target_arch.soc.rounding import ceil_div

_HALF = 16
_MOST = 255
"""Pixels whose sum, with half of their number, is a halfword."""


@frozen(kw_only=True, eq=False)
class ImageAverage:
    """The average of the pixels of each image, within limits. `divisor` has a multiplier and a shift."""

    windows: ImageWindows
    limits: tuple[int, int]
    divisor: tuple[int, int]
    plain: Definition

    @property
    def room(self) -> int:
        """Bytes of scratch: a vector whose first bytes are the result, where it has more."""
        return BYTES if self._channels < BYTES else 0

    @property
    def _channels(self) -> int:
        return self.windows.channels

    def definition(self) -> Definition:
        """The same in C."""
        return self.plain

    def write(self, to: Writer, pointers: tuple[Pointer, ...]) -> None:
        """Writes the code on vectors; pointers are x, out and the room."""
        x, out, room = pointers
        image_bytes = self.windows.taps * self._channels
        with to.loop(self.windows.batch) as image, to.loop(ceil_div(self._channels, BYTES)) as block:
            sums = self._sums(to, x, image * image_bytes + block * BYTES)
            low, high = (self._mean(to, self._together(to, each)) for each in sums)
            value = tirx.reinterpret(f"{BYTE}x{BYTES}", intrinsic("vshuffeb", high, low))
            result, place = within(value, self.limits), image * self._channels + block * BYTES
            self._store(to, (out, room), result, place)

    def _store(self, to: Writer, pointers: tuple[Pointer, Pointer], result: Any, place: Any) -> None:
        """Stores the averages of some channels."""
        out, room = pointers
        if not self.room:
            store_vector(to, to.view(out, 1), place, result)
            return
        store_vector(to, to.view(room, 1), 0, result)
        source = Place(pointer=room, offset=0, multiple=BYTES)
        copy(to, Place(pointer=out, offset=place, multiple=self._channels), source, self._channels)

    def _sums(self, to: Writer, x: Pointer, start: Any) -> tuple[Any, Any]:
        """The sums of even and of odd bytes of vectors from a place on, as halfwords."""
        data, step = to.view(x, 1), max(self._channels, BYTES)
        run, total = self.windows.taps * self._channels, to.variable(WORD, 2 * WORDS)
        store_pair(to, total, tirx.Broadcast(tirx.const(0, WORD), 2 * WORDS))

        def add(value: Any) -> None:
            added = intrinsic("vmpybv.acc", pair(total), value, everywhere(word_of(1)), dtype=PAIR)
            store_pair(to, total, added)

        with to.loop(run // step) as some:
            add(tirx.reinterpret(VECTOR, vector(data, start + some * step)))
        rest = run % step
        if rest:
            last = tirx.reinterpret(VECTOR, vector(data, start + run - BYTES))
            before = intrinsic("pred.scalar2", tirx.const(BYTES - rest, WORD), dtype="boolx128")
            add(intrinsic("vmux", before, everywhere(0), last))
        return registers(to, pair(total))

    def _together(self, to: Writer, sums: Any) -> Any:
        """The sums of all pixels of a vector, where it has more than one."""
        distance = self._channels
        while distance < BYTES:
            turned = intrinsic("vror", sums, tirx.const(distance, WORD))
            sums = kept(to, intrinsic("vaddh", sums, turned))
            distance *= 2
        return sums

    def _mean(self, to: Writer, sums: Any) -> Any:
        """Halfwords divided by the number of pixels."""
        multiplier, right = self.divisor
        sign = kept(to, intrinsic("vasrh", sums, tirx.const(_HALF - 1, WORD)))
        size = intrinsic("vaddh", intrinsic("vabsh", sums), everywhere(twice(self.windows.taps // 2)))
        factor = everywhere(twice(multiplier - (multiplier >> (_HALF - 1) << _HALF)))
        low, high = registers(to, intrinsic("vmpyuhv", size, factor, dtype=PAIR))
        upper = intrinsic("vshufoh", high, low)
        quotient = intrinsic("vlsrh", upper, tirx.const(right - _HALF, WORD)) if right > _HALF else upper
        return kept(to, intrinsic("vsubh", tirx.bitwise_xor(quotient, sign), sign))


def average_of(operator: Operator, model: Model) -> ImageAverage | None:
    """The average of whole images; None where it is another, of too many pixels, or channels do not fill
    vectors.
    """
    x, out = (model.tensors[name] for name in (operator.inputs[0], operator.output))
    if {x.dtype, out.dtype} != {BYTE} or counts_in_multiplier(operator):
        return None
    windows = image_windows(operator, model)
    whole = windows.out == (1, 1) and windows.kernel == windows.image and windows.before == (0, 0)
    fills = windows.channels % BYTES == 0 or (windows.channels > 1 and BYTES % windows.channels == 0)
    divisor = division(windows.taps)
    if not (whole and fills) or divisor is None or windows.taps * windows.channels < BYTES:
        return None
    return ImageAverage(
        windows=windows,
        limits=activation_range(operator, model),
        divisor=divisor,
        plain=definition_of(signature_of(operator, model)),
    )


def division(count: int) -> tuple[int, int] | None:
    """A multiplier of 16 bits and a right shift that divide every sum of so many bytes, with half of their
    number; None where there are none.
    """
    if not 1 < count <= _MOST:
        return None
    sums = np.arange(128 * count + count // 2 + 1, dtype=np.int64)
    for right in range(_HALF, 2 * _HALF):
        multiplier = ceil_div(1 << right, count)
        if multiplier >> _HALF:
            return None
        if np.array_equal(sums * multiplier >> right, sums // count):
            return multiplier, right
    return None
