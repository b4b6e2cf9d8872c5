"""Controls that move the bytes of vectors, executed as the instructions do, and what they cannot do."""

from typing import Any

import numpy as np
import pytest

from target_arch.backends.cores.hvx.routes import BIT, ByteRoute, route, routes_of_all

_STAGES = {"vrdelta": (1, 2, 4, 8, 16, 32, 64), "vdelta": (64, 32, 16, 8, 4, 2, 1)}


def executed(data: Any, made: ByteRoute) -> Any:
    """What the instruction makes of a vector."""
    for stage in _STAGES[made.instruction]:
        places = np.arange(len(data))
        data = data[np.where(made.control & stage, places ^ stage, places)]
    return data


def _places(step: int, width: int, more: int) -> list[int]:
    starts = [number // width * (width * step + more) + number % width * step for number in range(32)]
    return [start + byte for start in starts for byte in range(4)]


@pytest.mark.parametrize(
    ("step", "width", "more"),
    [(1, 32, 0), (2, 5, 2), (3, 32, 0), (4, 32, 0), (6, 48, 3), (9, 24, 14), (13, 32, 0), (64, 32, 0)],
)
def test_words_of_outputs(step: int, width: int, more: int) -> None:
    """Words a step apart, of rows that are somewhat longer than their outputs."""
    places = _places(step, width, more)
    made = routes_of_all([places])
    assert made is not None
    image = np.random.default_rng(step).integers(0, 256, len(made[0]) * 128, dtype=np.uint8)
    found = np.zeros(128, np.uint8)
    for vector, each in zip(image.reshape(-1, 128), made[0], strict=True):
        found = np.where(each.control & BIT, executed(vector, each), found)
    assert np.array_equal(found, image[places])


def test_two_bytes_cannot_meet() -> None:
    assert route([4, None, 5], "vrdelta") is None
    assert route([4, None, 5], "vdelta") is not None
    assert routes_of_all([_places(step=2, width=5, more=3)]) is None


def test_outputs_without_a_source() -> None:
    made = route([5, None, 6], "vrdelta")
    data = np.arange(128, dtype=np.uint8)
    found = executed(data, ByteRoute(instruction="vrdelta", control=made))
    assert (found[0], found[2]) == (5, 6)
