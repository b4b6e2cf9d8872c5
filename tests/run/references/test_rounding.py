"""What rounding may do in a model: nothing in a shallow one, more in one that enlarges differences."""

import numpy as np
import pytest
from attrs import evolve

from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Array,
    Frame,
    Input,
    LayerRule,
    Reference,
)
from target_arch.run.references.rounding import (
    ROUNDING_RULE,
    STEPS_RULE,
    STEPS_TIMES,
    TIMES,
    limits,
    step_limits,
)
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


def test_what_hardly_moves_is_drawn_once() -> None:
    asked: list[Frame] = []

    def flat(frame: Frame) -> tuple[Frame, ...]:
        asked.append(frame)
        return ((frame[0] * np.float32(0.5),),)

    frames = FRAMES[:1]
    answers = [flat(frame)[0] for frame in frames]
    assert limits(evolve(REFERENCE, answer=flat, units=(1.0,)), frames, answers) == (FLOAT_TOLERANCE,)
    assert len(asked) == 2


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


def test_inputs_without_dimensions_stay_arrays() -> None:
    """onnxruntime takes no scalars of NumPy."""
    seen: list[Array] = []

    def kept(frame: Frame) -> tuple[Frame, ...]:
        seen.extend(frame)
        return (frame,)

    given = Input(name="x", shape=(), dtype=np.dtype(np.float32), low=0.0, high=1.0)
    reference = evolve(REFERENCE, inputs=(given,), units=(1.0,), answer=kept)
    frames = reference.frames(1, 0)
    limits(reference, frames, frames)
    assert seen
    assert all(isinstance(each, np.ndarray) for each in seen)


def test_constants_change_otherwise_in_each_draw() -> None:
    """Whether a tie is rounded the other way depends on the draw."""
    given = Input(name="x", shape=(2,), dtype=np.dtype(np.int64), low=0.0, high=3.0)
    seeds: list[int] = []

    def varied(frame: Frame, seed: int) -> Frame:
        seeds.append(seed)
        return (np.full(2, seed / 8),)

    reference = evolve(
        REFERENCE, inputs=(given,), units=(1.0,), answer=lambda _: ((np.zeros(2),),), varied=varied
    )
    (moved,) = step_limits(reference, reference.frames(1, 0), [(np.zeros(2),)])
    assert seeds == [0, 1, 2, 3]
    assert moved == 2 * 3 / 8


def stepped(frame: Frame) -> tuple[Frame, ...]:
    """A quantized function that triples steps, and one that keeps them."""
    (x,) = frame
    stored = np.clip(np.rint(x / 0.1), -128, 127).astype(np.int8)
    return ((stored.astype(np.int32) * 3, stored),)


STEPPED = Reference(
    name="the arithmetic of this file",
    rule="steps",
    inputs=(Input(name="x", shape=(64,), dtype=np.dtype(np.float32), low=-12.8, high=12.7, step=0.1),),
    units=(1.0, 1.0),
    allowed=1.0,
    answer=stepped,
    layers=LayerRule(steps=1, judges=True),
)


@pytest.mark.parametrize(
    ("added", "passes"), [((7, 3), True), ((8, 0), False), ((0, 4), False), ((1, 1), True)]
)
def test_a_step_inside_may_move_an_output(added: tuple[int, int], passes: bool) -> None:
    frames = STEPPED.frames(3, 0)
    answers = [stepped(frame) for frame in frames]
    assert step_limits(STEPPED, frames, [first for (first,) in answers]) == (6.0, 2.0)
    results = [b"".join(map(shifted, outputs, added)) for ((*outputs,),) in answers]
    found = judged(STEPPED, results, frames, answers, ("tripled", "kept"), seed=0, own=None)
    assert found.passed is passes
    assert found.rule == ("steps" if max(added) <= 1 else f"steps, {STEPS_RULE}")


def test_integers_change_by_one_and_indices_not_at_all() -> None:
    def as_given(*values: Array) -> Reference:
        inputs = [Input(name="x", shape=v.shape, dtype=v.dtype, low=0, high=255) for v in values]
        return evolve(
            STEPPED, inputs=tuple(inputs), units=(1.0,) * len(values), answer=lambda frame: (frame,)
        )

    stored, indices = np.full(2000, 255, np.uint8), np.arange(9)
    flags, real = np.array([True, False]), np.ones(3, np.float32)
    values = (stored, indices, flags, real, np.zeros(0, np.int8))
    found = step_limits(as_given(*values), [values], [values])
    assert found == (2.0, 0.0, 0.0, STEPS_TIMES * DIGIT, 0.0)


def test_floats_of_a_model_of_integers_keep_the_rule_of_floats() -> None:
    mixed = evolve(STEPPED, units=(1.0, 1.0), reals=(False, True))
    answers = [((np.ones(3, np.int8), np.full(3, 100, np.float32)),)] * 2
    frames = [(np.zeros(64, np.float32),)] * 2

    def judgement(step: int, real: float) -> Verification:
        results = [shifted(answer[0], step) + shifted(answer[1], real) for (answer,) in answers]
        still = evolve(mixed, answer=lambda frame: answers[0])
        return judged(still, results, frames, answers, ("stored", "real"), seed=0, own=None)

    assert judgement(1, 0.009).passed
    assert not judgement(2, 0.0).passed
    assert not judgement(0, 0.02).passed
