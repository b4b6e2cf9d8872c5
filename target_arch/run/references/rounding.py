"""How far rounding alone may move the outputs of a float model.

Two right computations round otherwise, and a deep model enlarges that by a factor which only the model knows.
So it is asked of the reference: where every element of its inputs changes in the last digit, its outputs move
by what errors of that size grow to. In a shallow model that is nothing beside `FLOAT_TOLERANCE`.

Tests: `tests/run/references/test_rounding.py`.
"""

from collections.abc import Sequence

import numpy as np

from target_arch.run.references.reference import FLOAT_RULE, Array, Frame, Reference, differences

TIMES = 4
"""Both sides round, and at every operator, not at the inputs alone: in the steepest model that was tried
outputs differ by up to 5 times the distance that one draw of inputs moves them."""
_DRAWS = 4
"""So many draws at least: few frames are drawn several times."""
ROUNDING_RULE = f"{FLOAT_RULE}, or {TIMES} times what its output moves by as inputs change in the last digit"
_LEAST_BYTES = 4
"""Elements with fewer are computed with more digits than they have."""


def limits(reference: Reference, frames: Sequence[Frame], answers: Sequence[Frame]) -> tuple[float, ...]:
    """The allowed difference of each output, in units: `allowed`, or `TIMES` the distance that the `answers`
    to the frames move by, where that is more. Integers move by nothing: which of two is the largest is no
    matter of rounding.
    """
    apart = []
    for draw in range(max(1, -(-_DRAWS // max(len(frames), 1)))):
        reference.reset()
        for number, (frame, theirs) in enumerate(zip(frames, answers, strict=True)):
            other = reference.answer(_nudged(frame, (draw, number)))[0]
            apart.append([_apart(a, b) for a, b in zip(theirs, other, strict=True)])
    return tuple(
        max(reference.allowed, TIMES * max(each) / unit)
        for each, unit in zip(zip(*apart, strict=True), reference.units, strict=True)
    )


def _nudged(frame: Frame, seed: tuple[int, int]) -> Frame:
    """Every float element as one of its two neighbours, drawn at random; the same for the same seed."""
    return tuple(
        _neighbours(value, np.random.default_rng((*seed, index))) for index, value in enumerate(frame)
    )


def _neighbours(value: Array, generator: np.random.Generator) -> Array:
    if value.dtype.kind != "f" or value.dtype.itemsize < _LEAST_BYTES:
        return value
    ends = np.where(generator.integers(0, 2, value.shape) == 0, -np.inf, np.inf).astype(value.dtype)
    moved: Array = np.nextafter(value, ends)
    return moved


def _apart(first: Array, other: Array) -> float:
    """The largest finite difference; 0 for integers."""
    if first.dtype.kind != "f":
        return 0.0
    apart = differences(first, other)
    return float(apart[np.isfinite(apart)].max(initial=0.0))
