"""The channels that a region computes in each of its steps: the text in C follows from it, and the checker
replays it.
"""

from collections.abc import Iterator

from attrs import frozen


@frozen(kw_only=True)
class TensorChannels:
    """A tensor of 8-bit values as pixels, each with its channels one after the other."""

    name: str
    pixels: int
    channels: int

    @property
    def bytes(self) -> int:
        return self.pixels * self.channels

    def __str__(self) -> str:
        return f"{self.name} ({self.pixels} x {self.channels})"


@frozen(kw_only=True)
class BlockProducer:
    """An operator that makes some channels of a tensor: from all channels of a given one where it reads the
    `whole`, else from the same channels in the scratch. Without operators it copies them to the scratch.

    They are in the scratch from `offset` on, pixel by pixel; without an offset, in their place in the output.
    """

    operators: tuple[str, ...]
    read: TensorChannels
    image: TensorChannels
    whole: bool = False
    offset: int | None = None

    def __str__(self) -> str:
        what = "+".join(self.operators) or "a copy"
        place = "in place" if self.offset is None else f"at {self.offset}"
        reads = "all of" if self.whole or not self.operators else "the same of"
        return f"{what} makes channels of {self.image} {place}, from {reads} {self.read}"


@frozen(kw_only=True)
class ChannelSums:
    """An operator that adds up over channels, at the end of a region: `each` 32-bit sums for each pixel of
    its output are in the scratch from `offset` on, and become the output after the last channels, together
    with a tensor that is added to it, `other`.
    """

    operators: tuple[str, ...]
    read: TensorChannels
    image: TensorChannels
    each: int
    offset: int
    other: TensorChannels | None = None

    @property
    def bytes(self) -> int:
        """Bytes of the sums."""
        return 4 * self.image.pixels * self.each

    def __str__(self) -> str:
        added = f" and {self.other}" if self.other else ""
        return (
            f"{'+'.join(self.operators)} makes {self.image} from sums over {self.read}{added}, "
            f"{self.each} for each pixel at {self.offset}"
        )


@frozen
class BlockTurn:
    """A producer makes channels `start` to `end`, or they are added to the sums."""

    by: BlockProducer | ChannelSums
    start: int
    end: int


@frozen(kw_only=True)
class Channels:
    """A call that computes `size` channels at a time: each producer in turn makes them, and where there are
    `sums`, these take them in.

    `given` are the tensors that it finds whole. Where `over` is one of those, the output is in its place.
    """

    given: tuple[TensorChannels, ...]
    producers: tuple[BlockProducer, ...]
    sums: ChannelSums | None
    size: int
    over: TensorChannels | None = None
    scratch: int = 0

    @property
    def channels(self) -> int:
        """Of each tensor between the operators."""
        return self.producers[-1].image.channels

    @property
    def output(self) -> TensorChannels:
        """The tensor that is left."""
        return self.producers[-1].image if self.sums is None else self.sums.image

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of channels in each step: the last one may have fewer."""
        starts = range(0, self.channels, self.size)
        return tuple(min(self.size, self.channels - start) for start in starts)

    @property
    def turns(self) -> Iterator[BlockTurn]:
        """All that happens, in order."""
        start = 0
        for count in self.blocks:
            for producer in (*self.producers, *(() if self.sums is None else (self.sums,))):
                yield BlockTurn(producer, start, start + count)
            start += count

    def __str__(self) -> str:
        place = f" over {self.over.name}" if self.over else ""
        head = f"{self.size} of {self.channels} channels at a time, {self.scratch} B of scratch, output "
        makers = (*self.producers, *(() if self.sums is None else (self.sums,)))
        lines = (f"{head}{self.output.name}{place}", *(f"  {maker}" for maker in makers))
        return "\n".join(lines) + "\n"
