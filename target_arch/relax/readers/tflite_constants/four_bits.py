"""Constants of four bits as int8: two to a byte, the first in its low half, in two's complement."""

from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def widened(stored: Array, shape: tuple[int, ...]) -> Array:
    """The elements of a constant."""
    halves = np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)[: prod(shape)].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(np.int8).reshape(shape)
