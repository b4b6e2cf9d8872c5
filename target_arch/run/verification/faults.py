"""Elements that break the rule of a reference."""

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from target_arch.emit import Tolerance
from target_arch.run.references.reference import Array, Frame, Reference, differences, tolerance


@frozen(kw_only=True)
class Mismatch:
    """Elements of one output of one frame that are too far from an answer; `index` is the first of them."""

    frame: int
    output: int
    elements: int
    index: tuple[int, ...]
    mine: float
    theirs: float
    allowed: float

    def said(self, names: Sequence[str]) -> str:
        """Where it is, both values, and the rule that it breaks."""
        place = f"`{names[self.output]}`{list(self.index)} of frame {self.frame}"
        values = f"{self.mine:.9g} where the reference has {self.theirs:.9g}"
        if not (math.isfinite(self.mine) and math.isfinite(self.theirs)):
            return f"{place}: {values}: NaN and infinity belong where the reference has them"
        return f"{place}: {values}: {abs(self.mine - self.theirs):g} apart, {self.allowed:g} allowed"


def faults(
    reference: Reference,
    ours: Sequence[Frame],
    answers: Sequence[tuple[Frame, ...]],
    limits: Sequence[float],
) -> list[Mismatch]:
    """Elements farther from any answer than their output's limit, in units, and the relative part, in the
    order of frames.
    """
    found = []
    for frame, (mine, every) in enumerate(zip(ours, answers, strict=True)):
        for theirs in every:
            for output, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                near = tolerance(reference, output, limits[output] * reference.units[output], b.dtype)
                fault = _fault(frame, output, (a, b), near)
                found += [] if fault is None else [fault]
    return found


def _fault(frame: int, output: int, both: tuple[Array, Array], near: Tolerance) -> Mismatch | None:
    """The elements of one output that are not near enough."""
    mine, theirs = both
    sizes = np.abs(np.where(np.isfinite(theirs), theirs, 0).astype(np.float64))
    allowed = near.absolute + near.relative * sizes
    wrong = np.argwhere(differences(mine, theirs) > allowed)
    if not len(wrong):
        return None
    index = tuple(wrong[0].tolist())
    return Mismatch(
        frame=frame,
        output=output,
        elements=len(wrong),
        index=index,
        mine=float(mine[index]),
        theirs=float(theirs[index]),
        allowed=float(allowed[index]),
    )
