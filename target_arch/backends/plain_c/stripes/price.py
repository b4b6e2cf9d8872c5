"""The instructions that stripes add to a run, as estimated before there is any C.

The numbers are those of the kernels for Cortex-M7, counted on an emulated board.
"""

from collections.abc import Sequence

from target_arch.backends.plain_c.stripes.schedule import moved
from target_arch.backends.plain_c.stripes.units import Rowwise
from target_arch.plan.model import Model
from target_arch.plan.regions.stripes import Channels, Stripes

_MOVE = 0.5
"""Instructions for each byte that is moved."""
_CALL = 400
"""Instructions for each call of a driver."""
_WEIGHTS = 130
"""Instructions to set up the weights of a channel of a depthwise convolution."""
_CELL = 5
"""Instructions to fetch a value of a line of a depthwise convolution."""
_GATHER = 1.5
"""Instructions for each byte whose channels are copied."""


def price_of_rows(plan: Stripes, units: Sequence[Rowwise], model: Model) -> int:
    """The instructions that computing rows in turn adds."""
    calls = dict.fromkeys((producer.image.name for producer in plan.producers), 0)
    for turn in plan.turns:
        calls[turn.producer.image.name] += turn.end > turn.start
    total = _MOVE * moved(plan)
    for unit in units:
        total += (calls[unit.unit.image.name] - 1) * (_CALL + _again(unit, model))
    return int(total)


def _again(unit: Rowwise, model: Model) -> int:
    """The work of a depthwise convolution in each call before the first row: its weights, and the lines that
    the call before had fetched.
    """
    if not unit.depthwise:
        return 0
    window = unit.unit.reads[0]
    channels = model.tensors[unit.operator.inputs[0]].shape[3]
    lines = max(window.height - window.stride, 0)
    return channels * _WEIGHTS + lines * window.tensor.row_bytes * _CELL


def price_of_channels(plan: Channels) -> int:
    """The instructions that computing some channels at a time adds."""
    calls = -(-plan.channels // plan.size)
    return int(_GATHER * plan.pixels * plan.channels) + calls * _CALL
