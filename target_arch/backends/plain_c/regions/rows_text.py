"""The C of a region that computes some rows of each tensor in turn (`runtime_c/kernels/rows.h`): whole ones,
or those of one patch after the other.
"""

from collections.abc import Iterator, Sequence

from attrs import frozen

from target_arch.backends.plain_c.kernels.text import struct
from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.backends.plain_c.regions.linewise import Rowwise, TurnNames
from target_arch.plan.model import Model, Tensor
from target_arch.plan.regions.lines import LineWindow, Pass, Producer, TensorLines


def patches_text(texts: Sequence["RowsText"]) -> Iterator[str]:
    """The statements of all patches, one after the other."""
    for text in texts:
        yield "{"
        yield from (f"    {line}" for line in text.body())
        yield "}"


@frozen(kw_only=True)
class RowsText:
    """Writes the statements of a pass over rows; under an outer cut those of a part of each row, with the
    bytes that are `skipped` in it by producer and operand.
    """

    plan: Pass
    units: Sequence[Rowwise]
    model: Model
    skipped: Sequence[Sequence[int]] = ()

    def body(self) -> Iterator[str]:
        """The statements."""
        plan = self.plan
        for image in plan.given:
            yield self._rows(
                image, f"{as_int8(self._tensor(image))}{self._c(image)}", image.line_bytes, image.lines
            )
        for producer in plan.producers:
            held = producer.image if producer.held else producer.image.whole
            yield self._rows(producer.image, self._lines(producer), held.line_bytes, 0)
        output = self._r(plan.output)
        if plan.producers[-1].held:
            yield "int32_t placed = 0;"
        yield f"while ({output}.done < {plan.output.lines}) {{"
        for number, (producer, unit) in enumerate(zip(plan.producers, self.units, strict=True)):
            yield "    {"
            yield from (f"        {line}" for line in self._turn(number, producer, unit))
            yield "    }"
        if plan.producers[-1].held:
            yield from (f"    {line}" for line in self._placing(plan.producers[-1]))
        yield "}"

    def _turn(self, number: int, producer: Producer, unit: Rowwise) -> Iterator[str]:
        """The rows of a producer in one step."""
        own = self._r(producer.image)
        reads = [self._r(window.tensor) for window in producer.reads]
        skipped = self.skipped[number] if self.skipped else [0] * len(reads)
        seen = [f"seen{place}" if skip else reads[place] for place, skip in enumerate(skipped)]
        names = TurnNames(
            own=own,
            reads=tuple(seen),
            place=f"ta_rows_end(&{own}, {self._lines(producer)})",
            suffix=str(number),
        )
        yield from unit.constant(names)
        for place, window in enumerate(producer.reads):
            along = window.along
            yield struct("ta_rows_window", f"window{place}", (along.reach, along.stride, along.before))
        for place, skip in enumerate(skipped):
            if skip:
                yield f"const ta_rows {seen[place]} = ta_rows_behind(&{reads[place]}, {skip});"
        yield f"int32_t to = ta_rows_least({own}.done + {producer.each}, {own}.rows);"
        for place, rows in enumerate(reads):
            yield f"to = ta_rows_least(to, ta_rows_ready(&{rows}, &window{place}, &{own}));"
        yield f"if (to > {own}.done) {{"
        if producer.held:
            yield f"    ta_rows_keep(&{own}, {self._lines(producer)}, {self._kept(producer)});"
        yield from (f"    {line}" for line in unit.call(names))
        yield f"    {own}.done = to;"
        yield "}"

    def _placing(self, last: Producer) -> Iterator[str]:
        """Rows of the output go to their place as soon as the bytes there are no longer needed."""
        over, own, row = self.plan.over, self._r(last.image), last.image.line_bytes
        assert over is not None
        yield f"const int32_t gone = {self._needed(over)};"
        yield (
            f"const int32_t until = gone == {over.lines} || {own}.done == {own}.rows ? {own}.done : "
            f"ta_rows_least({own}.done, gone * {over.line_bytes} / {row});"
        )
        yield (
            f"(void)memcpy({self._out()} + placed * {row}, ta_rows_at(&{own}, placed), "
            f"(size_t)((until - placed) * {row}));"
        )
        yield "placed = until;"

    def _kept(self, producer: Producer) -> str:
        return "placed" if producer.image == self.plan.output else self._needed(producer.image)

    def _needed(self, image: TensorLines) -> str:
        """The first row of an image that its readers still need."""
        found = ""
        for reader in self.plan.producers:
            for window in reader.reads:
                if window.tensor == image:
                    one = self._needed_by(reader, window)
                    found = f"ta_rows_least({found}, {one})" if found else one
        return found

    def _needed_by(self, reader: Producer, window: LineWindow) -> str:
        along = window.along
        literal = f"&(ta_rows_window){{{along.reach}, {along.stride}, {along.before}}}"
        return f"ta_rows_needed(&{self._r(window.tensor)}, {literal}, &{self._r(reader.image)})"

    def _rows(self, image: TensorLines, at: str, row_bytes: int, done: int) -> str:
        return f"ta_rows {self._r(image)} = {{{at}, {row_bytes}, {image.lines}, 0, {done}}};"

    def _lines(self, producer: Producer) -> str:
        return f"lines + {producer.offset}" if producer.held else self._out()

    def _out(self) -> str:
        image = self.plan.output
        out = f"{as_int8(self._tensor(image), written=True)}out"
        first = image.part.start * image.line_bytes // image.part.count if image.part else 0
        return f"{out} + {first}" if first else out

    def _c(self, image: TensorLines) -> str:
        return f"x{self._number(image)}"

    def _r(self, image: TensorLines) -> str:
        return f"rows{self._number(image)}"

    def _number(self, image: TensorLines) -> int:
        return (*self.plan.given, *(producer.image for producer in self.plan.producers)).index(image)

    def _tensor(self, image: TensorLines) -> Tensor:
        return self.model.tensors[image.name]
