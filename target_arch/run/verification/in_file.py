"""A tensor of the plan beside that of the model's file: in another order, perhaps with fewer channels.

Tests: `tests/run/verification/test_layers.py`.
"""

from math import prod

import numpy as np

from target_arch.plan.model import Origin
from target_arch.run.references.reference import Array


def laid_out(theirs: Array, origin: Origin, shape: tuple[int, ...]) -> Array:
    """Return the file's elements as the tensor of the plan, which has this shape, holds them."""
    held = theirs.reshape(origin.view).transpose(origin.axes)
    if origin.channels is None:
        return held.reshape(shape)
    return held.reshape(*shape[:-1], -1)[..., list(origin.channels)]


def place_in_file(index: tuple[int, ...], origin: Origin, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index in the file's tensor (of shape `origin.view`) of an element of the plan's tensor."""
    places = laid_out(np.arange(prod(origin.view)), origin, shape)
    return tuple(int(part) for part in np.unravel_index(int(places[index]), origin.view))
