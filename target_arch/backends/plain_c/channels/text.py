"""The C function of a region that computes some channels of each tensor in turn."""

from collections.abc import Iterator

from attrs import evolve, frozen

from target_arch.backends.plain_c.channels.blockwise import HEADER, BlockNames, Blockwise
from target_arch.backends.plain_c.channels.schedule import ChannelChain
from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter
from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.plan.regions.channels import BlockProducer, Channels, TensorChannels


@frozen(kw_only=True)
class ChannelsText:
    """Writes the function."""

    plan: Channels
    chain: ChannelChain
    model: Model

    def function(self) -> CFunction:
        """Its parameters: tensors given, the packed constants of each unit, the output, the scratch."""
        tensors, given = self.model.tensors, self.plan.given
        parameters = [parameter(f"x{n}", tensors[image.name]) for n, image in enumerate(given)]
        for number, unit in enumerate(self.chain.everyone):
            parameters += [evolve(each, name=f"{each.name}{number}") for each in unit.inside]
        written = len(parameters)
        parameters.append(parameter("out", tensors[self.plan.output.name], written=True))
        if self.plan.scratch:
            parameters.append(Parameter(name="lines", dtype="int8", written=True))
        headers = dict.fromkeys((HEADER, *(name for unit in self.chain.everyone for name in unit.headers)))
        over = [(written, n) for n, image in enumerate(given) if image == self.plan.over]
        return function("channels", parameters, tuple(self._body()), tuple(headers), tuple(over))

    def callees(self) -> tuple[CFunction, ...]:
        """The functions that it calls, beside those of headers."""
        return tuple(each for unit in self.chain.everyone for each in unit.functions(self.plan.blocks))

    def _body(self) -> Iterator[str]:
        plan = self.plan
        yield f"for (int32_t n = 0; n < {plan.channels}; n += {plan.size}) {{"
        yield f"    const int32_t some = ta_channels_least({plan.channels} - n, {plan.size});"
        yield from (f"    {line}" for line in self._step())
        yield "}"
        if self.chain.sums is not None:
            other = self._given(self.plan.given[-1])
            names = BlockNames(x=other, out=self._out(), apart="", suffix=str(len(self.chain.units)))
            yield from self.chain.sums.finish(names, self._sums())

    def _step(self) -> Iterator[str]:
        """The statements for some channels."""
        x, *producers = self.plan.given[0], *self.plan.producers
        before = self._given(x)
        if self.chain.copied:
            copy = self._place(producers.pop(0))
            yield f"ta_channels_copy({before}, {x.pixels}, {x.channels}, n, some, {copy});"
            before = copy
        for number, (producer, unit) in enumerate(zip(producers, self.chain.units, strict=True)):
            apart = str(producer.image.channels) if producer.offset is None else "some"
            names = BlockNames(x=before, out=self._place(producer), apart=apart, suffix=str(number))
            yield from self._block(unit, names)
            before = names.out
        if self.chain.sums is not None:
            names = BlockNames(x=before, out=self._sums(), apart="", suffix=str(len(producers)))
            yield from self._block(self.chain.sums, names)

    def _block(self, unit: Blockwise, names: BlockNames) -> Iterator[str]:
        yield "{"
        yield from (f"    {line}" for line in unit.call(names, self.plan.blocks))
        yield "}"

    def _given(self, image: TensorChannels) -> str:
        return f"{as_int8(self.model.tensors[image.name])}x{self.plan.given.index(image)}"

    def _place(self, producer: BlockProducer) -> str:
        """Where a producer's channels begin."""
        return f"{self._out()} + n" if producer.offset is None else f"lines + {producer.offset}"

    def _sums(self) -> str:
        assert self.plan.sums is not None
        return f"(int32_t *)(void *)(lines + {self.plan.sums.offset})"

    def _out(self) -> str:
        return f"{as_int8(self.model.tensors[self.plan.output.name], written=True)}out"
