"""From operators to `Channels`: who makes which channels, and where they are."""

from collections.abc import Sequence

from attrs import evolve, frozen

from target_arch.backends.plain_c.channels.blockwise import Blockwise
from target_arch.backends.plain_c.channels.weighted import WeightedBlock
from target_arch.plan.regions.channels import BlockProducer, Channels, ChannelSums, TensorChannels
from target_arch.soc.rounding import round_up

_UNIT = 4
"""Bytes to which blocks and sums are aligned."""
_EACH = 8
"""Sums of a pixel are rounded up to that, as in `s8_conv2d_channels.h`."""


@frozen(kw_only=True)
class ChannelChain:
    """Operators each of which reads the one before: the first from the whole input or from the same channels
    of it, the others from the same channels; and the last one where it adds up over channels.
    """

    units: tuple[Blockwise, ...]
    sums: WeightedBlock | None
    other: TensorChannels | None

    @property
    def x(self) -> TensorChannels:
        """The tensor that the first one reads."""
        return self.units[0].read

    @property
    def copied(self) -> bool:
        """Whether channels of the input are copied first."""
        return not self.units[0].whole

    @property
    def output(self) -> TensorChannels:
        """The tensor that the last one makes."""
        return self.everyone[-1].image

    @property
    def everyone(self) -> tuple[Blockwise, ...]:
        """All units, in order."""
        return (*self.units, *(() if self.sums is None else (self.sums,)))

    @property
    def given(self) -> tuple[TensorChannels, ...]:
        """The tensors that it finds whole."""
        another = self.other is not None and self.other.name != self.x.name
        return (self.x, *((self.other,) if another and self.other else ()))


def channels(chain: ChannelChain, size: int, over: str | None) -> Channels:
    """The steps of a chain, so many channels at a time, with its output in the place of `over`."""
    sums = None if chain.sums is None else _sums(chain, chain.sums)
    producers, end = _placed(chain, size, 0 if sums is None else sums.bytes)
    return Channels(
        given=chain.given,
        producers=producers,
        sums=sums,
        size=min(size, producers[-1].image.channels),
        over=next((image for image in chain.given if image.name == over), None),
        scratch=end,
    )


def _sums(chain: ChannelChain, unit: WeightedBlock) -> ChannelSums:
    each = round_up(unit.image.channels, _EACH)
    return ChannelSums(
        operators=unit.operators, read=unit.read, image=unit.image, each=each, offset=0, other=chain.other
    )


def _placed(chain: ChannelChain, size: int, start: int) -> tuple[tuple[BlockProducer, ...], int]:
    """The producers, whose blocks are in two places by turns from byte `start` on, and the end of these."""
    producers = [BlockProducer(operators=(), read=chain.x, image=chain.x)] if chain.copied else []
    producers += [
        BlockProducer(operators=unit.operators, read=unit.read, image=unit.image, whole=unit.whole)
        for unit in chain.units
    ]
    held = producers if chain.sums else producers[:-1]
    first, second = (_room(held[parity::2], size) for parity in (0, 1))
    placed = [evolve(producer, offset=start + number % 2 * first) for number, producer in enumerate(held)]
    return (*placed, *producers[len(held) :]), start + first + second


def _room(producers: Sequence[BlockProducer], size: int) -> int:
    sizes = (each.image.pixels * min(size, each.image.channels) for each in producers)
    return round_up(max(sizes, default=0), _UNIT)
