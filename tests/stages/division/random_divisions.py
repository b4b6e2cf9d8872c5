"""Random divisions of models: other shares, pieces and overlaps than a search would choose."""

import numpy as np
from numpy.random import Generator

from target_arch.plan.division import Cut, Share
from target_arch.plan.model import Model, Operator
from target_arch.stages.division.axes import axis_of, channels_of
from target_arch.stages.division.rewriting import Divided, divided

INSTANCES = ("host_cpu", "dsp_cpu", "fpga_conv2d")


def random_division(draw: Generator, model: Model) -> dict[str, Cut]:
    """Cuts of most operators that have an axis; some overlap, and some are of channels."""
    found = {}
    for operator in model.operators:
        cut = random_cut(draw, model, operator)
        if cut is not None and draw.random() < 0.8:
            found[operator.id] = cut
    return found


def random_cut(draw: Generator, model: Model, operator: Operator) -> Cut | None:
    """Two to four shares of an operator that has an axis."""
    able = [each for each in (axis_of(operator, model), channels_of(operator, model)) if each is not None]
    if not able:
        return None
    axis = able[int(draw.integers(len(able)))]
    count = int(min(draw.integers(2, 5), axis.extent))
    ends = sorted(draw.choice(np.arange(1, axis.extent), size=count - 1, replace=False).tolist())
    more = int(draw.random() < 0.3)
    shares = tuple(
        Share(
            instance=str(draw.choice(INSTANCES)),
            start=max(start - more, 0),
            stop=min(stop + more, axis.extent),
        )
        for start, stop in zip((0, *ends), (*ends, axis.extent), strict=True)
    )
    return Cut(operator=operator.id, axis=axis.axis, shares=shares)


def divided_at(model: Model, division: dict[str, Cut]) -> Divided:
    """The divided model, everything else on the host."""
    homes = {operator.id: INSTANCES[0] for operator in model.operators} | {"": INSTANCES[0]}
    return divided(model, model.operators, division, homes)
