"""TFLite Micro's TFLM_DECODE, random compressed constants against its interpreter: every bit.

    python -m conformance.tflite_decode [--only NAME …] [--variants 20] [--digests]

As `tflite_signal.py`, whose reference and digests these are, too. Each model has several constants, one of
which is the weights of a layer.
"""

import heapq
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from attrs import frozen

from conformance.tflite_files import Array
from conformance.tflite_signal import SignalModel, Source, compared

CODE = "TFLM_DECODE"
_HEAD = 16
_TYPES = ("int8", "int16", "int32", "int64", "float32", "bool")


@frozen(kw_only=True, eq=False)
class Drawn:
    """A constant before its compression: its values, scales and zero points along `axis`."""

    values: Array
    scale: float | list[float] | None
    zero_point: int = 0
    axis: int = 0

    @property
    def channels(self) -> int:
        return len(self.scale) if isinstance(self.scale, list) else 1


def head(kind: int, form: int = 0, stride: int = 0) -> bytes:
    return bytes([kind, 1, 0, 0, 1, form, stride]).ljust(_HEAD, b"\0")


def packed(digits: str) -> Array:
    """A text of binary digits as bytes, four at a time."""
    filled = digits + "0" * (-len(digits) % 32)
    return np.array([int(filled[at : at + 8], 2) for at in range(0, len(filled), 8)], np.uint8)


def looked_up(
    source: Source, shape: tuple[int, ...], dtype: str, axis: int | None
) -> tuple[Drawn, Array, bytes]:
    """A table of its own for each channel along `axis`."""
    channels = 1 if axis is None else shape[axis]
    width = source.extent(1, 7)
    stride = source.extent(2 ** (width - 1), 2**width - (width == 7))
    tables = _values(source, (channels, stride), dtype)
    indices = source.rng.integers(0, stride, shape)
    place = np.indices(shape)[axis] if axis is not None else np.zeros(shape, int)
    drawn = Drawn(values=tables[place, indices], scale=_scales(channels, dtype, axis), axis=axis or 0)
    encoded = packed("".join(f"{index:0{width}b}" for index in indices.ravel()))
    form = width | ((15 if axis is None else axis) << 4)
    return drawn, encoded, head(0, form, stride) + tables.tobytes()


def pruned(
    source: Source, shape: tuple[int, ...], dtype: str, axis: int | None
) -> tuple[Drawn, Array, bytes]:
    """Most elements are the zero point."""
    channels = 1 if axis is None else shape[axis]
    zero = source.extent(-5, 5) if dtype == "int8" else 0
    there = source.rng.integers(0, 3, shape) == 0
    values = np.where(there, _values(source, shape, dtype), np.array(zero).astype(dtype))
    drawn = Drawn(values=values, scale=_scales(channels, dtype, axis) or 0.5, zero_point=zero, axis=axis or 0)
    encoded = packed("".join(str(int(each)) for each in there.ravel()))
    return drawn, encoded, head(2) + values[there].tobytes()


def huffman(
    source: Source, shape: tuple[int, ...], dtype: str, axis: int | None
) -> tuple[Drawn, Array, bytes]:
    """Codes of random frequencies; the first table is for some bits, each further one for what is left."""
    symbols = np.unique(_values(source, (source.extent(2, 40),), dtype))
    lengths = source.rng.geometric(0.2, len(symbols))
    codes = _codes(lengths.tolist())
    chosen = source.rng.integers(0, len(symbols), shape)
    encoded = packed("".join(codes[index] for index in chosen.ravel()))
    wide = dtype == "int16" or bool(source.extent(0, 1))
    first = source.extent(1, max(map(len, codes)))
    entries = _entries({code: int(symbols[n]) for n, code in enumerate(codes)}, first, 27 if wide else 11)
    tables = np.array(entries, np.uint32 if wide else np.uint16)
    drawn = Drawn(values=symbols[chosen], scale=0.5)
    return drawn, encoded, head(1, (first - 1) << 4 | wide) + tables.tobytes()


def _codes(weights: Sequence[int]) -> list[str]:
    """Codes without common beginnings."""
    heap = [(weight, number, [number]) for number, weight in enumerate(weights)]
    codes = [""] * len(weights)
    heapq.heapify(heap)
    while len(heap) > 1:
        (one, first, left), (other, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        for digit, members in (("0", left), ("1", right)):
            for member in members:
                codes[member] = digit + codes[member]
        heapq.heappush(heap, (one + other, first, left + right))
    return codes if len(weights) > 1 else ["0"]


def _entries(codes: Mapping[str, int], width: int, shift: int) -> list[int]:
    """The table for `width` bits, and behind it those for the rests of longer codes."""
    mark, mask = 1 << (shift + 4), 0xFF if shift == 11 else 0xFFFF
    table, behind = [], list[int]()
    for index in range(1 << width):
        digits = f"{index:0{width}b}"
        found = [code for code in codes if digits.startswith(code)]
        if found:
            table.append(mark | len(found[0]) << shift | codes[found[0]] & mask)
            continue
        rests = {code[width:]: symbol for code, symbol in codes.items() if code.startswith(digits)}
        size = min(max(map(len, rests)), 3) if rests else 1
        distance = (1 << width) + len(behind) - index
        table.append((size - 1) << shift | distance)
        behind += _entries(rests, size, shift) if rests else [mark] * 2
    return table + behind


def _values(source: Source, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "bool":
        return source.rng.integers(0, 2, shape).astype(bool)
    if dtype == "float32":
        return source.rng.standard_normal(shape).astype(np.float32)
    most = min(int(np.iinfo(dtype).max), 1 << 40)
    return source.rng.integers(-most - 1, most, shape, endpoint=True).astype(dtype)


def _scales(channels: int, dtype: str, axis: int | None) -> float | list[float] | None:
    if dtype in ("bool", "float32") and axis is None:
        return None
    return 0.5 if axis is None else [0.5 + 0.25 * number for number in range(channels)]


Compression = Callable[[Source, tuple[int, ...], str, int | None], tuple[Drawn, Array, bytes]]


def constants(compress: Compression, source: Source) -> SignalModel:
    """Several constants by one operator, and a layer whose weights are one more."""
    file = source.file
    encoded: list[int] = []
    results: list[int] = []
    sizes: list[tuple[int, str]] = []
    for _ in range(source.extent(1, 3)):
        types = ("int8", "int16") if compress is huffman else _TYPES
        dtype, shape = types[source.extent(0, len(types) - 1)], (source.extent(2, 6), source.extent(2, 40))
        axis = (None, 0, 1)[source.extent(0, 2)] if dtype == "int8" and compress is not huffman else None
        drawn, data, ancillary = compress(source, shape, dtype, axis)
        encoded += [source.constant(data), source.constant(np.frombuffer(ancillary, np.uint8))]
        results.append(file.output(shape, dtype, drawn.scale, drawn.zero_point))
        file.along(results[-1], drawn.axis)
        sizes.append((drawn.values.size, dtype))
    file.operator(CODE, encoded, results, custom=b"")
    inputs, outputs = source.extent(3, 20), source.extent(2, 9)
    drawn, data, ancillary = compress(source, (outputs, inputs), "int8", None)
    weights = file.tensor((outputs, inputs), "int8", 0.01, 0)
    if compress is pruned:
        drawn, data, ancillary = looked_up(source, (outputs, inputs), "int8", None)
    given = [source.constant(data), source.constant(np.frombuffer(ancillary, np.uint8))]
    file.operator(CODE, given, [weights], custom=b"")
    x, y = file.input((1, inputs), "int8", 0.1, 3), file.output((1, outputs), "int8", 0.5, -7)
    file.operator("FULLY_CONNECTED", [x, weights, -1], [y], ("FullyConnectedOptions", {}), 4)
    sizes.append((outputs, "int8"))

    def frame() -> tuple[Array, ...]:
        return (source.rng.integers(-128, 128, (1, inputs)).astype(np.int8),)

    return SignalModel(file=file, frame=frame, outputs=tuple(sizes))


CASES: Mapping[str, Callable[[Source], SignalModel]] = {
    "huffman": partial(constants, huffman),
    "looked_up": partial(constants, looked_up),
    "pruned": partial(constants, pruned),
}


if __name__ == "__main__":
    sys.exit(compared(__doc__ or "", CASES))
