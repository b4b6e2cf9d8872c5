"""How good a quantized model is: its distance to the float model, and its accuracy where there are labels.

Tests: `tests/quantize/test_score.py`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from attrs import field, frozen

from target_arch.quantize.data import LabelledFrames
from target_arch.run.execute.labels import named_class
from target_arch.run.references.reference import Frame

Answer = Callable[[Frame], Frame]


@frozen(kw_only=True)
class Score:
    """`distance` is the error's share of the outputs: the root of its power over theirs, of all frames; of
    several outputs the root of the mean of both. `accuracy` is the share of frames whose label is the largest
    element of the first output; None without labels.
    """

    distance: float
    accuracy: float | None = None

    @property
    def rank(self) -> tuple[float, float]:
        """Less is better: accuracy first, and among equal ones the distance."""
        return -(self.accuracy or 0.0), self.distance


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
        return Score(distance=math.sqrt(sum(shares) / len(shares)), accuracy=self._accuracy(answers))

    @property
    def perfect(self) -> Score:
        """The score of the float model."""
        return Score(distance=0.0, accuracy=self._accuracy(self.expected))

    def _accuracy(self, answers: Sequence[Frame]) -> float | None:
        if self.data.labels is None:
            return None
        pairs = zip(answers, self.data.labels, strict=True)
        return sum(named_class(outputs) == label for outputs, label in pairs) / len(answers)


def _share(values: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The power of the differences over that of what is expected."""
    error = power = 0.0
    for value, right in zip(values, expected, strict=True):
        apart = value.astype(np.float64).reshape(right.shape) - right.astype(np.float64)
        error += float(np.sum(apart * apart))
        power += float(np.sum(right.astype(np.float64) ** 2))
    return error / power if power else float(error > 0)
