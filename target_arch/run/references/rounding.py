"""How far rounding alone may move the outputs of a model.

Two right computations round otherwise, and a deep model enlarges that by a factor which only the model knows.
So it is asked of the reference: its inputs are changed by as much as rounding changes a tensor, and its
outputs move by what errors of that size grow to. In a shallow model that is nothing beside `allowed`.

- In floats every element of the inputs changes in the last digit.
  Where all inputs are indices, the constants do.
- In integers a tie that is rounded the other way is one step of one element: one element in a thousand of the
  inputs changes by a step. Floats that are brought to a grid of their own extremes change as above.

Tests: `tests/run/references/test_rounding.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from target_arch.run.references.reference import FLOAT_RULE, Array, Frame, Input, Reference, differences

TIMES = 4
"""Both sides round, and at every operator, not at the inputs alone: in the steepest model that was tried
outputs differ by up to 5 times the distance that one draw of inputs moves them."""
STEPS_TIMES = 2
"""The same for steps, where few operators have a tie at all."""
_DRAWS = 4
"""So many draws at least: few frames are drawn several times."""
_FAR = 2
"""One draw is enough where the plain rule alone allows every element so many times what `TIMES` gives it."""
ROUNDING_RULE = f"{FLOAT_RULE}, or {TIMES} times what its output moves by as inputs change in the last digit"
STEPS_RULE = (
    f"plus {STEPS_TIMES} times what its output moves by as one in a thousand inputs changes by a step, "
    "floats without one in the last digit"
)
_LEAST_BYTES = 4
"""Elements with fewer are computed with more digits than they have."""
_SHARE = 1000

_Nudge = Callable[[Array, Input, np.random.Generator], Array]
_Enough = Callable[[Reference, Frame, Frame], bool]


def limits(reference: Reference, frames: Sequence[Frame], answers: Sequence[Frame]) -> tuple[float, ...]:
    """The allowed difference of each output of a float model, in units: `allowed`, or `TIMES` the distance
    that the `answers` to the frames move by, where that is more. Integers move by nothing: which of two is
    the largest is no matter of rounding.
    """
    moved = _moved(reference, frames, answers, _neighbours, _hardly)
    floats = [value.dtype.kind == "f" for value in answers[0]]
    return tuple(
        max(reference.allowed, TIMES * each if real else 0.0)
        for each, real in zip(moved, floats, strict=True)
    )


def step_limits(reference: Reference, frames: Sequence[Frame], answers: Sequence[Frame]) -> tuple[float, ...]:
    """The distance that rounding may add for each output of a quantized model, in units: `STEPS_TIMES` times
    that by which the `answers` to the frames move.
    """
    return tuple(STEPS_TIMES * each for each in _moved(reference, frames, answers, _stepped, _never))


def _moved(
    reference: Reference,
    frames: Sequence[Frame],
    answers: Sequence[Frame],
    nudge: _Nudge,
    enough: _Enough,
) -> tuple[float, ...]:
    """The largest finite distance that each output moves by as the inputs are changed, in units. Frames are
    not drawn again where each draw of them was `enough`.
    """
    apart: list[list[float]] = []
    settled = True
    for draw in range(max(1, -(-_DRAWS // max(len(frames), 1)))):
        reference.reset()
        for number, (frame, theirs) in enumerate(zip(frames, answers, strict=True)):
            nudged = _nudged(reference, frame, (draw, number), nudge)
            other = _other(reference, frame, nudged, (draw + number) % _DRAWS)
            apart.append([_apart(a, b) / u for a, b, u in zip(theirs, other, reference.units, strict=True)])
            settled = settled and enough(reference, theirs, other)
        if settled:
            break
    return tuple(map(max, zip(*apart, strict=True)))


def _hardly(reference: Reference, theirs: Frame, other: Frame) -> bool:
    """Whether the plain rule alone allows every element much more than it moved by."""
    rows = zip(theirs, other, reference.units, strict=True)
    return all(
        np.all(TIMES * _FAR * differences(a, b) <= reference.allowed * unit + reference.relative * abs(a))
        for a, b, unit in rows
    )


def _never(reference: Reference, theirs: Frame, other: Frame) -> bool:
    """Ties are rare: none of them in one draw says nothing of others."""
    return False


def _other(reference: Reference, frame: Frame, nudged: Frame, seed: int) -> Frame:
    """The answer to changed inputs, or, where none of them can be, that of constants changed by a seed."""
    changed = any(one is not other for one, other in zip(frame, nudged, strict=True))
    if changed or reference.varied is None:
        return reference.answer(nudged)[0]
    return reference.varied(frame, seed)


def _nudged(reference: Reference, frame: Frame, seed: tuple[int, int], nudge: _Nudge) -> Frame:
    """The frame, each input changed at random; the same for the same seed."""
    return tuple(
        nudge(value, given, np.random.default_rng((*seed, index)))
        for index, (value, given) in enumerate(zip(frame, reference.inputs, strict=True))
    )


def _neighbours(value: Array, given: Input, generator: np.random.Generator) -> Array:
    """Every float element as one of its two neighbours."""
    if value.dtype.kind != "f" or value.dtype.itemsize < _LEAST_BYTES:
        return value
    ends = np.where(generator.integers(0, 2, value.shape) == 0, -np.inf, np.inf).astype(value.dtype)
    return np.asarray(np.nextafter(value, ends))


def _stepped(value: Array, given: Input, generator: np.random.Generator) -> Array:
    """One element in a thousand, at least one, a step towards the middle of the range; all floats without a
    step in the last digit. Integers of more than 8 bits stay: they are indices and counts.
    """
    if value.dtype.kind == "f" and not given.step:
        return _neighbours(value, given, generator)
    step = given.step if value.dtype.kind == "f" else float(value.dtype.itemsize == 1)
    if step == 0.0 or value.dtype.kind == "b" or not value.size:
        return value
    moved = value.copy().reshape(-1)
    chosen = generator.choice(moved.size, -(-moved.size // _SHARE), replace=False)
    inwards = np.where(moved[chosen] > (given.low + given.high) / 2, -step, step)
    moved[chosen] = (moved[chosen] + inwards).astype(value.dtype)
    return moved.reshape(value.shape)


def _apart(first: Array, other: Array) -> float:
    """The largest finite difference."""
    apart = differences(first, other)
    return float(apart[np.isfinite(apart)].max(initial=0.0))
