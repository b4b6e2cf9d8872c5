"""How good a quantized model is: its distance to the float model, and its accuracy where there are labels.

Tests: `tests/quantize/test_score.py`.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from attrs import field, frozen

from target_arch.quantize.data import LabelledFrames
from target_arch.run.execute.labels import named_class
from target_arch.run.references.reference import Frame

Answer = Callable[[Frame], Frame]
Candidate = TypeVar("Candidate")
_ERRORS = 2


@frozen(kw_only=True)
class Score:
    """`distance` is the error's share of the outputs: the root of its power over theirs, of all frames; of
    several outputs the root of the mean of both. `accuracy` is the share of frames whose label is the largest
    element of the first output, and `right` says which they are; None and nothing without labels.
    """

    distance: float
    accuracy: float | None = None
    right: tuple[bool, ...] = field(default=(), eq=False, repr=False)

    def beats(self, other: "Score") -> bool:
        """Whether it has more frames right than chance gives: two standard errors of the difference, which is
        that of the frames that one of both has right.
        """
        only, others = (
            sum(one and not two for one, two in zip(*pair, strict=True))
            for pair in ((self.right, other.right), (other.right, self.right))
        )
        return only - others > _ERRORS * math.sqrt(only + others)


def best(candidates: Sequence[Candidate], score: Callable[[Candidate], Score]) -> Candidate:
    """The candidate of the least distance of those that are as accurate as the most accurate one, but for
    chance. Of models that differ by a frame or two, the nearer to the float model does better on others.
    """
    top = max(map(score, candidates), key=lambda each: (each.accuracy or 0.0, -each.distance))
    alike = [each for each in candidates if not top.beats(score(each))]
    return min(alike, key=lambda each: score(each).distance)


def best_of_library(
    ours: Candidate, library: Sequence[Candidate], score: Callable[[Candidate], Score]
) -> Candidate:
    """The library's own model with the most frames right, the nearest of equal ones, unless ours has more
    right; ours without labels. What the library makes of a whole model stands until a better one is measured.
    """
    labelled = [each for each in library if score(each).accuracy is not None]
    if not labelled:
        return ours
    own = max(labelled, key=lambda each: (score(each).accuracy or 0.0, -score(each).distance))
    return own if (score(own).accuracy or 0.0) >= (score(ours).accuracy or 0.0) else ours


@frozen(kw_only=True)
class Judge:
    """Judges answers by those of the float model, `expected`, on the same data."""

    data: LabelledFrames = field(repr=False)
    expected: tuple[Frame, ...] = field(repr=False)

    def score(self, answer: Answer) -> Score:
        """The score of a model that answers so."""
        answers = [answer(frame) for frame in self.data.frames]
        shares = [
            _share([outputs[number] for outputs in answers], [outputs[number] for outputs in self.expected])
            for number in range(len(self.expected[0]))
        ]
        return self._score(answers, math.sqrt(sum(shares) / len(shares)))

    @property
    def perfect(self) -> Score:
        """The score of the float model."""
        return self._score(self.expected, 0.0)

    def _score(self, answers: Sequence[Frame], distance: float) -> Score:
        if self.data.labels is None:
            return Score(distance=distance)
        pairs = zip(answers, self.data.labels, strict=True)
        right = tuple(named_class(outputs) == label for outputs, label in pairs)
        return Score(distance=distance, accuracy=sum(right) / len(right), right=right)


def _share(values: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The power of the differences over that of what is expected."""
    error = power = 0.0
    for value, right in zip(values, expected, strict=True):
        apart = value.astype(np.float64).reshape(right.shape) - right.astype(np.float64)
        error += float(np.sum(apart * apart))
        power += float(np.sum(right.astype(np.float64) ** 2))
    return error / power if power else float(error > 0)
