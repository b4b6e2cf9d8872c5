"""The C of a region that computes some channels of each tensor in turn (`runtime_c/kernels/channels.h`)."""

from collections.abc import Iterator, Sequence

from attrs import frozen

from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.backends.plain_c.regions.convolution_channels import WeightedBlock
from target_arch.backends.plain_c.regions.linewise import BlockNames, Channelwise
from target_arch.backends.plain_c.regions.schedule import turns_of
from target_arch.plan.model import Model
from target_arch.plan.regions.lines import Pass, Producer, TensorLines


@frozen(kw_only=True)
class ChannelsText:
    """Writes the statements of the pass."""

    plan: Pass
    units: Sequence[Channelwise]
    model: Model

    def body(self) -> Iterator[str]:
        """The statements."""
        *_, last = self.units
        image = self._inner
        size = min(self.plan.producers[0].each, image.lines)
        yield f"for (int32_t n = 0; n < {image.lines}; n += {size}) {{"
        yield f"    const int32_t some = ta_channels_least({image.lines} - n, {size});"
        yield from (f"    {line}" for line in self._step())
        yield "}"
        if last.unit.accumulates:
            assert isinstance(last, WeightedBlock)
            other = self._given(self.plan.given[-1])
            names = BlockNames(x=other, out=self._out(), apart="", suffix=str(len(self.units) - 1))
            yield from last.finish(names, self._sums(self.plan.producers[-1]))

    @property
    def _inner(self) -> TensorLines:
        """The last tensor whose channels are made in turn."""
        last = self.plan.producers[-1]
        return last.reads[0].tensor if last.accumulates else last.image

    def _step(self) -> Iterator[str]:
        """The statements for some channels."""
        x, *producers = self.plan.given[0], *self.plan.producers
        before = self._given(x)
        if not producers[0].operators:
            copy = self._place(producers.pop(0))
            yield f"ta_channels_copy({before}, {x.line_bytes}, {x.lines}, n, some, {copy});"
            before = copy
        for number, (producer, unit) in enumerate(zip(producers, self.units, strict=True)):
            place = self._sums(producer) if producer.accumulates else self._place(producer)
            apart = "some" if producer.held else str(producer.image.lines)
            names = BlockNames(x=before, out=place, apart=apart, suffix=str(number))
            yield from self._block(unit, names)
            before = place

    def _block(self, unit: Channelwise, names: BlockNames) -> Iterator[str]:
        yield "{"
        turns = turns_of(self.plan)[unit.unit.image.name]
        yield from (f"    {line}" for line in unit.call(names, turns))
        yield "}"

    def _given(self, image: TensorLines) -> str:
        return f"{as_int8(self.model.tensors[image.name])}x{self.plan.given.index(image)}"

    def _place(self, producer: Producer) -> str:
        """Where a producer's channels begin."""
        return f"lines + {producer.offset}" if producer.held else f"{self._out()} + n"

    def _sums(self, producer: Producer) -> str:
        return f"(int32_t *)(void *)(lines + {producer.offset})"

    def _out(self) -> str:
        return f"{as_int8(self.model.tensors[self.plan.output.name], written=True)}out"
