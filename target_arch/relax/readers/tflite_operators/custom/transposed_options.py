"""The options of MediaPipe's `Convolution2DTransposeBias`: three integers as a C compiler lays them out."""

import struct

from attrs import frozen

CODE = "Convolution2DTransposeBias"
_SAME, _VALID = 1, 2


@frozen
class TransposedOptions:
    """Whether the result is as large as the image times the strides, and the strides (rows, columns)."""

    same: bool
    strides: tuple[int, int]


def transposed_options(data: bytes) -> TransposedOptions | None:
    """The options; None for bytes that are none."""
    if len(data) != struct.calcsize("<3i"):
        return None
    padding, columns, rows = struct.unpack("<3i", data)
    if padding not in (_SAME, _VALID) or min(rows, columns) < 1:
        return None
    return TransposedOptions(padding == _SAME, (rows, columns))
