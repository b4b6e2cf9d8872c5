"""What rounding may do in a model: nothing in a shallow one, more in one that enlarges differences."""

import numpy as np
import pytest

from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Array,
    Frame,
    Input,
    Reference,
)
from target_arch.run.references.rounding import ROUNDING_RULE, TIMES, limits
from target_arch.run.verification.judge import judged
from target_arch.run.verification.result import Verification

STEEP = np.float32(1e6)
DIGIT = float(np.finfo(np.float32).eps)


def answer(frame: Frame) -> tuple[Frame, ...]:
    """A steep function, a flat one, and an index."""
    (x,) = frame
    return (((x - np.float32(1.5)) * STEEP, x * np.float32(0.5), np.array([np.argmax(x)])),)


REFERENCE = Reference(
    name="the arithmetic of this file",
    rule=FLOAT_RULE,
    inputs=(Input(name="x", shape=(64,), dtype=np.dtype(np.float32), low=1.4999, high=1.5001),),
    units=(1.0, 1.0, 1.0),
    allowed=FLOAT_TOLERANCE,
    relative=FLOAT_RELATIVE,
    answer=answer,
    rounds=True,
)
FRAMES = REFERENCE.frames(3, 0)
ANSWERS = [answer(frame) for frame in FRAMES]


def verified(*added: float) -> Verification:
    """The verdict on the answers with something added to the smallest value of each output."""
    results = [b"".join(map(shifted, outputs, added)) for ((*outputs,),) in ANSWERS]
    return judged(REFERENCE, results, FRAMES, ANSWERS, ("steep", "flat", "index"), seed=0, own=None)


def shifted(value: Array, by: float) -> bytes:
    moved = value.copy()
    moved[np.argmin(np.abs(value))] += np.array(by).astype(value.dtype)
    return moved.tobytes()


def test_each_output_has_a_limit_of_its_own() -> None:
    steep, flat, index = limits(REFERENCE, FRAMES, [first for (first,) in ANSWERS])
    assert steep == pytest.approx(TIMES * 1e6 * DIGIT, rel=0.1)
    assert (flat, index) == (FLOAT_TOLERANCE, FLOAT_TOLERANCE)


def test_limits_are_the_same_each_time() -> None:
    firsts = [first for (first,) in ANSWERS]
    assert limits(REFERENCE, FRAMES, firsts) == limits(REFERENCE, FRAMES, firsts)


def test_the_plain_rule_comes_first() -> None:
    found = verified(0.00005, 0.00005, 0)
    assert (found.passed, found.rule, found.allowed) == (True, FLOAT_RULE, FLOAT_TOLERANCE)


def test_what_rounding_does_passes() -> None:
    found = verified(0.9 * TIMES * 1e6 * DIGIT, 0.00005, 0)
    assert (found.passed, found.rule) == (True, ROUNDING_RULE)


@pytest.mark.parametrize(
    ("added", "output"),
    [((2 * TIMES * 1e6 * DIGIT, 0, 0), "steep"), ((0, 0.002, 0), "flat"), ((0, 0, 1), "index")],
)
def test_planted_faults_are_found(added: tuple[float, float, float], output: str) -> None:
    found = verified(*added)
    assert (found.passed, found.rule, found.wrong) == (False, ROUNDING_RULE, len(FRAMES))
    assert found.first_wrong.startswith(f"`{output}`")


def test_few_digits_stay_as_they_are() -> None:
    halves = np.linspace(1, 2, 9, dtype=np.float16)
    assert limits(REFERENCE, [(halves,)], [answer((halves,))[0]])[0] == FLOAT_TOLERANCE
