"""Ranges that are promised of inputs of floats, up to where they become stored values.

Tests: `tests/stages/simplification/test_reals.py`.
"""

from math import ceil, floor

import numpy as np

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.input_range import InputRange
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.simplification.channel_range import ChannelRange, channels_of

_MOVES = (OperatorKind.RESHAPE, OperatorKind.TRANSPOSE)
_TIE = 1e-3
"""So near to the middle of two steps, or a millionth of the value near, the rounding of a division may decide
which one it is.
"""


def promised_reals(model: Model) -> dict[str, InputRange]:
    """Return the ranges of inputs that are floats, and of what only moves their elements."""
    known = {
        name: promise
        for name, promise in model.input_ranges.items()
        if model.tensors[name].dtype == "float32"
    }
    for operator in model.operators:
        if operator.kind in _MOVES and operator.inputs and operator.inputs[0] in known:
            known[operator.output] = known[operator.inputs[0]]
    return known


def quantized(operator: Operator, model: Model, promise: InputRange) -> ChannelRange | None:
    """Return the stored values that such floats become, of a type of at most 16 bits; None of another one."""
    out = model.tensors[operator.output]
    grid = out.quantization
    if grid is None or len(grid.scale) != 1 or np.dtype(out.dtype).itemsize > np.dtype(np.int16).itemsize:
        return None
    low, high = promise.low / grid.scale[0], promise.high / grid.scale[0]
    first = floor(low + 0.5 - _near(low)) + grid.zero_point[0]
    last = ceil(high - 0.5 + _near(high)) + grid.zero_point[0]
    count, (least, greatest) = channels_of(out), DTYPE_RANGE[out.dtype]
    ends = ChannelRange(low=np.full(count, first, np.int64), high=np.full(count, last, np.int64))
    return ends.within(least, greatest)


def _near(steps: float) -> float:
    return _TIE + abs(steps) / 1e6
