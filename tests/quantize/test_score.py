"""Distances and accuracies."""

import numpy as np
import pytest

from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.score import Judge, Score, best, best_of_library

FRAMES = tuple((np.array([value], np.float32),) for value in (1.0, 2.0))
OUTPUTS = ((np.array([3.0, 4.0]),), (np.array([0.0, -5.0]),))


def judge(labels: tuple[int, ...] | None = None) -> Judge:
    return Judge(data=LabelledFrames(frames=FRAMES, labels=labels), expected=OUTPUTS)


def test_a_distance_is_the_errors_share() -> None:
    answers = {1.0: (np.array([3.0, 4.0]),), 2.0: (np.array([0.5, -5.0]),)}
    score = judge().score(lambda frame: answers[float(frame[0][0])])
    assert score == Score(distance=pytest.approx(np.sqrt(0.25 / 50)))


def test_several_outputs_count_alike() -> None:
    expected = tuple((one[0], 1000 * one[0]) for one in OUTPUTS)
    both = Judge(data=LabelledFrames(frames=FRAMES), expected=expected)
    answers = iter([(expected[0][0], 1.1 * expected[0][1]), (expected[1][0], 1.1 * expected[1][1])])
    assert both.score(lambda frame: next(answers)).distance == pytest.approx(np.sqrt(0.01 / 2))


def test_outputs_of_zeros() -> None:
    zero = Judge(data=LabelledFrames(frames=FRAMES[:1]), expected=((np.zeros(2),),))
    assert zero.score(lambda frame: (np.zeros(2),)).distance == 0
    assert zero.score(lambda frame: (np.ones(2),)).distance == 1


def test_the_accuracy_is_the_share_of_frames_that_are_right() -> None:
    assert judge(labels=(1, 1)).perfect == Score(distance=0.0, accuracy=0.5)
    right = judge(labels=(1, 1)).score(lambda frame: (np.array([0.0, 1.0]),))
    assert right.accuracy == 1.0
    assert right.right == (True, True)


def scored(distance: float, right: int, count: int = 100) -> Score:
    """So many frames right, the first ones."""
    return Score(
        distance=distance, accuracy=right / count, right=(True,) * right + (False,) * (count - right)
    )


@pytest.mark.parametrize(
    ("scores", "place"),
    [
        ([Score(distance=0.2), Score(distance=0.1)], 1),
        ([scored(0.2, 90), scored(0.1, 90)], 1),
        ([scored(0.2, 92), scored(0.1, 88)], 1),
        ([scored(0.2, 92), scored(0.1, 87)], 0),
    ],
)
def test_distance_decides_where_accuracies_differ_by_chance(scores: list[Score], place: int) -> None:
    """Four frames that one alone has right are two standard errors; five are more."""
    assert best(range(len(scores)), scores.__getitem__) == place


@pytest.mark.parametrize(
    ("ours", "library", "place"),
    [
        (Score(distance=0.1), [Score(distance=0.2)], 0),
        (scored(0.1, 90), [scored(0.2, 89)], 0),
        (scored(0.1, 90), [scored(0.2, 90)], 1),
        (scored(0.1, 90), [scored(0.1, 90), scored(0.3, 91), scored(0.2, 91)], 3),
        (scored(0.1, 90), [], 0),
    ],
)
def test_the_library_s_own_stands_until_more_frames_are_right(
    ours: Score, library: list[Score], place: int
) -> None:
    scores = [ours, *library]
    assert best_of_library(0, range(1, len(scores)), scores.__getitem__) == place
