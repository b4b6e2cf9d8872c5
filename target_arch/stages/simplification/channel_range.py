"""The stored values that the channels of a tensor can take. A channel is an index of the last axis."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from attrs import frozen

from target_arch.plan.arithmetic import DTYPE_RANGE
from target_arch.plan.model import Tensor

Integers = np.ndarray[Any, np.dtype[np.int64]]
Booleans = np.ndarray[Any, np.dtype[np.bool_]]


def channels_of(tensor: Tensor) -> int:
    """Return the extent of the last axis; 1 of a scalar."""
    return tensor.shape[-1] if tensor.shape else 1


@frozen(kw_only=True, eq=False)
class ChannelRange:
    """The least and the greatest stored value of each channel, both included."""

    low: Integers
    high: Integers

    @classmethod
    def of_type(cls, tensor: Tensor) -> Self | None:
        """Return all values of the tensor's type; None where it has no integers of up to 32 bits."""
        if tensor.dtype not in DTYPE_RANGE:
            return None
        low, high = DTYPE_RANGE[tensor.dtype]
        count = channels_of(tensor)
        return cls(low=np.full(count, low, np.int64), high=np.full(count, high, np.int64))

    @classmethod
    def of_constant(cls, tensor: Tensor) -> Self | None:
        """Return the range of a constant's values; None where they are not integers of up to 32 bits, or
        there are none.
        """
        if not tensor.data or tensor.dtype not in DTYPE_RANGE:
            return None
        values = np.frombuffer(tensor.data, tensor.dtype).astype(np.int64).reshape(-1, channels_of(tensor))
        return cls(low=values.min(axis=0), high=values.max(axis=0))

    @property
    def channels(self) -> int:
        """Return how many channels there are."""
        return len(self.low)

    @property
    def constant(self) -> Booleans:
        """Return which channels have one value only."""
        same: Booleans = self.low == self.high
        return same

    def less(self, zero_point: int) -> "ChannelRange":
        """Return the range of the values less the zero point."""
        return ChannelRange(low=self.low - zero_point, high=self.high - zero_point)

    def with_zero(self) -> "ChannelRange":
        """Return the range with zero in it, which is what padding adds to a sum."""
        return ChannelRange(low=np.minimum(self.low, 0), high=np.maximum(self.high, 0))

    def within(self, low: int, high: int) -> "ChannelRange":
        """Return the range after a clamp."""
        return ChannelRange(low=np.clip(self.low, low, high), high=np.clip(self.high, low, high))

    def mapped(self, rising: Callable[[int, int], int]) -> "ChannelRange":
        """Return the range of a function of value and channel that never falls as the value rises."""
        return ChannelRange(
            low=np.array([rising(int(value), place) for place, value in enumerate(self.low)], np.int64),
            high=np.array([rising(int(value), place) for place, value in enumerate(self.high)], np.int64),
        )

    def spread(self, channels: int) -> "ChannelRange | None":
        """Return the range over another number of channels: one for all is repeated; None for any other."""
        if self.channels == channels:
            return self
        if self.channels != 1:
            return None
        return ChannelRange(low=np.repeat(self.low, channels), high=np.repeat(self.high, channels))

    def hull(self, channels: int) -> "ChannelRange":
        """Return the range of all channels together, for each of so many."""
        return ChannelRange(low=np.full(channels, self.low.min()), high=np.full(channels, self.high.max()))

    def at(self, places: Integers) -> "ChannelRange":
        """Return the range whose channel i is channel `places[i]` of this one."""
        return ChannelRange(low=self.low[places], high=self.high[places])

    def __str__(self) -> str:
        """Return one line: how many channels are constant, and the extremes of all."""
        constant = int(np.count_nonzero(self.constant))
        return f"{self.channels} channels, {constant} constant, {self.low.min()} to {self.high.max()}"
