"""The C function of a region that computes some rows of each tensor in turn (`runtime_c/kernels/rows.h`)."""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.backends.plain_c.stripes.rowwise import HEADER, Rowwise, TurnNames
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Tensor
from target_arch.plan.regions.stripes import Producer, RowWindow, Stripes, TensorRows


@frozen(kw_only=True)
class Part:
    """The part of rows that a region computes: its first byte in a row of the output, the bytes of that row,
    and by producer and operand the bytes that are skipped in its rows.
    """

    first: int
    row_bytes: int
    skipped: Sequence[Sequence[int]]


@frozen(kw_only=True)
class RowsText:
    """Writes the function. Tensors are `x0`, `x1`, … in it, those given first, the output last. It computes
    whole rows, or a `part` of each.
    """

    plan: Stripes
    units: Sequence[Rowwise]
    model: Model
    part: Part | None = None

    def function(self) -> CFunction:
        """Its parameters: tensors given, the packed constants of each unit, the output, the scratch."""
        parameters = self.parameters()
        written = next(n for n, each in enumerate(parameters) if each.written)
        over = [(written, n) for n, image in enumerate(self.plan.given) if image == self.plan.over]
        return function("stripes", parameters, tuple(self.body()), self.headers(), tuple(over))

    def parameters(self) -> tuple[Parameter, ...]:
        """Tensors given, the packed constants of each unit, the output, the scratch."""
        given = [parameter(self._c(image), self._tensor(image)) for image in self.plan.given]
        inside = [
            evolve(each, name=f"{each.name}{number}")
            for number, unit in enumerate(self.units)
            for each in unit.inside
        ]
        last = parameter("out", self._tensor(self.plan.output), written=True)
        scratch = [Parameter(name="lines", dtype="int8", written=True)] if self.plan.scratch else []
        return (*given, *inside, last, *scratch)

    def headers(self) -> tuple[str, ...]:
        """The headers that its C needs."""
        return tuple(dict.fromkeys((HEADER, *(header for unit in self.units for header in unit.headers))))

    def body(self) -> Iterator[str]:
        plan = self.plan
        for image in plan.given:
            yield self._rows(
                image, f"{as_int8(self._tensor(image))}{self._c(image)}", image.row_bytes, image.rows
            )
        for producer in plan.producers:
            row_bytes = producer.image.row_bytes if producer.held or not self.part else self.part.row_bytes
            yield self._rows(producer.image, self._lines(producer), row_bytes, 0)
        output = self._r(plan.output)
        if plan.producers[-1].held:
            yield "int32_t placed = 0;"
        yield f"while ({output}.done < {plan.output.rows}) {{"
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
        skipped = self.part.skipped[number] if self.part else [0] * len(reads)
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
        over, own, row = self.plan.over, self._r(last.image), last.image.row_bytes
        assert over is not None
        yield f"const int32_t gone = {self._needed(over)};"
        yield (
            f"const int32_t until = gone == {over.rows} || {own}.done == {own}.rows ? {own}.done : "
            f"ta_rows_least({own}.done, gone * {over.row_bytes} / {row});"
        )
        yield (
            f"memcpy({self._out()} + placed * {row}, ta_rows_at(&{own}, placed), "
            f"(size_t)((until - placed) * {row}));"
        )
        yield "placed = until;"

    def _kept(self, producer: Producer) -> str:
        return "placed" if producer.image == self.plan.output else self._needed(producer.image)

    def _needed(self, image: TensorRows) -> str:
        """The first row of an image that its readers still need."""
        found = ""
        for reader in self.plan.producers:
            for window in reader.reads:
                if window.tensor == image:
                    one = self._needed_by(reader, window)
                    found = f"ta_rows_least({found}, {one})" if found else one
        return found

    def _needed_by(self, reader: Producer, window: RowWindow) -> str:
        along = window.along
        literal = f"&(ta_rows_window){{{along.reach}, {along.stride}, {along.before}}}"
        return f"ta_rows_needed(&{self._r(window.tensor)}, {literal}, &{self._r(reader.image)})"

    def _rows(self, image: TensorRows, at: str, row_bytes: int, done: int) -> str:
        return f"ta_rows {self._r(image)} = {{{at}, {row_bytes}, {image.rows}, 0, {done}}};"

    def _lines(self, producer: Producer) -> str:
        return f"lines + {producer.offset}" if producer.held else self._out()

    def _out(self) -> str:
        out = f"{as_int8(self._tensor(self.plan.output), written=True)}out"
        return f"{out} + {self.part.first}" if self.part and self.part.first else out

    def _c(self, image: TensorRows) -> str:
        return f"x{self._number(image)}"

    def _r(self, image: TensorRows) -> str:
        return f"rows{self._number(image)}"

    def _number(self, image: TensorRows) -> int:
        return (*self.plan.given, *(producer.image for producer in self.plan.producers)).index(image)

    def _tensor(self, image: TensorRows) -> Tensor:
        return self.model.tensors[image.name]
